/** Selects, conditions and writes that several files of this family share. */
import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect } from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { viewable } from "../../access/access_levels.ts";
import { readPage } from "../../access/pages.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { visibleProjectHere } from "../../access/visible.ts";
import { aliased, assertExists, insertEach } from "../../db/client.ts";
import { counter, type List } from "../../db/list.ts";
import { batchExportRanges, batchExportRuns, batchExports } from "../../db/schema/batch_exports.ts";
import { projects } from "../../db/schema/organizations.ts";
import { invalid } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { GRID } from "../engine/grid.ts";
import { logWhere } from "../engine/run_log.ts";
import { countInserted, isQueued, startRuns } from "../engine/start_runs.ts";
import { passedOver } from "../engine/undelivered.ts";
import {
	describeSkipped,
	describeUnpaused,
	LIMIT,
	PAUSED,
	type resume,
} from "../engine/windows.ts";
import { exportColumns } from "./columns.ts";

/** The organization's exports that aren't deleted. The condition has the form of the index. */
export const ofOrganization = ({ organization }: QueryScope) =>
	and(eq(batchExports.organization_id, organization), sql`not ${batchExports.deleted}`);

/**
 * The condition for the exports in the tenant's project, or in all projects of the organization
 * that the caller can see, without deleted ones. For statements that join `batch_exports` with
 * `projects`.
 */
const inVisibleProjects = (tenant: QueryScope) =>
	and(
		ofOrganization(tenant),
		tenant.kind === "project"
			? eq(batchExports.project_id, tenant.project)
			: visibleProjectHere(tenant),
	);

/** The organization's exports that count towards the limit of objects, or its one-off ones. */
export const counted = (scope: QueryScope, one_off = false) =>
	and(ofOrganization(scope), eq(batchExports.one_off, one_off));

/** The condition for the project in the path, or for those in which the caller may add an export. */
const mayAdd = (tenant: Tenant) =>
	tenant.kind === "project"
		? eq(projects.id, tenant.project)
		: and(eq(projects.organization_id, tenant.organization), visibleProjectHere(tenant, "editor"));

/** Selects the project of a new export: that in the path, or the oldest that the caller may change. */
export const selectProject = (tenant: Tenant) =>
	tenant.db
		.select({ id: projects.id })
		.from(projects)
		.where(mayAdd(tenant))
		.orderBy(projects.id)
		.limit(1);

type Project = { id: number };

export function orNoProject(project: Project | undefined) {
	if (!project) throw invalid(null, "The organization has no project that you can change.");
	return project;
}

/** Asserts that the caller may still change the project, unless the guard does. */
export const assertProject = (tenant: Tenant, { id }: Project) =>
	tenant.kind === "organization"
		? [assertExists(tenant.db, projects, and(eq(projects.id, id), mayAdd(tenant)))]
		: [];

/** SQL condition: the caller may view the export. */
const isViewable = (tenant: QueryScope) => viewable(tenant, "batch_export", batchExports.uuid);

/** Like `inVisibleProjects`, without the exports that the caller may not view. */
export const visibleExports = (tenant: QueryScope) =>
	and(inVisibleProjects(tenant), isViewable(tenant));

/** The export in the path, whose access control the guard has checked. */
const byId = (tenant: Tenant, id: string) =>
	and(eq(batchExports.uuid, id.toLowerCase()), inVisibleProjects(tenant));

/** SQL for the row's id of an export of the organization, whether or not the caller can see it. */
export const rowIdOf = (tenant: Tenant, id: string) =>
	sql<number>`(select ${batchExports.id} from ${batchExports}
		where ${and(ofOrganization(tenant), eq(batchExports.uuid, id.toLowerCase()))})`;

export const select = ({ db }: QueryScope) =>
	db
		.select(exportColumns(db))
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id));

export type Row = Awaited<ReturnType<typeof select>>[number];

export const selectOne = (tenant: Tenant, id: string) => select(tenant).where(byId(tenant, id));

/** Selects an export that a body names. */
export const selectOther = (tenant: Tenant, id: string) =>
	select(tenant).where(and(byId(tenant, id), isViewable(tenant)));

/** Returns the stored export, with encrypted secrets. */
export async function read(tenant: Tenant, id: string) {
	return tenant.find(selectOne(tenant, id));
}

const hasNoSchedule = () =>
	invalid(null, "A one-off export has no schedule, and can't be changed. Start another one.");

/** Throws 400 for a one-off export. */
export function scheduled<R extends Pick<Row, "expires_at">>(row: R) {
	if (row.expires_at !== null) throw hasNoSchedule();
	return row;
}

/** Returns the stored export. Throws 400 if it is a one-off export, which can't be changed. */
export const readScheduled = async (tenant: Tenant, id: string) =>
	scheduled(await read(tenant, id));

export const selectName = (tenant: Tenant, id: string) =>
	tenant.db
		.select({
			id: aliased(batchExports.uuid, "id"),
			row_id: aliased(batchExports.id, "row_id"),
			name: batchExports.name,
			team_id: batchExports.project_id,
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.where(byId(tenant, id));

/** Returns a page of an export's objects. Throws 404 if the caller can't see the export. */
export const listWithin = <S extends SQLiteSelect>(
	tenant: Tenant,
	id: string,
	page: Page,
	list: List<S>,
) => readPage(tenant, page, { parent: selectName(tenant, id), ...list });

export const countOf = (tenant: Tenant, id: string, ...columns: SQLiteColumn[]) =>
	sql.join(
		columns.map((column) => counter(column, rowIdOf(tenant, id))),
		sql` + `,
	);

export const activityOf = ({ id, name, team_id }: Pick<Row, "id" | "name" | "team_id">) => ({
	scope: "BatchExport" as const,
	item_id: id,
	name,
	project: team_id,
});

type Resumed = Pick<ReturnType<typeof resume>, "windows" | "skipped" | "paused" | "columns">;

/**
 * Returns the statements for windows that ended before or while an export was paused: they insert
 * the runs that had not started when it was paused, and log which windows are not run. `columns`
 * are the columns of the export, which count the runs.
 * @param isGivenUp whether nobody needs what arrived during the pause
 */
export function passPause(
	{ db }: Tenant,
	{ row_id }: Row,
	{ windows, skipped, paused, columns }: Resumed,
	{ isGivenUp = false } = {},
) {
	const runs = windows.map(({ start, end }) => ({
		id: v7(),
		batch_export_id: row_id,
		data_interval_start: start,
		data_interval_end: end,
	}));
	const ranges = [
		...(skipped ? [passedOver(skipped, LIMIT)] : []),
		...(paused && !isGivenUp ? [passedOver(paused, PAUSED)] : []),
	].map((range) => ({ batch_export_id: row_id, ...range }));
	const ids = sql`${JSON.stringify(runs.map(({ id }) => id))}`;
	const unpaused = { level: "INFO" as const, message: describeUnpaused(paused) };
	const entry = skipped
		? { level: "WARNING" as const, message: describeSkipped(skipped), more: [unpaused] }
		: unpaused;
	return {
		statements: [
			insertEach(db, batchExportRuns, { rows: runs }).onConflictDoNothing(),
			insertEach(db, batchExportRanges, { rows: ranges }),
			logWhere(db, { batch_export_id: row_id, ...entry }),
		],
		columns: {
			...columns,
			...(runs.length > 0 && {
				runs: sql`${batchExports.runs} + ${countInserted(sql`${row_id}`, ids)}`,
			}),
		},
	};
}

export const pausing = (last_paused_at?: string | null, pause_note?: string | null) => ({
	paused: true,
	last_paused_at: last_paused_at ?? now(),
	pause_note: pause_note || null,
});

export const notDeleted = (id: number) =>
	and(eq(batchExports.id, id), eq(batchExports.deleted, false));

/** The columns that define the schedule of an export and its next window. */
export const TIMING = [...GRID, "start_at", "end_at", "next_start_at", "next_end_at"] as const;

/** SQL condition: the schedule hasn't changed since it was read. */
export const scheduleUnchanged = (row: Row) =>
	and(...TIMING.map((field) => sql`${batchExports[field]} is ${row[field]}`));

export const launchRuns = ({ env }: Tenant, id: number) =>
	startRuns(env, sql`batch_export_runs.batch_export_id = ${id} and ${isQueued}`);

/** Starts the next waiting runs after the response. If this fails, the next tick does. */
export const launchWaiting = (tenant: Tenant, { row_id }: Pick<Row, "row_id">) =>
	tenant.later(() => launchRuns(tenant, row_id));

export const CANCELLED = { status: "Cancelled", latest_error: "Cancelled" } as const;
