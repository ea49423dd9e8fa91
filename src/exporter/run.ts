import {
	WorkflowEntrypoint,
	type WorkflowEvent,
	type WorkflowStep,
} from "cloudflare:workers";
import {
	and,
	DrizzleQueryError,
	eq,
	isNotNull,
	isNull,
	sql,
} from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { hiding } from "../auth/secrets.ts";
import { parse } from "../batch_exports/query.ts";
import { opened } from "../batch_exports/secrets.ts";
import type { Database } from "../db/client.ts";
import { batchExportRuns, batchExports, now } from "../db/schema.ts";
import { advance } from "./backfill.ts";
import {
	type Job,
	Misconfigured,
	Superseded,
} from "./destinations/destination.ts";
import { destinationOf } from "./destinations/index.ts";
import { type Launched, launch, waiting } from "./launch.ts";
import { counted, note } from "./log.ts";
import { pauseIfFailing } from "./pause.ts";
import { fieldsOf } from "./rows.ts";
import { sourceOf } from "./sources/index.ts";
import type { Position, Selection } from "./sources/source.ts";

/** Behaviour 11.2. */
const PATIENCE = {
	retries: { limit: 5, delay: "5 seconds", backoff: "exponential" },
	timeout: "30 minutes",
} as const;

/**
 * After so many pages, or so long, a step ends where it can: an instance may take a thousand steps, and slow destinations
 * have to stay far from the timeout.
 */
const PAGES_A_STEP = 100;
const STEP_MS = 5 * 60_000;

/** While nothing is kept, a run says this often that it is alive, and hears whether it is cancelled. */
const HEARTBEAT_MS = 10_000;

const LONGEST_ERROR = 2000;

/** After which what a run left behind is left alone: its bucket is gone, or nobody lets us in. */
const LEFT_ALONE_MS = 7 * 86_400_000;

type Ending = "Completed" | "Failed" | "FailedRetryable";

/** One attempt at a run: a step for each part, until there are no more rows. All it knows is in D1. */
export class ExportRun extends WorkflowEntrypoint<Env, Launched> {
	override async run({ payload }: WorkflowEvent<Launched>, step: WorkflowStep) {
		try {
			for (let n = 1; ; n += 1) {
				const more = await step.do(`part ${n}`, PATIENCE, () =>
					part(this.env, payload),
				);
				if (!more) break;
			}
		} catch (error) {
			await step.do("give up", PATIENCE, () =>
				giveUp(this.env, payload, error),
			);
		}
		await step.do("go on", PATIENCE, () => goOn(this.env, payload));
	}
}

/** In a statement: the run goes on, and in this attempt. */
const mine = ({ run_id, attempt }: Launched) =>
	and(
		eq(batchExportRuns.id, run_id),
		eq(batchExportRuns.attempt, attempt),
		isNull(batchExportRuns.finished_at),
	);

/** The run with its export. */
async function load(db: Database, run_id: string) {
	const [row] = await db
		.select({ run: batchExportRuns, of: batchExports })
		.from(batchExportRuns)
		.innerJoin(
			batchExports,
			eq(batchExports.id, batchExportRuns.batch_export_id),
		)
		.where(eq(batchExportRuns.id, run_id));
	return row;
}

type Loaded = NonNullable<Awaited<ReturnType<typeof load>>>;

/** What the rows are, where they go, and what no one may read of it. */
async function prepare(env: Env, { run, of }: Loaded) {
	const { type, config, secrets } = await opened(env, of.destination);
	const destination = destinationOf(env, type, config);
	const query = of.xql_query === null ? null : parse(of.xql_query).fields;
	const fields = fieldsOf(of.model, query, destination.database);
	const range = {
		team_id: of.project_id,
		model: of.model,
		start: run.data_interval_start,
		end: run.data_interval_end,
	};
	const selection: Selection = {
		...range,
		fields,
		by: run.backfill_id === null ? "ingestion" : "event",
		include_events: namesIn(config.include_events),
		exclude_events: namesIn(config.exclude_events),
	};
	const job: Job = {
		...range,
		run_id: run.id,
		export_id: of.id,
		backfill: run.backfill_id !== null,
		columns: fields,
		identified: fields.some(
			({ expression }) =>
				expression.type === "column" && expression.name === "uuid",
		),
	};
	return { destination, selection, job, secrets };
}

const namesIn = (value: unknown) =>
	Array.isArray(value) ? value.map(String) : [];

/** The cursor of a run whose rows were all taken. */
const END: Position = [];

/**
 * Takes the run up where it was kept last, and on for some pages. True: there is more to do. What can be tried again is
 * thrown; what can't ends the run.
 */
export async function part(env: Env, launched: Launched): Promise<boolean> {
	const db = drizzle(env.DB);
	const loaded = await load(db, launched.run_id);
	if (!loaded) return false;
	let hide = (text: string) => text;
	try {
		const prepared = await prepare(env, loaded);
		if (!prepared.destination.hidesSecrets) hide = hiding(prepared.secrets);
		return await carry(env, launched, loaded.run, prepared);
	} catch (error) {
		if (error instanceof Superseded) return false;
		const why = hide(reason(error)).slice(0, LONGEST_ERROR);
		if (error instanceof Misconfigured) {
			await end(env, launched, "Failed", why);
			return false;
		}
		await db.batch([
			db
				.update(batchExportRuns)
				.set({ latest_error: why, last_updated_at: now() })
				.where(mine(launched)),
			note(db, { ...logOf(loaded.run), level: "WARNING", message: why }),
		]);
		throw new Error(why);
	}
}

async function carry(
	env: Env,
	launched: Launched,
	run: Loaded["run"],
	{ destination, selection, job }: Awaited<ReturnType<typeof prepare>>,
): Promise<boolean> {
	const db = drizzle(env.DB);
	const source = sourceOf(env);
	let { state, records_completed } = run;
	const began = Date.now();
	let heard = began;
	const silent = () => Date.now() - heard > HEARTBEAT_MS;
	/** Throws where the attempt is of no use any more, having cleaned up what it began for a run that has ended. */
	const update = async (set: Partial<typeof batchExportRuns.$inferInsert>) => {
		heard = Date.now();
		const { meta } = await db
			.update(batchExportRuns)
			.set({ ...set, last_updated_at: now() })
			.where(mine(launched));
		if (meta.changes > 0) return;
		await clean(env, run.id, state);
		throw new Superseded();
	};
	await update({ status: "Running" });
	if (run.records_total_count === null)
		await update({ records_total_count: await source.count(selection) });
	const sink = await destination.open(job, state, async (kept) => {
		state = kept;
		await update({ state });
	});
	using resources = new DisposableStack();
	resources.defer(() => sink.release?.());
	let after: Position | null =
		run.cursor === null ? null : Place.parse(JSON.parse(run.cursor));
	for (let pages = 1; after?.length !== END.length; pages += 1) {
		const { rows, next } = await source.page(selection, after);
		after = next ?? END;
		records_completed += rows.length;
		const kept = rows.length > 0 ? await sink.write(rows) : null;
		if (kept !== null) {
			state = kept;
			const cursor = JSON.stringify(after);
			await update({ state, cursor, records_completed });
			const enough = pages >= PAGES_A_STEP || Date.now() - began > STEP_MS;
			if (enough && next) return true;
		} else if (silent()) await update({});
	}
	await update({});
	const files = await sink.close(async () => {
		if (!silent()) return;
		heard = Date.now();
		// Also if it was cancelled by now: what begins to appear appears as a whole, before the clock removes what is left.
		await db
			.update(batchExportRuns)
			.set({ last_updated_at: now() })
			.where(
				and(
					eq(batchExportRuns.id, run.id),
					eq(batchExportRuns.attempt, launched.attempt),
				),
			);
	});
	await end(env, launched, "Completed", null, { records_completed, files });
	return false;
}

const Place = z.array(z.string());

/** Why, in words; of a statement, not what it was and held. */
const reason = (error: unknown): string => {
	if (error instanceof DrizzleQueryError) return reason(error.cause);
	return error instanceof Error ? error.message || error.name : String(error);
};

const logOf = ({ id: run_id, batch_export_id }: Loaded["run"]) => ({
	run_id,
	batch_export_id,
});

const SAID = {
	Completed: "INFO",
	Failed: "ERROR",
	FailedRetryable: "ERROR",
} as const;

/** Where the rows went, for the log. */
const whither = (files: string[]) =>
	files.length > 1
		? `, in ${files.length} files from ${files[0]} to ${files.at(-1)}`
		: files.map((file) => `, in ${file}`).join("");

/** Ends the run, once, and tells of it. */
async function end(
	env: Env,
	launched: Launched,
	status: Ending,
	latest_error: string | null,
	done?: { records_completed: number; files: string[] },
) {
	const db = drizzle(env.DB);
	const loaded = await load(db, launched.run_id);
	if (!loaded) return;
	const { run } = loaded;
	const window = `${run.data_interval_start} to ${run.data_interval_end}`;
	const message = done
		? `The run of ${window} is complete: ${counted(done.records_completed, "row")}${whither(done.files)}.`
		: `The run of ${window} failed: ${latest_error}`;
	await db.batch([
		db
			.update(batchExportRuns)
			.set({
				status,
				latest_error,
				finished_at: now(),
				last_updated_at: now(),
				...(done && {
					state: null,
					cursor: null,
					records_completed: done.records_completed,
				}),
			})
			.where(mine(launched)),
		note(db, { ...logOf(run), level: SAID[status], message }),
	]);
	await clean(env, run.id);
}

/** Whatever was tried, it failed. */
export const giveUp = (env: Env, launched: Launched, error: unknown) =>
	end(env, launched, "FailedRetryable", reason(error));

/**
 * Removes what a run that ended left unfinished at its destination. What can't be removed now stays to be removed.
 * @param latest its state, where that could not be kept any more
 */
export async function clean(env: Env, run_id: string, latest?: unknown) {
	const db = drizzle(env.DB);
	const loaded = await load(db, run_id);
	const ended = loaded?.run.finished_at;
	if (!ended || loaded.run.status === "Completed") return;
	const { run } = loaded;
	const state = latest ?? run.state;
	if (state === null) return;
	const tried = await prepare(env, loaded)
		.then(({ destination, job }) => destination.abort(job, state))
		.then(
			() => true,
			() => false,
		);
	const done = tried || Date.now() - Date.parse(ended) > LEFT_ALONE_MS;
	await db
		.update(batchExportRuns)
		.set({ state: done ? null : state, last_updated_at: now() })
		.where(
			and(
				eq(batchExportRuns.id, run_id),
				eq(batchExportRuns.attempt, run.attempt),
				isNotNull(batchExportRuns.finished_at),
			),
		);
}

/** What is to come after the run: a pause if it was one failure too many, the next of its series. */
export async function goOn(env: Env, { run_id }: Launched) {
	const db = drizzle(env.DB);
	const loaded = await load(db, run_id);
	if (!loaded) return;
	const { status, backfill_id, batch_export_id } = loaded.run;
	if (status === "Failed") await pauseIfFailing(env, loaded.of);
	if (backfill_id !== null) await advance(db, backfill_id);
	await launch(
		env,
		sql`${batchExportRuns.batch_export_id} = ${batch_export_id} and ${waiting}`,
	);
}
