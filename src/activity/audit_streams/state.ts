/** Claims, stores and releases the state of a stream's deliveries. */

import { and, eq, lte, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { iso, now } from "../../db/now.ts";
import { recordEvent } from "../../db/record.ts";
import { type AuditFile, auditStreams } from "../../db/schema/audit_streams.ts";
import { exponentialBackoff, spread } from "../../delivery/backoff.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../lib/durations.ts";
import { MisconfiguredError, SupersededError } from "../../outbound/errors.ts";
import { reason } from "../../outbound/reason.ts";
import type { Stream } from "./entries.ts";

/** How long a claim of a stream lasts: longer than a delivery takes. */
const CLAIM_MS = 10 * MINUTE_MS;

/** How long temporary errors last before an event is recorded. */
const MAX_FAILING_MS = 6 * HOUR_MS;

/** How long a stream of a deleted organization tries to deliver its last events. */
const MAX_CLOSING_MS = 7 * DAY_MS;

/** How long after the end of an hour its entries may still be committed. */
const SETTLE_MS = 30_000;

/** Returns the end of the last hour whose entries are all committed. */
export function lastHour(at: number) {
	const settled = at - SETTLE_MS;
	return settled - (settled % HOUR_MS);
}

/** Returns the condition for streams that are due, and that no tick has claimed. */
export const isDue = (at: number) =>
	and(
		lte(auditStreams.next_attempt_at, iso(at)),
		or(sql`${auditStreams.claimed_until} is null`, lte(auditStreams.claimed_until, iso(at))),
	);

/** Claims a stream. Returns undefined if another tick was faster. */
export async function claim(db: Database, id: string, at: number) {
	const [stream] = await db
		.update(auditStreams)
		.set({ claim: sql`${auditStreams.claim} + 1`, claimed_until: iso(at + CLAIM_MS) })
		.where(and(eq(auditStreams.id, id), isDue(at)))
		.returning();
	return stream;
}

/** Returns the condition that nobody has claimed or changed the stream since. */
const isCurrent = ({ id, claim }: Stream) =>
	and(eq(auditStreams.id, id), eq(auditStreams.claim, claim));

/**
 * Updates the stream's row.
 * @throws SupersededError if another tick has claimed the stream, or a request has changed, paused or deleted it
 */
async function write(db: Database, stream: Stream, set: Partial<Stream>): Promise<Stream> {
	const [row] = await db.update(auditStreams).set(set).where(isCurrent(stream)).returning();
	if (!row) throw new SupersededError();
	return row;
}

/** Stores the plan of the next file before the file is written; null deletes a stored plan. */
export const storePlan = (db: Database, stream: Stream, file: AuditFile | null) =>
	write(db, stream, { file });

const SUCCEEDED = { tries: 0, failing_since: null, latest_error: null };

/** Records that a file is in the bucket. */
export const recordFile = (db: Database, stream: Stream, file: AuditFile, key: string) =>
	write(db, stream, {
		position: file.to,
		sequence: file.sequence,
		digest: file.digest,
		delivered_events: stream.delivered_events + file.count,
		last_file: key,
		last_delivered_at: now(),
		file: null,
		...SUCCEEDED,
	});

/** Ends the turn of a stream that has more to deliver. It continues with the next tick. */
export async function release(db: Database, stream: Stream, at: number) {
	await write(db, stream, { next_attempt_at: iso(at), claimed_until: null });
}

/** Returns when a stream continues after the hour that ends at `end`: up to five minutes later, depending on its id. */
const startAfter = ({ id }: Stream, end: number) =>
	iso(end + Math.max(SETTLE_MS, spread(id, 5 * MINUTE_MS)));

/** Deletes the stream of an organization that was deleted. */
async function remove(db: Database, stream: Stream) {
	await db.delete(auditStreams).where(isCurrent(stream));
}

/** Ends the turn of a stream that has delivered everything up to the last full hour. It continues after the next one. */
export async function finish(db: Database, stream: Stream, at: number) {
	if (stream.organization_deleted_at !== null) return remove(db, stream);
	const hour = lastHour(at);
	await write(db, stream, {
		delivered_until: iso(hour),
		next_attempt_at: startAfter(stream, hour + HOUR_MS),
		claimed_until: null,
		...SUCCEEDED,
	});
}

/** Returns how long to wait after a temporary error: 1, 2, 4, … minutes up to an hour, or the time in Retry-After. */
const delayAfter = exponentialBackoff({ first: MINUTE_MS, factor: 2, max: HOUR_MS });

/** Returns how long to wait after a failed attempt. An error that the user has to fix is tried again after an hour. */
const pauseAfter = (tries: number, error: unknown) =>
	error instanceof MisconfiguredError ? HOUR_MS : delayAfter(tries, error);

/** Whether the stream of a deleted organization has failed for too long to retry. */
const givesUp = ({ organization_deleted_at }: Stream, at: number) =>
	organization_deleted_at !== null && Date.parse(organization_deleted_at) < at - MAX_CLOSING_MS;

/**
 * Stores the error of a failed attempt and the time of the next one. Records an event at most once a day: immediately for a
 * permanent error, and after some hours for temporary ones.
 */
export async function fail(env: Env, stream: Stream, error: unknown, at: number) {
	const db = drizzle(env.DB);
	if (givesUp(stream, at)) return remove(db, stream);
	const tries = stream.tries + 1;
	const latest_error = reason(error);
	const failing_since = stream.failing_since ?? iso(at);
	const row = await write(db, stream, {
		tries,
		latest_error,
		failing_since,
		next_attempt_at: iso(at + pauseAfter(tries, error)),
		claimed_until: null,
	});
	const isLasting =
		error instanceof MisconfiguredError || Date.parse(failing_since) <= at - MAX_FAILING_MS;
	if (isLasting) await recordFailure(db, row, latest_error, at);
}

/** Records an event, unless the last one is less than a day old. */
async function recordFailure(
	db: Database,
	{ id, name, organization_id }: Stream,
	latest_error: string,
	at: number,
) {
	const { told_at } = auditStreams;
	const tell = db
		.update(auditStreams)
		.set({ told_at: iso(at) })
		.where(
			and(eq(auditStreams.id, id), or(sql`${told_at} is null`, lte(told_at, iso(at - DAY_MS)))),
		);
	await db.batch([
		tell,
		recordEvent(
			db,
			{
				activity: "failed",
				scope: "AuditStream",
				item_id: id,
				name,
				trigger: { error: latest_error },
				organization: sql`${organization_id}`,
				project: sql`null`,
			},
			// The previous statement changed the row.
			sql`changes() > 0`,
		),
	]);
}
