import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { changes } from "../db/changes.ts";
import { insertEach } from "../db/client.ts";
import { batchExportRuns, batchExports, now, projects } from "../db/schema.ts";
import { isDatabase } from "../exporter/destinations/config.ts";
import { launch, waiting } from "../exporter/launch.ts";
import { parse } from "../exporter/query/query.ts";
import { shadowedKey } from "../exporter/rows.ts";
import { exportCipher, merged, sealed } from "../exporter/secrets.ts";
import { reschedule, resume, schedule, type Window } from "../exporter/windows.ts";
import { found, invalid } from "../http/errors.ts";
import { mapResults, type Page } from "../http/page.ts";
import { retry, type Tenant } from "../tenant/tenant.ts";
import { visibleProject } from "../tenant/visible.ts";
import { type create, exportColumns, toBatchExport, type update as Update } from "./shape.ts";
import { warnOfSharedKeys } from "./shared_keys.ts";

/**
 * Of a statement over `batch_exports` and their `projects`: those of the project, or of all of the organization's that
 * the caller sees; none that is deleted.
 */
const visibleExports = (tenant: Tenant) =>
	and(
		tenant.kind === "project"
			? eq(batchExports.project_id, tenant.project)
			: and(eq(batchExports.organization_id, tenant.organization), visibleProject(tenant)),
		eq(batchExports.deleted, false),
	);

/** Of such a statement: the one that the path names. */
export const byId = (tenant: Tenant, id: string) =>
	and(eq(batchExports.id, id.toLowerCase()), visibleExports(tenant));

const select = ({ db }: Tenant) =>
	db
		.select(exportColumns(db))
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id));

export type Row = Awaited<ReturnType<typeof select>>[number];

/** The statement that answers with the export. */
export const selectOne = (tenant: Tenant, id: string) => select(tenant).where(byId(tenant, id));

/** Newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	mapResults(
		await tenant.page(page, select(tenant).$dynamic(), {
			where: visibleExports(tenant),
			by: [batchExports.id],
			keys: ({ id }) => [id],
		}),
		toBatchExport,
	);

/** As it is stored: with its secrets, sealed. */
export async function read(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(selectOne(tenant, id));
	return found(row);
}

export const find = async (tenant: Tenant, id: string) => toBatchExport(await read(tenant, id));

/** The statement that says which export it is, to who may know of it. */
export const selectName = (tenant: Tenant, id: string) =>
	tenant.db
		.select({
			id: batchExports.id,
			name: batchExports.name,
			team_id: batchExports.project_id,
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.where(byId(tenant, id));

/** In a statement: how many runs or log entries an export has, as its row says: none of them is read. */
export const countOf = (
	column: typeof batchExports.runs | typeof batchExports.log_entries,
	id: string,
) =>
	sql`coalesce((select ${column} from ${batchExports} where ${batchExports.id} = ${id.toLowerCase()}), 0)`;

/** What the activity log is told of an export. */
export const activityOf = ({ id, name, team_id }: Pick<Row, "id" | "name" | "team_id">) => ({
	scope: "BatchExport",
	item_id: id,
	name,
	project: sql`${team_id}`,
});

function checkRange(start_at: string | null, end_at: string | null) {
	if (start_at !== null && end_at !== null && end_at < start_at)
		throw invalid("end_at", "end_at must not be before start_at.");
}

/** The columns of a query, in its normal form. */
function parsedQuery(text: string | null) {
	const schema = text === null ? null : parse(text).schema;
	return { xql_query: schema?.xql_query ?? null, schema };
}

/** Throws where the query is none for the model, or its fields can't go to the destination. */
export function checkQuery({
	model,
	xql_query,
	destination: { type },
}: Pick<Row, "model" | "xql_query"> & { destination: { type: string } }) {
	if (xql_query === null) return;
	if (model !== "events") throw invalid("xql_query", "Only events can be queried.");
	const name = shadowedKey(model, parse(xql_query).fields);
	if (isDatabase(type) && name !== undefined)
		throw invalid(
			"xql_query",
			`The field ${name} must be the column ${name}: rows are told apart by it.`,
		);
}

/** On a path below an organization, in its oldest project that the caller sees. */
export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	const { db, env } = tenant;
	const [[home]] = await tenant.read(
		db
			.select({ id: projects.id })
			.from(projects)
			.where(
				tenant.kind === "project"
					? eq(projects.id, tenant.project)
					: and(eq(projects.organization_id, tenant.organization), visibleProject(tenant)),
			)
			.orderBy(projects.id)
			.limit(1),
	);
	if (!home) throw invalid(null, "The organization has no project that you can see.");
	const { destination, xql_query, ...rest } = body;
	const { start_at = null, end_at = null, paused = false } = rest;
	const { model = "events" } = rest;
	checkRange(start_at, end_at);
	checkQuery({ model, xql_query: xql_query ?? null, destination });
	const { type, config = {} } = destination;
	const id = v7();
	const [row] = await tenant.write({
		entry: {
			...activityOf({ id, name: body.name, team_id: home.id }),
			activity: "created",
		},
		change: db.insert(batchExports).values({
			...rest,
			...(paused && { last_paused_at: rest.last_paused_at ?? now() }),
			...parsedQuery(xql_query ?? null),
			...schedule({ id, interval: body.interval, start_at, end_at }, Date.now()),
			id,
			organization_id: tenant.organization,
			project_id: home.id,
			destination: await sealed(exportCipher(env, { id }), type, config),
		}),
		answer: selectOne(tenant, id),
	});
	warnOfSharedKeys(tenant, found(row));
	return toBatchExport(found(row));
}

/** What another changed meanwhile is read again, and changed as it then is. */
export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const row = await read(tenant, id);
	const { destination, xql_query, ...rest } = body;
	const set = {
		...rest,
		...(destination && {
			destination: await merged(exportCipher(tenant.env, row), row.destination, destination),
		}),
		...(xql_query !== undefined && parsedQuery(xql_query)),
		...(rest.paused === true && !row.paused && pausing(rest.last_paused_at)),
	};
	const after = {
		...row,
		name: set.name ?? row.name,
		model: set.model ?? row.model,
		xql_query: set.xql_query === undefined ? row.xql_query : set.xql_query,
		interval: set.interval ?? row.interval,
		paused: set.paused ?? row.paused,
		start_at: set.start_at === undefined ? row.start_at : set.start_at,
		end_at: set.end_at === undefined ? row.end_at : set.end_at,
	};
	checkRange(after.start_at, after.end_at);
	checkQuery(after);
	const resumed = row.paused && !after.paused ? resume(row, after, Date.now()) : undefined;
	const timed = TIMING.some((field) => after[field] !== row[field]);
	const { scope, name, project } = activityOf(after);
	const answer = await tenant.patch(
		row,
		set,
		{ scope, name, project, masked: ["destination"] },
		() => ({
			before: [insertMissedRuns(tenant, row, resumed?.windows ?? [], unchanged(row))],
			change: tenant.db
				.update(batchExports)
				.set({
					...set,
					...(timed && reschedule(row, after, Date.now())),
					...resumed?.columns,
				})
				.where(and(notDeleted(row.id), unchanged(row))),
			answer: selectOne(tenant, id),
		}),
	);
	if (changes(answer, set).length > 0) return undefined;
	const { destination: to, interval, model } = answer;
	if (changes(row, { destination: to, interval, model }).length > 0)
		warnOfSharedKeys(tenant, answer);
	return toBatchExport(answer);
}

/** The statement that makes the runs that were still to start when an export was paused, if it is as `condition` says. */
export const insertMissedRuns = (
	{ db }: Tenant,
	{ id }: Row,
	windows: Window[],
	condition: SQL | undefined,
) =>
	insertEach(
		db,
		batchExportRuns,
		windows.map(({ start, end }) => ({
			id: v7(),
			batch_export_id: id,
			data_interval_start: start,
			data_interval_end: end,
		})),
		sql`exists (select 1 from batch_exports where ${and(notDeleted(id), condition)})`,
	).onConflictDoNothing();

export const pausing = (given: string | null | undefined) => ({
	paused: true,
	last_paused_at: given ?? now(),
});

/** In a statement: the export is not deleted. */
export const notDeleted = (id: string) =>
	and(eq(batchExports.id, id), eq(batchExports.deleted, false));

/** What the schedule of an export is made of, and where it stands. */
export const TIMING = ["interval", "start_at", "end_at", "next_end_at"] as const;

/** In a statement: the schedule is still as it was. */
export const scheduleUnchanged = (row: Row) =>
	and(...TIMING.map((field) => sql`${batchExports[field]} is ${row[field]}`));

/** In a statement: the row is still as it was, in all that the rules speak of. */
const unchanged = (row: Row) =>
	and(
		eq(batchExports.destination, row.destination),
		eq(batchExports.model, row.model),
		sql`${batchExports.xql_query} is ${row.xql_query}`,
		eq(batchExports.paused, row.paused),
		scheduleUnchanged(row),
	);

/** Softly: what runs for it is cancelled by the database. */
export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	const removed = await tenant.remove(
		activityOf(row),
		tenant.db
			.update(batchExports)
			.set({ deleted: true })
			.where(notDeleted(row.id))
			.returning({ id: batchExports.id }),
	);
	found(removed);
}

/** Starts what waits for its turn of an export's runs; where that fails, the clock does. */
export const launchWaiting = (tenant: Tenant, { id }: { id: string }) =>
	tenant.later(() =>
		launch(tenant.env, sql`batch_export_runs.batch_export_id = ${id} and ${waiting}`),
	);
