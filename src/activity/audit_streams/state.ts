/** How a worker takes a stream, stores its progress and ends its turn. */
import { and, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { assertExists, type Database } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import { type AuditFile, auditStreams } from "../../db/schema/audit_streams.ts";
import { deletions } from "../../db/schema/deletions.ts";
import { backoff, retryAfterOf, spread } from "../../delivery/backoff.ts";
import { isDue, isHeld, NO_LEASE, newLease } from "../../delivery/lease.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS, now } from "../../lib/time.ts";
import { MisconfiguredError, reason, SupersededError } from "../../outbound/errors.ts";
import type { Stream } from "./entries.ts";

/** The length of a lease: longer than a turn takes. */
const LEASE_MS = 10 * MINUTE_MS;

/** How long temporary errors last before an event is recorded. */
const MAX_FAILING_MS = 6 * HOUR_MS;

/** How long a stream of a deleted organization tries to deliver its last events. */
const MAX_CLOSING_MS = 7 * DAY_MS;

/** How long after the end of an hour its entries may still be committed. */
const SETTLE_MS = 30_000;

/** The delays after temporary errors. */
const delayAfter = backoff([1, 2, 4, 8, 16, 32, 60].map((minutes) => minutes * MINUTE_MS));

const SUCCEEDED = { attempts: 0, failing_since: null, latest_error: null };

/** Returns the end of the last hour whose entries are all committed. */
export function lastHour(at: number) {
	const settled = at - SETTLE_MS;
	return settled - (settled % HOUR_MS);
}

/** Takes a lease on a stream that is due. Returns undefined if another tick was faster. */
export async function take(db: Database, id: string, at: number) {
	const [stream] = await db
		.update(auditStreams)
		.set(newLease(auditStreams, iso(at + LEASE_MS)))
		.where(and(eq(auditStreams.id, id), isDue(auditStreams, at)))
		.returning();
	return stream;
}

const isMine = ({ id, lease }: Stream) => and(eq(auditStreams.id, id), isHeld(auditStreams, lease));

/**
 * Updates the stream's row.
 * @throws SupersededError if another tick has a lease, or a request has changed, paused or deleted
 * the stream
 */
async function write(db: Database, stream: Stream, set: Partial<Stream>): Promise<Stream> {
	const [row] = await db.update(auditStreams).set(set).where(isMine(stream)).returning();
	if (!row) throw new SupersededError();
	return row;
}

/**
 * A file that was delivered, its key (null if the sink has no files), and the time of the tick that
 * delivered it.
 */
type Delivered = { file: AuditFile; key: string | null; at: number };

/** Stores the plan of the next file before the file is written; null deletes a stored plan. */
export const storePlan = (db: Database, stream: Stream, file: AuditFile | null) =>
	write(db, stream, { file });

/** The event of a file (docs/audit.md#the-head-is-an-event). */
const deliveredEvent = (stream: Stream, { file, key, at }: Delivered) => ({
	...bySystem({
		activity: "delivered",
		scope: "AuditStream",
		item_id: stream.id,
		name: stream.name,
		trigger: {
			file: key,
			sequence: file.sequence,
			first: stream.delivered_events + 1,
			last: stream.delivered_events + file.count,
			digest: file.digest,
			signature: file.signature,
		},
		organization: stream.organization_id,
		project: null,
	}),
	// After the hours that the tick delivers.
	created_at: iso(Math.max(at, Date.now())),
});

/**
 * Records that a file was delivered, and tells its head with an event, unless nobody is left who
 * could read it.
 * @throws SupersededError as `write`
 */
export async function recordFile(env: Env, stream: Stream, delivered: Delivered) {
	const { file, key } = delivered;
	const db = drizzle(env.DB);
	const set = {
		position: file.to,
		sequence: file.sequence,
		digest: file.digest,
		delivered_events: stream.delivered_events + file.count,
		last_file: key,
		last_delivered_at: now(),
		file: null,
		...SUCCEEDED,
	};
	const isAnnounced = file.is_announced && stream.organization_deleted_at === null;
	const recorded = await commitIfCurrent(env, db, {
		checks: [assertExists(db, auditStreams, isMine(stream))],
		changes: [db.update(auditStreams).set(set).where(eq(auditStreams.id, stream.id))],
		entries: isAnnounced ? [deliveredEvent(stream, delivered)] : [],
		answers: { row: db.select().from(auditStreams).where(eq(auditStreams.id, stream.id)) },
	});
	const [row] = recorded?.row ?? [];
	if (!row) throw new SupersededError();
	return row;
}

/** Ends the turn of a stream that has more to deliver. It continues with the next tick. */
export const endTurn = (db: Database, stream: Stream, at: number) =>
	write(db, stream, { ...NO_LEASE, next_attempt_at: iso(at) });

/** Ends the stream of an organization that was deleted. It waits as long as that can be restored. */
async function end(db: Database, stream: Stream) {
	const { organization_id } = stream;
	const isKept = sql`exists (select 1 from ${deletions}
		where ${deletions.organization_id} = ${organization_id} and ${deletions.type} = 'organization')`;
	await db.batch([
		db.delete(auditStreams).where(and(isMine(stream), sql`not ${isKept}`)),
		db
			.update(auditStreams)
			.set({ ...NO_LEASE, next_attempt_at: null })
			.where(isMine(stream)),
	]);
}

/**
 * Ends the turn of a stream that has delivered everything up to the last full hour. It continues up
 * to five minutes after the next one, depending on its id.
 */
export async function finish(db: Database, stream: Stream, at: number) {
	if (stream.organization_deleted_at !== null) return end(db, stream);
	const hour = lastHour(at);
	const wait = Math.max(SETTLE_MS, spread(stream.id, 5 * MINUTE_MS));
	await write(db, stream, {
		...NO_LEASE,
		...SUCCEEDED,
		delivered_until: iso(hour),
		next_attempt_at: iso(hour + HOUR_MS + wait),
	});
}

/**
 * Stores the error of a failed attempt and the time of the next one: after an hour if the user has
 * to fix the error. Records an event at most once a day: immediately for such an error, and after
 * some hours for temporary ones. The stream of a deleted organization ends if it has failed
 * for too long.
 */
export async function fail(env: Env, stream: Stream, error: unknown, at: number) {
	const db = drizzle(env.DB);
	const { organization_deleted_at: deleted } = stream;
	if (deleted !== null && Date.parse(deleted) < at - MAX_CLOSING_MS) return end(db, stream);
	const isPermanent = error instanceof MisconfiguredError;
	const attempts = stream.attempts + 1;
	const delay = isPermanent ? HOUR_MS : delayAfter(attempts, retryAfterOf(error));
	const failing_since = stream.failing_since ?? iso(at);
	const { last_notified_at: notified } = stream;
	const notifies =
		(isPermanent || Date.parse(failing_since) <= at - MAX_FAILING_MS) &&
		(notified === null || Date.parse(notified) <= at - DAY_MS);
	const latest_error = reason(error);
	const failure = bySystem({
		activity: "failed",
		scope: "AuditStream",
		item_id: stream.id,
		name: stream.name,
		trigger: { error: latest_error },
		organization: stream.organization_id,
		project: null,
	});
	const set = {
		...NO_LEASE,
		attempts,
		latest_error,
		failing_since,
		next_attempt_at: iso(at + delay),
		...(notifies && { last_notified_at: iso(at) }),
	};
	await commitIfCurrent(env, db, {
		checks: [assertExists(db, auditStreams, isMine(stream))],
		changes: [db.update(auditStreams).set(set).where(eq(auditStreams.id, stream.id))],
		entries: notifies ? [failure] : [],
	});
}
