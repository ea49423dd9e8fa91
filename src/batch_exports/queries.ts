import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { changes } from "../db/changes.ts";
import { insertEach } from "../db/client.ts";
import { batchExportRuns, batchExports, now, projects } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { visibleProject } from "../db/visible.ts";
import { begin, hasRoom, MOST_BACKFILLS } from "../exporter/backfill.ts";
import { waiting as isWaiting, launch } from "../exporter/launch.ts";
import { note } from "../exporter/log.ts";
import { impostor } from "../exporter/rows.ts";
import {
	lastWindow,
	lineBefore,
	nextStart,
	reschedule,
	resume,
	schedule,
	type Window,
	within,
} from "../exporter/windows.ts";
import { found, invalid, throttled } from "../http/errors.ts";
import { each, type Page } from "../http/page.ts";
import { parse } from "./query.ts";
import { merged, sealed } from "./secrets.ts";
import {
	type backfill as Backfill,
	type BatchExport,
	type create,
	exportColumns,
	toBatchExport,
	type unpause as Unpause,
	type update as Update,
} from "./shape.ts";

/**
 * Of a statement over `batch_exports` and their `projects`: those of the project, or of all of the organization's that
 * the caller sees; none that is deleted.
 */
const mine = (tenant: Tenant) =>
	and(
		tenant.kind === "project"
			? eq(batchExports.project_id, tenant.project)
			: and(
					eq(batchExports.organization_id, tenant.organization),
					visibleProject(tenant),
				),
		eq(batchExports.deleted, false),
	);

/** Of such a statement: the one that the path names. */
const one = (tenant: Tenant, id: string) =>
	and(eq(batchExports.id, id.toLowerCase()), mine(tenant));

const select = ({ db }: Tenant) =>
	db
		.select(exportColumns(db))
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id));

type Row = Awaited<ReturnType<typeof select>>[number];

/** The statement that answers with the export. */
export const selectOne = (tenant: Tenant, id: string) =>
	select(tenant).where(one(tenant, id));

/** Newest first. */
export const list = async (tenant: Tenant, page: Page) =>
	each(
		await tenant.page(page, select(tenant).$dynamic(), {
			where: mine(tenant),
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

export const find = async (tenant: Tenant, id: string) =>
	toBatchExport(await read(tenant, id));

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
		.where(one(tenant, id));

/** In a statement: how many runs or log entries an export has, as its row says: none of them is read. */
export const countOf = (
	column: typeof batchExports.runs | typeof batchExports.log_entries,
	id: string,
) =>
	sql`coalesce((select ${column} from ${batchExports} where ${batchExports.id} = ${id.toLowerCase()}), 0)`;

/** What the activity log is told of an export. */
export const told = ({
	id,
	name,
	team_id,
}: Pick<Row, "id" | "name" | "team_id">) => ({
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
function understood(text: string | null) {
	const schema = text === null ? null : parse(text).schema;
	return { xql_query: schema?.xql_query ?? null, schema };
}

/** Throws where the query is none for the model, or its fields can't go to the destination. */
function checkQuery({
	model,
	xql_query,
	destination: { type },
}: Pick<Row, "model" | "xql_query"> & { destination: { type: string } }) {
	if (xql_query === null) return;
	if (model !== "events")
		throw invalid("xql_query", "Only events can be queried.");
	const name = impostor(model, parse(xql_query).fields);
	if (type === "Postgres" && name !== undefined)
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
					: and(
							eq(projects.organization_id, tenant.organization),
							visibleProject(tenant),
						),
			)
			.orderBy(projects.id)
			.limit(1),
	);
	if (!home)
		throw invalid(null, "The organization has no project that you can see.");
	const { destination, xql_query, ...rest } = body;
	const { start_at = null, end_at = null, paused = false } = rest;
	const { model = "events" } = rest;
	checkRange(start_at, end_at);
	checkQuery({ model, xql_query: xql_query ?? null, destination });
	const { type, config = {} } = destination;
	const id = v7();
	const [row] = await tenant.write(
		{
			...told({ id, name: body.name, team_id: home.id }),
			activity: "created",
		},
		db.insert(batchExports).values({
			...rest,
			...(paused && { last_paused_at: rest.last_paused_at ?? now() }),
			...understood(xql_query ?? null),
			...schedule(
				{ id, interval: body.interval, start_at, end_at },
				Date.now(),
			),
			id,
			organization_id: tenant.organization,
			project_id: home.id,
			destination: await sealed(env, type, config),
		}),
		selectOne(tenant, id),
	);
	return toBatchExport(found(row));
}

/** What another changed meanwhile is read again, and changed as it then is. */
export async function update(
	tenant: Tenant,
	id: string,
	body: z.infer<typeof Update>,
): Promise<z.infer<typeof BatchExport>> {
	const row = await read(tenant, id);
	const { destination, xql_query, ...rest } = body;
	const set = {
		...rest,
		...(destination && {
			destination: await merged(tenant.env, row.destination, destination),
		}),
		...(xql_query !== undefined && understood(xql_query)),
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
	const resumed =
		row.paused && !after.paused ? resume(row, after, Date.now()) : undefined;
	const timed = TIMING.some((field) => after[field] !== row[field]);
	const { scope, name, project } = told(after);
	const answer = await tenant.patch(
		row,
		set,
		{ scope, name, project, masked: ["destination"] },
		() => [
			waiting(tenant, row, resumed?.windows ?? [], same(row)),
			tenant.db
				.update(batchExports)
				.set({
					...set,
					...(timed && reschedule(row, after, Date.now())),
					...resumed?.columns,
				})
				.where(and(there(row.id), same(row))),
			selectOne(tenant, id),
		],
	);
	return changes(answer, set).length > 0
		? update(tenant, id, body)
		: toBatchExport(answer);
}

/** The statement that makes the runs that were still to start when an export was paused, if it is as `condition` says. */
const waiting = (
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
		sql`exists (select 1 from batch_exports where ${and(there(id), condition)})`,
	).onConflictDoNothing();

const pausing = (given: string | null | undefined) => ({
	paused: true,
	last_paused_at: given ?? now(),
});

/** In a statement: the export is not deleted. */
const there = (id: string) =>
	and(eq(batchExports.id, id), eq(batchExports.deleted, false));

/** What the schedule of an export is made of, and where it stands. */
const TIMING = ["interval", "start_at", "end_at", "next_end_at"] as const;

/** In a statement: the schedule is still as it was. */
const onTime = (row: Row) =>
	and(...TIMING.map((field) => sql`${batchExports[field]} is ${row[field]}`));

/** In a statement: the row is still as it was, in all that the rules speak of. */
const same = (row: Row) =>
	and(
		eq(batchExports.destination, row.destination),
		eq(batchExports.model, row.model),
		sql`${batchExports.xql_query} is ${row.xql_query}`,
		eq(batchExports.paused, row.paused),
		onTime(row),
	);

/** Softly: what runs for it is cancelled by the database. */
export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	await tenant.write(
		{ ...told(row), activity: "deleted" },
		tenant.db.update(batchExports).set({ deleted: true }).where(there(row.id)),
	);
}

/** Runs under way go on. */
export async function pause(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	if (row.paused) return toBatchExport(row);
	const set = pausing(null);
	const [after] = await tenant.write(
		{ ...told(row), activity: "paused", changes: changes(row, set) },
		tenant.db
			.update(batchExports)
			.set(set)
			.where(and(there(row.id), eq(batchExports.paused, false))),
		noted(tenant, row, "The export was paused."),
		selectOne(tenant, id),
	);
	return toBatchExport(found(after));
}

const noted = ({ db }: Tenant, { id }: Row, message: string) =>
	note(db, { batch_export_id: id, level: "INFO", message });

/**
 * Windows that ended during the pause are not run, unless by a backfill from the last pause to now. An export whose
 * schedule another changed meanwhile is read again.
 */
export async function unpause(
	tenant: Tenant,
	id: string,
	body: z.infer<typeof Unpause>,
): Promise<z.infer<typeof BatchExport> & { backfill_id?: string }> {
	const { backfill } = body;
	const row = await read(tenant, id);
	if (!row.paused) return toBatchExport(row);
	const { db } = tenant;
	const { interval } = row;
	const missed = backfill &&
		row.last_paused_at !== null && {
			start: iso(
				Math.min(
					lineBefore(interval, Date.parse(row.last_paused_at)),
					nextStart(row),
				),
			),
			end: iso(lineBefore(interval, Date.now())),
		};
	const wanted =
		missed && within(interval, missed.start, missed.end).total > 0
			? missed
			: undefined;
	const backfill_id = v7();
	const { windows, columns } = wanted
		? { windows: [], columns: schedule(row, Date.now()) }
		: resume(row, row, Date.now());
	const still = and(
		eq(batchExports.paused, true),
		onTime(row),
		wanted && hasRoom(row.team_id),
	);
	const [after] = await tenant.write(
		{
			...told(row),
			activity: "unpaused",
			changes: changes(row, { paused: false }),
		},
		waiting(tenant, row, windows, still),
		db
			.update(batchExports)
			.set({ paused: false, ...columns })
			.where(and(there(row.id), still)),
		...(wanted
			? begin(db, backfill_id, row, wanted, sql`changes() > 0`)
			: [noted(tenant, row, "The export was unpaused.")]),
		selectBegun(tenant, id, backfill_id),
	);
	const { backfill_id: begun, ...answer } = found(after);
	if (answer.paused && TIMING.some((field) => answer[field] !== row[field]))
		return unpause(tenant, id, body);
	if (answer.paused) throw full();
	started(tenant, row);
	if (begun === null) return toBatchExport(answer);
	return { ...toBatchExport(answer), backfill_id: begun };
}

/** The statement that answers with the export and, if it was begun, the id of a backfill. */
const selectBegun = (tenant: Tenant, id: string, backfill_id: string) =>
	tenant.db
		.select({
			...exportColumns(tenant.db),
			backfill_id: sql<
				string | null
			>`(select begun.id from batch_export_backfills as begun where begun.id = ${backfill_id})`.as(
				"backfill_id",
			),
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.where(one(tenant, id));

const iso = (at: number) => new Date(at).toISOString();

const full = () =>
	throttled(60, `A project can have ${MOST_BACKFILLS} backfills running.`);

/** Starts what waits for its turn of an export's runs; where that fails, the clock does. */
export const started = (tenant: Tenant, { id }: { id: string }) =>
	tenant.later(() =>
		launch(
			tenant.env,
			sql`batch_export_runs.batch_export_id = ${id} and ${isWaiting}`,
		),
	);

/** The range that a backfill is asked for; by default the last whole window. */
function rangeOf(
	{ interval }: Row,
	{ start_at, end_at }: z.infer<typeof Backfill>,
): Window {
	const last = lastWindow(interval, Date.now());
	const end = end_at ?? last.end;
	const start =
		start_at ??
		(end_at ? lastWindow(interval, Date.parse(end)).start : last.start);
	if (start >= end)
		throw invalid("start_at", "start_at must be before end_at.");
	if (end > now()) throw invalid("end_at", "end_at must not be in the future.");
	if (within(interval, start, end).total === 0)
		throw invalid(
			start_at ? "start_at" : "end_at",
			`The range is shorter than the export's interval (${interval}).`,
		);
	return { start, end };
}

/** Also while the export is paused. */
export async function backfill(
	tenant: Tenant,
	id: string,
	body: z.infer<typeof Backfill>,
) {
	const row = await read(tenant, id);
	const range = rangeOf(row, body);
	const { db } = tenant;
	const backfill_id = v7();
	const [after] = await tenant.write(
		{
			...told(row),
			activity: "backfilled",
			trigger: { backfill_id, ...range },
		},
		...begin(
			db,
			backfill_id,
			row,
			range,
			sql`${hasRoom(row.team_id)} and exists (select 1 from batch_exports where ${there(row.id)})`,
		),
		selectBegun(tenant, id, backfill_id),
	);
	const { backfill_id: begun, ...answer } = found(after);
	if (begun === null) throw full();
	started(tenant, row);
	return { ...toBatchExport(answer), backfill_id: begun };
}
