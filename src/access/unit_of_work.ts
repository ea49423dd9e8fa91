import type { Context } from "hono";
import { type Connected, isFailed, type ResultOf, runBatch, type Statement } from "../db/client.ts";
import { recordEach, type SignedEntry } from "../db/record.ts";
import type { App } from "../env.ts";
import { type ApiError, conflict } from "../http/errors.ts";
import { now } from "../lib/time.ts";
import { originOf } from "./origin.ts";
import { enqueueDeliveries, selectWebhooksDue } from "./wake.ts";

export type Answers = Record<string, Statement | undefined>;

/** The parts of a write, in the order in which they run. */
export type Write<A extends Answers = Answers> = {
	/** Assertions (src/db/client.ts): if one fails, nothing is written. */
	checks?: readonly Statement[];
	changes?: readonly Statement[];
	/** Entries for the log. The webhooks of the first one's organization get a message at once. */
	entries?: readonly SignedEntry[];
	/** Changes that come after the entries. */
	afterEntries?: readonly Statement[];
	/** Statements that return rows, by name. */
	answers?: A;
};

/**
 * Ends every write, of requests as well as workers: one atomic batch, in one round trip. Adds the
 * entries, starts the delivery to the webhooks that they make due and, in a request, checks its
 * `Idempotency-Key` and `If-Match`.
 * @param c the request; undefined in a worker
 * @returns the rows of `answers`
 * @throws the error of the check that failed: `retry` repeats the request if it is `is_current`
 */
export function commit<A extends Answers>(
	env: Env,
	db: Connected,
	write: Write<A>,
	c?: Context<App>,
): Promise<{ [K in keyof A]: ResultOf<A[K]> }>;
export async function commit(
	env: Env,
	db: Connected,
	{ checks, changes, entries = [], afterEntries, answers }: Write,
	c?: Context<App>,
): Promise<unknown> {
	const idempotency = c?.get("idempotency");
	const [entry] = entries;
	// `selectWebhooksDue` compares the time of the first entry with that of the last.
	const at = now();
	const origin = c && entry ? originOf(c) : null;
	const signed = entries.map((each) => ({ created_at: at, origin, ...each }));
	const results = await runBatch(db, {
		idempotencyLease: await idempotency?.takeLease(db),
		conditions: c?.get("precondition")?.assertions(db),
		checks,
		changes,
		entries: recordEach(env, db, signed),
		afterEntries,
		webhooksDue: entry && selectWebhooksDue(env, db, entry.organization),
		...answers,
	});
	if (idempotency) {
		idempotency.isWritten = true;
		const { organization, project } = entry ?? {};
		idempotency.about = {
			...(typeof organization === "number" && { organization }),
			...(typeof project === "number" && { project }),
		};
	}
	const sent = enqueueDeliveries(env, results.webhooksDue ?? []);
	if (c) c.executionCtx.waitUntil(sent);
	else await sent;
	return results;
}

/**
 * Repeats a read and a write if what the write depends on has changed between them
 * (`assertExists`).
 * @param retries how often; by default three times (docs/api.md#conflicts)
 * @throws `error` after the last retry, by default a 409
 */
export async function retry<T>(
	attempt: () => Promise<T>,
	{ retries = 3, error = conflict }: { retries?: number; error?: () => ApiError } = {},
): Promise<T> {
	try {
		return await attempt();
	} catch (failure) {
		if (!isFailed(failure, "is_current")) throw failure;
		if (retries === 0) throw error();
		return retry(attempt, { retries: retries - 1, error });
	}
}

/** Like `commit`, for workers: returns undefined, and writes nothing, if `is_current` failed. */
export const commitIfCurrent = <A extends Answers>(env: Env, db: Connected, write: Write<A>) =>
	commit(env, db, write).catch((error: unknown) => {
		if (!isFailed(error, "is_current")) throw error;
		return undefined;
	});
