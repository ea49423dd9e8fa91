import { and, eq, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { keptSince } from "../access/deletions.ts";
import { commit } from "../access/unit_of_work.ts";
import { assertExists, type Connected } from "../db/client.ts";
import { bySystem } from "../db/record.ts";
import { auditStreams } from "../db/schema/audit_streams.ts";
import { batchExports } from "../db/schema/batch_exports.ts";
import { deletedRows, deletions } from "../db/schema/deletions.ts";
import { forEachLogged } from "../lib/background.ts";
import { iso } from "../lib/time.ts";
import { isOf } from "./exports.ts";
import { removeFiles } from "./files.ts";
import { forget } from "./restore.ts";

/** The name of this part of the schedule in the log. */
const PART = "deleted objects";

/** Deletions that a tick looks at and removes, and rows of each. */
const LOOKED_AT = 100;
const BATCH_SIZE = 10;
const ROWS = 5000;

/** SQL for the ids of the first deletions that can't be restored any more. */
const expired = (env: Env, at: number) => sql`
	select id from (select id, deleted_at from deletions order by id limit ${LOOKED_AT})
	where deleted_at <= ${Date.parse(keptSince(env, at))}`;

/** SQL for the ids of those beyond the limit of an organization, the oldest of a type. */
const excess = ({ OBJECTS_PER_ORGANIZATION }: Env) => sql`
	select id from (select id, row_number() over (partition by organization_id, type order by id desc) as n from deletions)
	where n > ${Number(OBJECTS_PER_ORGANIZATION)}`;

/**
 * Removes deleted objects that can't be restored any more, the oldest first; once an hour also those
 * of which an organization has too many. Their exports and events are then removed by the parts of
 * the schedule that look for them.
 */
export async function purgeDeleted(env: Env, at: number) {
	const db = drizzle(env.DB);
	const isFullHour = new Date(at).getUTCMinutes() === 0;
	const due = await db
		.select({
			id: deletions.id,
			organization: deletions.organization_id,
			project: deletions.project_id,
			files_until: deletions.files_until,
			projects: deletions.projects,
			destination: sql<string | null>`${deletions.shown} ->> '$.destination.type'`.as(
				"destination",
			),
			type: deletions.type,
			item_id: deletions.item_id,
			name: deletions.name,
		})
		.from(deletions)
		.where(
			or(
				sql`${deletions.id} in (${expired(env, at)})`,
				isFullHour ? sql`${deletions.id} in (${excess(env)})` : undefined,
			),
		)
		.orderBy(deletions.id)
		.limit(BATCH_SIZE);
	await forEachLogged(PART, due, (deletion) => purge(env, db, deletion));
}

type Due = Pick<
	typeof deletions.$inferSelect,
	"id" | "type" | "item_id" | "name" | "files_until" | "projects"
> & {
	organization: number;
	project: number | null;
	destination: string | null;
};

/** Removes rows and files of a deletion; once there are none left, ends it. */
async function purge(
	env: Env,
	db: Connected,
	{ id, organization, project, type, item_id, name, destination, ...files }: Due,
) {
	const rows = sql`select "table", number from deleted_rows where deletion_id = ${id} limit ${ROWS}`;
	const { projects, files_until } = files;
	const isThis = eq(deletions.id, id);
	const [{ meta }] = await db.batch([
		db
			.delete(deletedRows)
			.where(and(eq(deletedRows.deletion_id, id), sql`("table", number) in (${rows})`)),
		// Nobody restores what is left.
		db
			.update(deletions)
			.set({ deleted_at: iso(0) })
			.where(isThis),
	]);
	if (meta.changes >= ROWS) return;
	const isExport = destination === "R2";
	const writer = isExport ? { project, export_id: item_id } : { project: projects?.[0] ?? null };
	const until = isExport || projects?.length ? await removeFiles(env, writer, files_until) : null;
	if (until !== null || (projects && projects.length > 1)) {
		const rest = until === null ? projects?.slice(1) : projects;
		await db.update(deletions).set({ files_until: until, projects: rest }).where(isThis);
		return;
	}
	await commit(env, db, {
		checks: [assertExists(db, deletions, isThis)],
		changes: [
			db
				.update(batchExports)
				.set({ deleted: true, last_updated_at: sql`last_updated_at` })
				.where(sql`${batchExports.deleted} and ${isOf(id)}`),
			...(type === "organization"
				? [db.delete(auditStreams).where(eq(auditStreams.organization_id, organization))]
				: []),
			...forget(db, id),
		],
		entries: [
			bySystem({
				activity: "purged",
				scope: "DeletedObject",
				item_id,
				name,
				trigger: { type },
				organization,
				project,
			}),
		],
	});
}
