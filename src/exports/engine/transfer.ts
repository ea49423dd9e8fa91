import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { pluralize } from "../../lib/text.ts";
import type { Destination, Job } from "../destinations/destination.ts";
import { bytesOf } from "../query/rows.ts";
import { type Attempt, checkCurrent, takeState, updateRun } from "./attempt.ts";
import { endRun, type Progress } from "./end.ts";
import { FROM_START, hasChanged, type Loaded, logOf, planTransfer } from "./loaded.ts";
import { checkSize } from "./one_offs.ts";
import { logWhere } from "./run_log.ts";
import { sourceOf } from "./sources/index.ts";
import type { Page, Position } from "./sources/source.ts";

/**
 * A step ends when it has saved its position after this many pages of rows, or after this time. It
 * can't use more CPU time than has passed, so it stays below `cpu_ms` in wrangler.toml, whatever a
 * query computes for each row.
 */
const PAGES_PER_STEP = 100;
const STEP_MS = 15_000;

/** How often a run writes its heartbeat and checks whether it was cancelled. */
export const HEARTBEAT_MS = 10_000;

/** The remaining budget of a step. `until` is in milliseconds since 1970. */
type Budget = { pages: number; until: number };

export const newBudget = (): Budget => ({
	pages: PAGES_PER_STEP,
	until: Date.now() + STEP_MS,
});

export const isSpent = ({ pages, until }: Budget) => pages <= 0 || Date.now() > until;

/** The cursor of a run that has written all rows. */
const END: Position = [];

/** Returns where a run continues. If the destination or the query has changed, it starts over. */
function positionOf(run: Loaded["run"], fingerprint: string) {
	if (hasChanged(run, fingerprint)) return { state: null, ...FROM_START };
	const { cursor, records_completed, records_total_count, bytes, unfit_values } = run;
	const state = run.state ?? run.resume_state;
	return { state, cursor, records_completed, records_total_count, bytes, unfit_values };
}

/** Returns the log entry for a run that continues or starts over; null if there is none. */
function describeStart(
	run: Loaded["run"],
	fingerprint: string,
	{ records_completed }: { records_completed: number },
) {
	if (hasChanged(run, fingerprint) && run.cursor !== null)
		return {
			level: "WARNING" as const,
			message:
				"The destination or the query has changed since the run began, so it starts over. Rows that are already in a database or at a receiver stay there.",
		};
	if (run.status !== "Starting" || run.lease < 2) return null;
	return {
		level: "INFO" as const,
		message:
			records_completed > 0
				? `Attempt ${run.lease} continues after ${pluralize(records_completed, "row")}.`
				: `Attempt ${run.lease} starts with the first row.`,
	};
}

/**
 * Marks the run as running from its position. Logs this if it isn't the first attempt. If there is
 * nothing to log, the next update of the row stores it: most runs end before that.
 * @returns the position, without the state
 */
async function begin(attempt: Attempt, fingerprint: string, started_at: string) {
	const { run } = attempt.loaded;
	const position = positionOf(run, fingerprint);
	const isMoved = position.state !== run.state || position.cursor !== run.cursor;
	attempt.begun = {
		...(isMoved && position),
		status: "Running",
		started_at,
		fingerprint,
		resume_state: null,
	};
	const entry = describeStart(run, fingerprint, position);
	if (entry || isMoved) await updateRun(attempt, {});
	else await checkCurrent(attempt);
	if (entry) await logWhere(drizzle(attempt.env.DB), { ...logOf(run), ...entry }, sql`true`);
	const { state, ...rest } = position;
	return rest;
}

async function openSink(
	attempt: Attempt,
	{ destination, job }: { destination: Destination; job: Job },
	update: (set: Partial<Loaded["run"]>) => Promise<void>,
	progress: Progress,
) {
	const readState = () => takeState(attempt);
	return destination.open(
		job,
		await readState(),
		async (state, isProgress) => {
			if (isProgress) progress.attempts = 0;
			await update({ state, attempts: progress.attempts });
		},
		readState,
	);
}

/**
 * Writes pages of rows to the destination, until the run is complete or the budget is used up.
 * @param progress is kept up to date, even if this throws
 * @returns true if the run has ended, false if there is more to do
 */
export async function transferRows(
	attempt: Attempt,
	budget: Budget,
	progress: Progress,
): Promise<boolean> {
	const { env } = attempt;
	const { destination, selection, job, fingerprint } = await planTransfer(env, attempt.loaded);
	using resources = new DisposableStack();
	const source = sourceOf(env);
	resources.defer(() => source.release?.());
	let updatedAt = Date.now();
	const update = async (set: Partial<Loaded["run"]>) => {
		updatedAt = Date.now();
		await updateRun(attempt, set);
	};
	const { cursor, ...position } = await begin(attempt, fingerprint, progress.started_at);
	let { records_total_count, ...figures } = position;
	Object.assign(progress, figures);
	const after: Position | null = cursor === null ? null : Cursor.parse(JSON.parse(cursor));
	let page = after?.length === END.length ? null : await source.page(selection, after);
	if (records_total_count === null) {
		const isOnlyPage = after === null && page?.next === null;
		records_total_count = isOnlyPage ? (page?.rows.length ?? 0) : await source.count(selection);
		if (!isOnlyPage) await update({ records_total_count });
	}
	const sink = await openSink(attempt, { destination, job }, update, progress);
	resources.defer(() => sink.release?.());
	let isFresh = false;
	/** Whether all rows that were read are in the saved state or at the destination. */
	let isSaved = true;
	while (page) {
		const { next, unfit }: Page = page;
		const count: number = page.rows.length;
		budget.pages -= 1;
		figures.records_completed += count;
		const sizes = page.rows.map(bytesOf);
		figures.bytes += sizes.reduce((sum, size) => sum + size, 0);
		checkSize(job, figures.bytes);
		const before = sink.unfit ?? 0;
		const state = count > 0 ? await sink.write(page.rows, sizes) : null;
		figures.unfit_values += unfit + (sink.unfit ?? 0) - before;
		// Only one page is in memory at a time.
		page = null;
		isFresh = state !== null;
		if (count > 0) isSaved = isFresh;
		if (state !== null) {
			Object.assign(progress, figures, { attempts: 0 });
			const cursor = JSON.stringify(next ?? END);
			await update({ state, cursor, ...figures, attempts: 0 });
			if (next && isSpent(budget)) return false;
		} else if (next && isSaved && isSpent(budget)) {
			// Saves the position even if the query's condition filters out all rows of a step.
			await update({ cursor: JSON.stringify(next) });
			return false;
		} else if (Date.now() - updatedAt > HEARTBEAT_MS) await update({});
		page = next && (await source.page(selection, next));
	}
	// `close` makes files appear, so check first that this attempt is still the current one.
	if (!isFresh) await checkCurrent(attempt);
	const { files = [], stored = null, warnings = [] } = await sink.close();
	await endRun(attempt, {
		...progress,
		...figures,
		status: "Completed",
		latest_error: null,
		records_total_count,
		files,
		stored,
		warnings,
	});
	return true;
}

const Cursor = z.array(z.string());
