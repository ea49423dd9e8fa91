import {
	and,
	eq,
	gt,
	inArray,
	isNotNull,
	isNull,
	lt,
	lte,
	not,
	or,
	type SQL,
	sql,
} from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry as again } from "../../access/unit_of_work.ts";
import { assertExists, inList } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import {
	batchExportRuns,
	batchExports,
	isUnsuccessful,
	RUN_STATUSES,
	UNSUCCESSFUL,
} from "../../db/schema/batch_exports.ts";
import { NO_LEASE } from "../../delivery/lease.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { sentence } from "../../outbound/errors.ts";
import { FROM_START } from "../engine/loaded.ts";
import { logWhere } from "../engine/run_log.ts";
import { endsAcross } from "../engine/windows.ts";
import { runColumns } from "./columns.ts";
import type { retry as Retry, runFilters } from "./shape.ts";
import {
	activityOf,
	CANCELLED,
	countOf,
	launchWaiting,
	listWithin,
	rowIdOf,
	selectName,
} from "./statements.ts";

/**
 * Returns conditions for windows that begin before this time. They use the end of the window, which
 * has an index: the window ends by this time, or at the end of an interval in UTC that contains it,
 * or is the next one that ends. So they can miss windows of backfills that contain this time, if
 * they aren't aligned to UTC.
 */
function startsBefore(tenant: Tenant, id: string, moment: string) {
	const { data_interval_start, data_interval_end } = batchExportRuns;
	const ends = endsAcross(Date.parse(moment)).map((end) => Date.parse(end));
	const next = sql`(select min(data_interval_end) from batch_export_runs as later
		where later.batch_export_id = ${rowIdOf(tenant, id)} and later.data_interval_end > ${Date.parse(moment)})`;
	return [
		lte(data_interval_end, moment),
		and(
			inList(data_interval_end, sql`json_insert(${JSON.stringify(ends)}, '$[#]', ${next})`),
			lt(data_interval_start, moment),
		),
	];
}

type Status = (typeof RUN_STATUSES)[number];

/**
 * Returns SQL for the runs of an export that have one of these statuses, none of them `Completed`,
 * from the indexes of the few runs that are unsuccessful or unfinished. It has the columns that
 * lists need to find and sort them.
 * @param where which runs of the export
 */
function fewRuns(ofExport: SQL, statuses: Status[], where: SQL = sql`true`) {
	const columns = sql`batch_export_id, id, data_interval_start, data_interval_end`;
	const select = (index: string, condition: SQL, some: Status[]) =>
		some.length === 0
			? []
			: sql`select ${columns} from batch_export_runs indexed by ${sql.identifier(index)}
				where ${ofExport} and ${condition} and ${inArray(batchExportRuns.status, some)} and ${where}`;
	const [ended, unfinished] = [true, false].map((has) =>
		statuses.filter((one) => UNSUCCESSFUL.includes(one) === has),
	);
	const selects = [
		select("batch_export_runs_unsuccessful", isUnsuccessful, ended ?? []),
		select("batch_export_runs_unfinished", sql`finished_at is null`, unfinished ?? []),
	].flat();
	return sql`(${sql.join(selects, sql` union all `)}) as batch_export_runs`;
}

/** Lists runs, newest first. With a filter by time, the newest windows come first. */
export function list(tenant: Tenant, id: string, page: Page, filters: z.infer<typeof runFilters>) {
	const { after, before, starts_before, kind } = filters;
	const asked = new Set(filters.status ?? []);
	const statuses = asked.size > 0 ? asked : new Set(RUN_STATUSES);
	const { data_interval_end, backfill_id } = batchExportRuns;
	const isOfKind = kind && (kind === "backfill" ? isNotNull(backfill_id) : isNull(backfill_id));
	const ofExport = sql`${eq(batchExportRuns.batch_export_id, rowIdOf(tenant, id))}`;
	const where = and(
		ofExport,
		after ? gt(data_interval_end, after) : undefined,
		before ? lt(data_interval_end, before) : undefined,
	);
	const isByTime = after || before || starts_before;
	const ranges = starts_before ? startsBefore(tenant, id, starts_before) : [undefined];
	const { id: run_id } = batchExportRuns;
	const all = {
		select: () => tenant.db.select(runColumns(id)).from(batchExportRuns).$dynamic(),
		by: isByTime ? [data_interval_end, run_id] : [run_id],
		keys: ({ data_interval_end, id }: { data_interval_end: string; id: string }) =>
			isByTime ? [data_interval_end, id] : [id],
	};
	if (!statuses.has("Completed")) {
		return listWithin(tenant, id, page, {
			...all,
			// With = instead of IN, SQLite would read all runs in the order of the list, to find these few.
			where: sql`${batchExportRuns.batch_export_id} in ${rowIdOf(tenant, id)}`,
			few: {
				id: run_id,
				from: fewRuns(ofExport, [...statuses], isOfKind),
				where: and(where, or(...ranges)),
			},
		});
	}
	const others = RUN_STATUSES.filter((one) => !statuses.has(one));
	const isShown = and(
		others.length > 0 ? not(inList(batchExportRuns.status, others)) : undefined,
		isOfKind,
	);
	if (isByTime) {
		const parts = ranges.map((range) => and(range, isShown));
		const counts = parts.map((part) => countWhere(batchExportRuns, and(where, part)));
		return listWithin(tenant, id, page, {
			...all,
			where,
			parts,
			total: sql.join(counts, sql` + `),
		});
	}
	const count = countOf(tenant, id, batchExports.runs);
	const ofStatus =
		others.length > 0 ? sql`${count} - ${countWhere(fewRuns(ofExport, others), ofExport)}` : count;
	return listWithin(tenant, id, page, {
		...all,
		where: and(where, isShown),
		total: isOfKind ? countWhere(batchExportRuns, and(where, isShown)) : ofStatus,
	});
}

export const isRun = (tenant: Tenant, id: string, run_id: string) =>
	and(
		eq(batchExportRuns.batch_export_id, rowIdOf(tenant, id)),
		eq(batchExportRuns.id, run_id.toLowerCase()),
	);

export const selectOne = (tenant: Tenant, id: string, run_id: string) =>
	tenant.db
		.select(runColumns(id))
		.from(batchExportRuns)
		.where(isRun(tenant, id, run_id));

async function read(tenant: Tenant, id: string, run_id: string) {
	const [[parent], [run]] = await tenant.read(
		selectName(tenant, id),
		selectOne(tenant, id, run_id),
	);
	return { parent: orNotFound(parent), run: orNotFound(run) };
}

export const find = async (tenant: Tenant, id: string, run_id: string) =>
	(await read(tenant, id, run_id)).run;

/** Cancels a run, whose output is then removed. Throws 400 if it has ended. */
export const cancel = (tenant: Tenant, id: string, run_id: string) =>
	again(() => tryCancel(tenant, id, run_id));

async function tryCancel(tenant: Tenant, id: string, run_id: string) {
	const { parent, run } = await read(tenant, id, run_id);
	if (run.finished_at !== null)
		throw invalid(null, "Only a run that has not ended can be cancelled.");
	const { db } = tenant;
	const isThisRun = isRun(tenant, id, run_id);
	const after = await tenant.write({
		checks: [
			assertExists(db, batchExportRuns, and(isThisRun, isNull(batchExportRuns.finished_at))),
		],
		changes: [
			db
				.update(batchExportRuns)
				.set({ ...CANCELLED, finished_at: now(), last_updated_at: now() })
				.where(isThisRun),
			logWhere(db, {
				batch_export_id: parent.row_id,
				run_id: run.id,
				level: "WARNING",
				message: `The run of ${run.data_interval_start} to ${run.data_interval_end} was cancelled.${run.latest_error === null ? "" : ` Its last error: ${sentence(run.latest_error)}`}`,
			}),
		],
		entries: [{ ...activityOf(parent), activity: "run_cancelled", trigger: { run_id: run.id } }],
		answer: selectOne(tenant, id, run_id),
	});
	// The next run of the same series may be waiting for this one.
	launchWaiting(tenant, parent);
	return after;
}

/** Returns the columns of a run that is retried. */
export const restarted = ({ from }: z.infer<typeof Retry>) => ({
	status: "Starting" as const,
	// An attempt that is still running can't write any more, even before a new one is launched.
	...NO_LEASE,
	// A pause only delays runs without attempts.
	lease: sql`max(${batchExportRuns.lease}, 1)`,
	...(from === "start"
		? { ...FROM_START, resume_state: null }
		: Object.fromEntries(
				Object.entries(FROM_START).map(([name, value]) => [
					name,
					sql`iif(resume_state is null, ${value}, ${sql.identifier(name)})`,
				]),
			)),
	latest_error: null,
	dismissed: false,
	attempts: 0,
	started_at: null,
	finished_at: null,
	last_updated_at: now(),
});

/**
 * Retries a run. It continues where it ended if the destination still has its output, otherwise
 * from the first row. The new attempt checks that the destination and the query haven't changed.
 * @throws 400 if the run hasn't ended, or if its unfinished output is still being removed
 */
export const retry = (tenant: Tenant, id: string, run_id: string, options: z.infer<typeof Retry>) =>
	again(() => tryRetry(tenant, id, run_id, options), { retries: 0, error: notRemoved });

const notRemoved = () =>
	invalid(null, "Unfinished output of the run is still being removed. Try again in a minute.");

async function tryRetry(
	tenant: Tenant,
	id: string,
	run_id: string,
	options: z.infer<typeof Retry>,
) {
	const { parent, run } = await read(tenant, id, run_id);
	if (run.finished_at === null) throw invalid(null, "Only a run that has ended can be retried.");
	const { db } = tenant;
	const isThisRun = isRun(tenant, id, run_id);
	const mayRestart = and(
		isThisRun,
		isNotNull(batchExportRuns.finished_at),
		isNull(batchExportRuns.state),
		sql`exists (select 1 from batch_exports as e where e.id = ${parent.row_id} and not e.deleted)`,
	);
	const after = await tenant.write({
		checks: [assertExists(db, batchExportRuns, mayRestart)],
		changes: [
			db.update(batchExportRuns).set(restarted(options)).where(isThisRun),
			logWhere(db, {
				batch_export_id: parent.row_id,
				run_id: run.id,
				level: "INFO",
				message: `The run of ${run.data_interval_start} to ${run.data_interval_end} is retried.`,
			}),
		],
		entries: [{ ...activityOf(parent), activity: "run_retried", trigger: { run_id: run.id } }],
		answer: selectOne(tenant, id, run_id),
	});
	launchWaiting(tenant, parent);
	return after;
}
