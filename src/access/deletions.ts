/** Deleted objects, which can be restored for some days (docs/api.md#deleted-objects). */
import { and, eq, getTableColumns, gt, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import * as z from "zod";
import { assertExists, type Database, type Statement } from "../db/client.ts";
import { largeRows, sizeOf } from "../db/large.ts";
import type { LifeDetails } from "../db/record.ts";
import { accessControls } from "../db/schema/access.ts";
import { batchExports } from "../db/schema/batch_exports.ts";
import {
	deletedRows,
	deletions,
	KEPT_SCOPES,
	type KeptType,
	MAX_COLUMNS,
} from "../db/schema/deletions.ts";
import { insufficientLevel } from "../db/schema/levels.ts";
import { users } from "../db/schema/people.ts";
import { boolean } from "../http/fields.ts";
import type { Envelope, Page } from "../http/page.ts";
import { lazy } from "../lib/lazy.ts";
import { DAY_MS, iso } from "../lib/time.ts";
import { EVERYTHING } from "./access_levels.ts";
import { isAboutExports, type Kept, type KeptTable, keptBy } from "./kept.ts";
import { readPage } from "./pages.ts";
import type { Tenant } from "./tenant.ts";

/** The columns of a table that are stored; the others are computed from them. */
export const storedColumns = (table: SQLiteTable) =>
	Object.values(getTableColumns(table)).filter(({ generated }) => !generated);

/** SQL for the id of the deletion that the batch has just inserted. */
export const NEWEST = sql<number>`(select max(id) from deletions)`;

/** Returns a statement that copies the rows of a table that are about to be deleted. */
function copyRows(db: Database, { name, table, where, plugin_id = sql.raw("null") }: KeptTable) {
	const values = storedColumns(table).map(({ name }) => sql.identifier(name));
	const rest = Array.from({ length: MAX_COLUMNS - values.length }, () => sql.raw("null"));
	const row = sql.join(
		[
			NEWEST,
			sql`${sql.raw(`'${name}'`)}`,
			sql`row_number() over ()`,
			plugin_id,
			...values,
			...rest,
		],
		sql`, `,
	);
	return db.insert(deletedRows).select(sql`select ${row} from ${table} where ${where}`);
}

/** An object that is deleted. */
type Removal = LifeDetails & {
	type: KeptType;
	/** The id of its row, unless it is `item_id`. */
	row?: number | SQL<number>;
	item_id: string | number;
	/** The object as the API shows it. */
	shown: object;
};

/** Returns the statements that keep an object, before another statement of the batch deletes it. */
function keep(tenant: Tenant, { type, name, project, shown, ...removal }: Removal) {
	const { db, organization, key } = tenant;
	const item_id = String(removal.item_id);
	const kept: Kept = keptBy(type, { item_id, row: removal.row ?? removal.item_id, organization });
	const columns = kept.tables.map(({ name, table }) => [
		name,
		storedColumns(table).map((column) => column.name),
	]);
	return [
		db.insert(deletions).values({
			organization_id: organization,
			project_id: project ?? null,
			type,
			item_id,
			name,
			deleted_by: key.user_id,
			controls: kept.controls
				? sql`(select json_group_array(json_array(role_id, user_id, access_level)) from ${accessControls} where ${kept.controls})`
				: null,
			projects: kept.projects ?? null,
			needs: kept.needs ?? null,
			columns: Object.fromEntries(columns),
			shown: { ...shown },
		}),
		...kept.tables.map((table) => copyRows(db, table)),
		// Exports stay where they are, because they may have many runs.
		...(kept.exports
			? [
					db.delete(accessControls).where(isAboutExports(organization, kept.exports)),
					db
						.update(batchExports)
						.set({ deleted: sql`-${NEWEST}` })
						.where(and(kept.exports, sql`not ${batchExports.deleted}`)),
				]
			: []),
	];
}

/**
 * Executes a DELETE in one round trip. The object is kept, and can be restored.
 * @param row what to delete
 * @throws (the batch) 404 if another request has deleted the row, or it no longer fulfils `where`
 */
export function removeKept(
	tenant: Tenant,
	removal: Removal,
	{ table, where, remove }: { table: SQLiteTable; where: SQL | undefined; remove?: Statement[] },
) {
	const { type, row: _, shown: __, ...entry } = removal;
	return tenant.write({
		checks: [assertExists(tenant.db, table, where)],
		changes: [...keep(tenant, removal), ...(remove ?? [tenant.db.delete(table).where(where)])],
		entries: [{ ...entry, activity: "deleted", scope: KEPT_SCOPES[type] }],
	});
}

/** The time before which deletions can't be undone. */
export const keptSince = ({ DELETED_OBJECT_DAYS }: Env, at = Date.now()) =>
	iso(at - Number(DELETED_OBJECT_DAYS) * DAY_MS);

/** The query parameter of lists that can also show what was deleted. */
export const deletedFilter = lazy(() =>
	z.object({
		deleted: boolean()
			.optional()
			.describe(
				"Whether to list the deleted objects that can be restored instead, the last deleted ones first, each as it was, with `deletion`. Other filters then don't apply. Requires level 8, or the role Auditor.",
			),
	}),
);

/** What lists of deleted objects say besides the fields of an object. */
const Deletion = z
	.object({
		deleted_at: z.string().describe("When the object was deleted."),
		deleted_by: z.guid().nullable().describe("The UUID of the user who deleted it."),
		kept_until: z.string().describe("Until when it can be restored; then it is removed for good."),
	})
	.meta({ id: "Deletion" });

/** The field of an object that lists of deleted ones add. */
export const deletion = () =>
	Deletion.optional().describe("When the object was deleted. Only in lists with `deleted`.");

/**
 * Lists the deleted objects of a type in the organization or project, the last deleted first.
 * @template Shown the objects, as the API shows them
 * @throws 403 unless the caller is an admin, or an auditor, who can view everything
 */
export async function listDeleted<Shown extends object>(
	tenant: Tenant,
	page: Page,
	type: KeptType,
): Promise<Envelope<Shown & { deletion: z.infer<typeof Deletion> }>> {
	const where = and(
		eq(deletions.organization_id, tenant.organization),
		eq(deletions.type, type),
		tenant.kind === "project" ? eq(deletions.project_id, tenant.project) : undefined,
		gt(deletions.deleted_at, keptSince(tenant.env)),
	);
	const list = await readPage(tenant, page, {
		select: () =>
			tenant.db
				.select({
					row_id: deletions.id,
					deleted_at: deletions.deleted_at,
					deleted_by: users.uuid,
					shown: sql<Shown>`${deletions.shown}`
						.mapWith((json: string): Shown => JSON.parse(json))
						.as("shown"),
				})
				.from(deletions)
				.leftJoin(users, eq(users.id, deletions.deleted_by))
				.$dynamic(),
		where,
		by: [deletions.id],
		keys: ({ row_id }) => [row_id],
		large: largeRows(sizeOf(deletions.shown), deletions),
		to: ({ shown, deleted_at, deleted_by }) => {
			const kept_until = iso(
				Date.parse(deleted_at) + Number(tenant.env.DELETED_OBJECT_DAYS) * DAY_MS,
			);
			return { ...shown, deletion: { deleted_at, deleted_by, kept_until } };
		},
	});
	if (tenant.caller.access.controls.own[EVERYTHING] === undefined) throw insufficientLevel();
	return list;
}
