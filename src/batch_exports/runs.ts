import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type * as z from "zod";
import { inList } from "../db/client.ts";
import { paged } from "../db/list.ts";
import { batchExportRuns, batchExports, now } from "../db/schema.ts";
import { logIfChanged } from "../exporter/run_log.ts";
import { found, invalid } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { activityOf, countOf, launchWaiting, selectName } from "./queries.ts";
import { type retry as Retry, runColumns, type runFilters } from "./shape.ts";

/** Newest first. */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ status }: z.infer<typeof runFilters>,
) {
	const { db } = tenant;
	const of = eq(batchExportRuns.batch_export_id, id.toLowerCase());
	const keys = ({ id }: { id: string }) => [id];
	const [rows, [counted], [there]] = await tenant.read(
		...paged(db, page, db.select(runColumns).from(batchExportRuns).$dynamic(), {
			where: and(of, status && inList(batchExportRuns.status, status)),
			by: [batchExportRuns.id],
			keys,
			...(!status && {
				total: countOf(batchExports.runs, id),
			}),
		}),
		selectName(tenant, id),
	);
	found(there);
	return envelope(page, rows, counted?.count ?? 0, keys);
}

/** The statement that answers with a run of the export. */
export const selectOne = ({ db }: Tenant, id: string, run_id: string) =>
	db
		.select(runColumns)
		.from(batchExportRuns)
		.where(
			and(
				eq(batchExportRuns.id, run_id.toLowerCase()),
				eq(batchExportRuns.batch_export_id, id.toLowerCase()),
			),
		);

async function read(tenant: Tenant, id: string, run_id: string) {
	const [[of], [run]] = await tenant.read(selectName(tenant, id), selectOne(tenant, id, run_id));
	return { of: found(of), run: found(run) };
}

export const find = async (tenant: Tenant, id: string, run_id: string) =>
	(await read(tenant, id, run_id)).run;

/** What it began at its destination is removed by who runs it, or by the clock. */
export async function cancel(tenant: Tenant, id: string, run_id: string) {
	const { of, run } = await read(tenant, id, run_id);
	if (run.finished_at !== null)
		throw invalid(null, "Only a run that has not ended can be cancelled.");
	const { db } = tenant;
	const [after] = await tenant.write({
		entry: {
			...activityOf(of),
			activity: "run_cancelled",
			trigger: { run_id: run.id },
		},
		change: db
			.update(batchExportRuns)
			.set({
				status: "Cancelled",
				finished_at: now(),
				last_updated_at: now(),
			})
			.where(and(eq(batchExportRuns.id, run.id), isNull(batchExportRuns.finished_at))),
		after: (changed) => [
			logIfChanged(
				db,
				{
					batch_export_id: of.id,
					run_id: run.id,
					level: "WARNING",
					message: `The run of ${run.data_interval_start} to ${run.data_interval_end} was cancelled.`,
				},
				changed,
			),
		],
		answer: selectOne(tenant, id, run_id),
	});
	// The next of its series may be waiting for it.
	launchWaiting(tenant, of);
	return found(after);
}

/** What a run that begins anew has of it. */
const FROM_START = {
	records_completed: 0,
	records_total_count: null,
	bytes: 0,
	cursor: null,
};

/** In an UPDATE of runs: the column as it is, where a retry goes on, and else as it is at the beginning. */
const unlessResumed = (column: keyof typeof FROM_START) =>
	sql`iif(resume_state is null, ${FROM_START[column]}, ${batchExportRuns[column]})`;

/**
 * The same window, the same run: from where it ended, if its destination still has what was written until then, else from the
 * beginning. The run itself checks that it would write the same as before.
 */
export async function retry(
	tenant: Tenant,
	id: string,
	run_id: string,
	{ from }: z.infer<typeof Retry>,
) {
	const { of, run } = await read(tenant, id, run_id);
	if (run.finished_at === null) throw invalid(null, "Only a run that has ended can be retried.");
	const { db } = tenant;
	const [after] = await tenant.write({
		entry: {
			...activityOf(of),
			activity: "run_retried",
			trigger: { run_id: run.id },
		},
		change: db
			.update(batchExportRuns)
			.set({
				status: "Starting",
				// What may still be at it can't write any more, until another attempt is started.
				launched: false,
				// Also one that never began is not held up by a pause.
				attempt: sql`max(${batchExportRuns.attempt}, 1)`,
				...(from === "start"
					? { ...FROM_START, resume_state: null }
					: {
							records_completed: unlessResumed("records_completed"),
							records_total_count: unlessResumed("records_total_count"),
							bytes: unlessResumed("bytes"),
							cursor: unlessResumed("cursor"),
						}),
				latest_error: null,
				tries: 0,
				next_try_at: null,
				started_at: null,
				finished_at: null,
				last_updated_at: now(),
			})
			.where(
				and(
					eq(batchExportRuns.id, run.id),
					isNotNull(batchExportRuns.finished_at),
					isNull(batchExportRuns.state),
					sql`exists (select 1 from batch_exports as e where e.id = ${of.id} and not e.deleted)`,
				),
			),
		after: (changed) => [
			logIfChanged(
				db,
				{
					batch_export_id: of.id,
					run_id: run.id,
					level: "INFO",
					message: `The run of ${run.data_interval_start} to ${run.data_interval_end} is tried again.`,
				},
				changed,
			),
		],
		answer: selectOne(tenant, id, run_id),
	});
	const answer = found(after);
	if (answer.finished_at !== null)
		throw invalid(null, "What the run left behind is still being removed. Try again in a minute.");
	launchWaiting(tenant, of);
	return answer;
}
