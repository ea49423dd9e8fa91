import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { and, DrizzleQueryError, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { batchExportLogEntries, batchExportRuns, now } from "../db/schema.ts";
import { pauseIfFailing } from "./auto_pause.ts";
import { Misconfigured, Superseded } from "./destinations/destination.ts";
import { clean, end, type Progress, sentence } from "./end.ts";
import { claimNext, type Launched } from "./launch.ts";
import { isCurrent, type Loaded, load, logOf, prepare } from "./loaded.ts";
import { bytesOf } from "./rows.ts";
import { pluralize, withLogEntry } from "./run_log.ts";
import { advance } from "./series.ts";
import { sourceOf } from "./sources/index.ts";
import type { Page, Position } from "./sources/source.ts";
import { delayAfter, MAX_TRIES } from "./tries.ts";

/**
 * How many steps an instance takes before it leaves the rest to another. Cloudflare allows 10,000 steps (1,024 on the free
 * plan), without sleeps.
 */
const MAX_STEPS = 1000;

/** A step ends after this many pages of rows, or after this time, to stay far from the limits for time and CPU. */
const PAGES_PER_STEP = 100;
const STEP_MS = 5 * 60_000;

/** For steps that fail as a whole: the database doesn't respond, or the isolate is gone. */
const STEP = {
	retries: { limit: MAX_TRIES - 1, delay: "5 seconds", backoff: "exponential" },
	timeout: "30 minutes",
} as const;

/** How often a run reports that it is alive, and checks whether it was cancelled. */
const HEARTBEAT_MS = 10_000;

const MAX_ERROR_LENGTH = 2000;

/** The run that an instance continues with, and how long it waits before. */
type Turn = Launched & { wait_ms: number };

/**
 * Carries out a run, then the waiting runs of the same series (one backfill or one schedule). All state between two steps
 * is in D1.
 *
 * No instance starts another one. On Cloudflare it could, since a new instance is only queued. But the local server runs it
 * at once, nested in the one that created it, and stops working at a nesting of about fifty.
 */
export class ExportRun extends WorkflowEntrypoint<Env, Launched> {
	override async run({ payload }: WorkflowEvent<Launched>, step: WorkflowStep) {
		let turn: Turn | null = { ...payload, wait_ms: 0 };
		for (let n = 1; turn !== null && n <= MAX_STEPS; n += 1) {
			const current: Turn = turn;
			if (current.wait_ms > 0) await step.sleep(`wait before part ${n}`, current.wait_ms);
			try {
				turn = await step.do(`part ${n}`, STEP, () => runSeries(this.env, current));
			} catch (error) {
				turn = await step.do(`give up part ${n}`, STEP, () => giveUp(this.env, current, error));
			}
		}
		const rest = turn;
		if (rest) await step.do("leave to the clock", STEP, () => release(this.env, rest));
	}
}

/** How much a step may still do. `until` is in milliseconds since 1970. */
type Budget = { pages: number; until: number };

const newBudget = (): Budget => ({
	pages: PAGES_PER_STEP,
	until: Date.now() + STEP_MS,
});

const isSpent = ({ pages, until }: Budget) => pages <= 0 || Date.now() > until;

/**
 * Continues a run, then the next ones of its series, until a run has to wait or the budget of the step is spent.
 * @returns the run to continue with; null if none is left
 */
async function runSeries(env: Env, first: Launched): Promise<Turn | null> {
	const budget = newBudget();
	for (let current = first; ; ) {
		// Lets the local server handle requests: its storage is in the same process, so statements alone never yield to
		// them.
		await scheduler.wait(1);
		const wait_ms = await part(env, current, budget);
		if (wait_ms !== null) return { ...current, wait_ms };
		const next = await afterRun(env, current);
		if (next === null) return null;
		if (isSpent(budget)) return { ...next, wait_ms: 0 };
		current = next;
	}
}

/** The cursor of a run that has written all rows. */
const END: Position = [];

/**
 * Continues a run from its stored position.
 * @returns how many milliseconds to wait before the next call; null if the run has ended, or if another attempt has taken
 * over
 */
export async function part(
	env: Env,
	launched: Launched,
	budget = newBudget(),
): Promise<number | null> {
	const loaded = await load(drizzle(env.DB), launched.run_id);
	if (!loaded) return null;
	const { run } = loaded;
	const progress: Progress = {
		tries: run.tries,
		records_completed: run.records_completed,
		bytes: run.bytes,
		unfit_values: run.unfit_values,
		started_at: run.started_at ?? now(),
	};
	try {
		const prepared = await prepare(env, loaded);
		const heartbeat = setInterval(() => beat(env, launched), HEARTBEAT_MS);
		const isDone = await transferRows(env, {
			...prepared,
			launched,
			run,
			budget,
			progress,
		}).finally(() => clearInterval(heartbeat));
		return isDone ? null : 0;
	} catch (error) {
		if (error instanceof Superseded) return null;
		const message = reason(error).slice(0, MAX_ERROR_LENGTH);
		const tries = progress.tries + 1;
		if (error instanceof Misconfigured || tries >= MAX_TRIES) {
			const status = error instanceof Misconfigured ? "Failed" : "FailedRetryable";
			await end(env, launched, run, { ...progress, status, latest_error: message });
			return null;
		}
		const wait_ms = delayAfter(tries, error);
		await countTry(env, launched, run, { tries, message, wait_ms });
		return wait_ms;
	}
}

/**
 * Reports that the attempt is alive. Also after the run was cancelled: once files start to appear, all of them must, before
 * a tick removes the leftovers.
 */
const beat = (env: Env, { run_id, attempt }: Launched) =>
	drizzle(env.DB)
		.update(batchExportRuns)
		.set({ last_updated_at: now() })
		.where(and(eq(batchExportRuns.id, run_id), eq(batchExportRuns.attempt, attempt)))
		// The next heartbeat may succeed.
		.catch(() => {});

/** Stores and logs a failed try and the time of the next one. */
async function countTry(
	env: Env,
	launched: Launched,
	run: Loaded["run"],
	{ tries, message, wait_ms }: { tries: number; message: string; wait_ms: number },
) {
	const db = drizzle(env.DB);
	const next_try_at = new Date(Date.now() + wait_ms).toISOString();
	await db.batch([
		...withLogEntry(
			db,
			db
				.update(batchExportRuns)
				.set({
					tries,
					next_try_at,
					latest_error: message,
					last_updated_at: now(),
				})
				.where(isCurrent(launched)),
			{
				...logOf(run),
				level: "WARNING",
				message: `Try ${tries} of ${MAX_TRIES} failed: ${sentence(message)} The next try is at ${next_try_at}.`,
			},
		),
	]);
}

/** What `transferRows` needs. */
type Part = Awaited<ReturnType<typeof prepare>> & {
	launched: Launched;
	run: Loaded["run"];
	budget: Budget;
	progress: Progress;
};

/**
 * Where a run continues: at its stored position, or where it ended before a retry. It starts over if the destination or
 * the query has changed.
 */
function positionOf(run: Loaded["run"], fingerprint: string) {
	const { cursor, records_completed, records_total_count } = run;
	const { bytes, unfit_values } = run;
	if (hasChanged(run, fingerprint))
		return {
			state: null,
			cursor: null,
			records_completed: 0,
			records_total_count: null,
			bytes: 0,
			unfit_values: 0,
		};
	const state = run.state ?? run.resume_state;
	return {
		state,
		cursor,
		records_completed,
		records_total_count,
		bytes,
		unfit_values,
	};
}

const hasChanged = (run: Loaded["run"], fingerprint: string) =>
	run.fingerprint !== null && run.fingerprint !== fingerprint;

/** The log entry for a second or later attempt, or for a run that starts over; null if there is nothing to log. */
function describeStart(
	run: Loaded["run"],
	fingerprint: string,
	{ records_completed }: { records_completed: number },
) {
	if (hasChanged(run, fingerprint) && run.cursor !== null)
		return {
			level: "WARNING" as const,
			message:
				"The destination or the query has changed since the run began, so it starts over. What it has already written is not removed.",
		};
	if (run.status !== "Starting" || run.attempt < 2) return null;
	return {
		level: "INFO" as const,
		message:
			records_completed > 0
				? `Attempt ${run.attempt} continues after ${pluralize(records_completed, "row")}.`
				: `Attempt ${run.attempt} starts with the first row.`,
	};
}

/** Writes pages of rows to the destination. True if the run has ended, false if there is more to do. */
async function transferRows(
	env: Env,
	{ destination, selection, job, fingerprint, launched, run, budget, progress }: Part,
): Promise<boolean> {
	const db = drizzle(env.DB);
	using resources = new DisposableStack();
	const source = sourceOf(env);
	resources.defer(() => source.release?.());
	const position = positionOf(run, fingerprint);
	let { state, records_completed, records_total_count, bytes, unfit_values } = position;
	Object.assign(progress, { records_completed, bytes, unfit_values });
	let updatedAt = Date.now();
	/** @throws Superseded if the run was cancelled or another attempt has taken over, after cleaning up */
	const update = async (set: Partial<typeof batchExportRuns.$inferInsert>) => {
		updatedAt = Date.now();
		const { meta } = await db
			.update(batchExportRuns)
			.set({ ...set, last_updated_at: now() })
			.where(isCurrent(launched));
		if (meta.changes > 0) return;
		await clean(env, run.id, state);
		throw new Superseded();
	};
	await update({
		...(position.state !== run.state && position),
		...(position.cursor !== run.cursor && position),
		status: "Running",
		next_try_at: null,
		started_at: progress.started_at,
		fingerprint,
		resume_state: null,
	});
	const entry = describeStart(run, fingerprint, position);
	if (entry) await db.insert(batchExportLogEntries).values({ ...logOf(run), ...entry });
	const after: Position | null =
		position.cursor === null ? null : Cursor.parse(JSON.parse(position.cursor));
	let page = after?.length === END.length ? null : await source.page(selection, after);
	if (records_total_count === null) {
		const isOnlyPage = after === null && page?.next === null;
		records_total_count = isOnlyPage ? (page?.rows.length ?? 0) : await source.count(selection);
		if (!isOnlyPage) await update({ records_total_count });
	}
	const sink = await destination.open(job, state, async (kept, isProgress) => {
		state = kept;
		if (isProgress) progress.tries = 0;
		await update({ state, tries: progress.tries });
	});
	resources.defer(() => sink.release?.());
	let isFresh = false;
	/** Whether all rows that were read are in `state` or at the destination. */
	let isKept = true;
	while (page) {
		const { next, unfit }: Page = page;
		const count: number = page.rows.length;
		budget.pages -= 1;
		records_completed += count;
		bytes += sum(page.rows.map(bytesOf));
		unfit_values += unfit;
		const kept = count > 0 ? await sink.write(page.rows) : null;
		// No two pages are in memory.
		page = null;
		isFresh = kept !== null;
		if (count > 0) isKept = isFresh;
		if (kept !== null) {
			state = kept;
			const figures = { records_completed, bytes, unfit_values, tries: 0 };
			Object.assign(progress, figures);
			const cursor = JSON.stringify(next ?? END);
			await update({ state, cursor, ...figures });
			if (next && isSpent(budget)) return false;
		} else if (next && isKept && isSpent(budget)) {
			// A query's condition may filter out all rows of a step.
			await update({ cursor: JSON.stringify(next) });
			return false;
		} else if (Date.now() - updatedAt > HEARTBEAT_MS) await update({});
		page = next && (await source.page(selection, next));
	}
	// `close` makes files appear, so check first that this attempt is still the current one.
	if (!isFresh) await update({});
	const files = await sink.close();
	await end(env, launched, run, {
		...progress,
		status: "Completed",
		latest_error: null,
		records_completed,
		records_total_count,
		bytes,
		unfit_values,
		files,
	});
	return true;
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

const Cursor = z.array(z.string());

/** The message of an error, without the SQL and the values of a statement. */
const reason = (error: unknown): string => {
	if (error instanceof DrizzleQueryError) return reason(error.cause);
	return error instanceof Error ? error.message || error.name : String(error);
};

/**
 * Ends a run after its step has failed at every retry.
 * @returns the next run of the series; null if there is none
 */
export async function giveUp(env: Env, launched: Launched, error: unknown): Promise<Turn | null> {
	const loaded = await load(drizzle(env.DB), launched.run_id);
	if (!loaded) return null;
	const latest_error = reason(error).slice(0, MAX_ERROR_LENGTH);
	const status = "FailedRetryable";
	const { run } = loaded;
	await end(env, launched, run, {
		...run,
		started_at: run.started_at ?? now(),
		status,
		latest_error,
	});
	const next = await afterRun(env, launched);
	return next && { ...next, wait_ms: 0 };
}

/** Leaves a run to the next tick, which starts another instance. */
const release = async (env: Env, launched: Launched) => {
	await drizzle(env.DB)
		.update(batchExportRuns)
		.set({ launched: false, last_updated_at: now() })
		.where(isCurrent(launched));
};

/**
 * Follows up on a run that has ended: pauses the export if too many runs have failed, and adds the backfill's next run.
 * @returns the next run of the series; null if there is none, or if another attempt has taken over
 */
export async function afterRun(env: Env, { run_id, attempt }: Launched): Promise<Launched | null> {
	const db = drizzle(env.DB);
	const loaded = await load(db, run_id);
	if (loaded?.run.attempt !== attempt || loaded.run.finished_at === null) return null;
	const { status, backfill_id } = loaded.run;
	if (status === "Failed") await pauseIfFailing(env, loaded.batchExport);
	if (backfill_id !== null) await advance(db, backfill_id);
	return claimNext(db, loaded.run);
}
