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
 * The condition for the exports in the tenant's project, or in all projects of the organization that the caller sees,
 * without deleted ones. For a statement that joins `batch_exports` with `projects`.
 */
const visibleExports = (tenant: Tenant) =>
	and(
		tenant.kind === "project"
			? eq(batchExports.project_id, tenant.project)
			: and(eq(batchExports.organization_id, tenant.organization), visibleProject(tenant)),
		eq(batchExports.deleted, false),
	);

/** The condition for one of `visibleExports`. */
export const byId = (tenant: Tenant, id: string) =>
	and(eq(batchExports.id, id.toLowerCase()), visibleExports(tenant));

const select = ({ db }: Tenant) =>
	db
		.select(exportColumns(db))
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id));

export type Row = Awaited<ReturnType<typeof select>>[number];

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

/** The export as it is stored, with encrypted secrets. */
export async function read(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(selectOne(tenant, id));
	return found(row);
}

export const find = async (tenant: Tenant, id: string) => toBatchExport(await read(tenant, id));

/** Selects the export's id, name and project, if the caller sees it. */
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

/** SQL for the number of an export's runs or log entries. Its row keeps count, so none of them is read. */
export const countOf = (
	column: typeof batchExports.runs | typeof batchExports.log_entries,
	id: string,
) =>
	sql`coalesce((select ${column} from ${batchExports} where ${batchExports.id} = ${id.toLowerCase()}), 0)`;

/** The fields of an activity entry that say which export it is about. */
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

/** @throws 400 if the model can't be queried, or if the destination can't take the query's fields */
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
			`The field ${name} must be the column ${name}, because it is part of the key of rows.`,
		);
}

/** Inserts an export. Below an organization, it belongs to the oldest project that the caller sees. */
export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	const { db, env } = tenant;
	const [[project]] = await tenant.read(
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
	if (!project) throw invalid(null, "The organization has no project that you can see.");
	const { destination, xql_query, ...rest } = body;
	const { start_at = null, end_at = null, paused = false } = rest;
	const { model = "events" } = rest;
	checkRange(start_at, end_at);
	checkQuery({ model, xql_query: xql_query ?? null, destination });
	const { type, config = {} } = destination;
	const id = v7();
	const [row] = await tenant.write({
		entry: {
			...activityOf({ id, name: body.name, team_id: project.id }),
			activity: "created",
		},
		change: db.insert(batchExports).values({
			...rest,
			...(paused && { last_paused_at: rest.last_paused_at ?? now() }),
			...parsedQuery(xql_query ?? null),
			...schedule({ id, interval: body.interval, start_at, end_at }, Date.now()),
			id,
			organization_id: tenant.organization,
			project_id: project.id,
			destination: await sealed(exportCipher(env, { id }), type, config),
		}),
		answer: selectOne(tenant, id),
	});
	warnOfSharedKeys(tenant, found(row));
	return toBatchExport(found(row));
}

/** Updates an export. Starts again if another request has changed it meanwhile. */
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

/** Inserts the runs that had not started when the export was paused, if `condition` holds for the export. */
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

/** The columns of an export that is paused, now or at a given time. */
export const pausing = (last_paused_at: string | null | undefined) => ({
	paused: true,
	last_paused_at: last_paused_at ?? now(),
});

/** The condition for an export that is not deleted. */
export const notDeleted = (id: string) =>
	and(eq(batchExports.id, id), eq(batchExports.deleted, false));

/** The columns that define the schedule of an export and its next window. */
export const TIMING = ["interval", "start_at", "end_at", "next_end_at"] as const;

/** The condition that the schedule is still the one that was read. */
export const scheduleUnchanged = (row: Row) =>
	and(...TIMING.map((field) => sql`${batchExports[field]} is ${row[field]}`));

/** The condition that all columns which the rules look at are still as they were read. */
const unchanged = (row: Row) =>
	and(
		eq(batchExports.destination, row.destination),
		eq(batchExports.model, row.model),
		sql`${batchExports.xql_query} is ${row.xql_query}`,
		eq(batchExports.paused, row.paused),
		scheduleUnchanged(row),
	);

/** Marks an export as deleted. Triggers of the database cancel its runs and backfills. */
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

/** Starts the export's next waiting runs after the response. If that fails, the next tick does. */
export const launchWaiting = (tenant: Tenant, { id }: { id: string }) =>
	tenant.later(() =>
		launch(tenant.env, sql`batch_export_runs.batch_export_id = ${id} and ${waiting}`),
	);
