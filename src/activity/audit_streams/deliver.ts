/** Delivers the streams that are due (docs/audit.md). */

import { asc } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import * as z from "zod";
import { countStatements } from "../../db/client.ts";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { isDue } from "../../delivery/lease.ts";
import { logWarning } from "../../lib/log.ts";
import { iso } from "../../lib/time.ts";
import { SupersededError } from "../../outbound/errors.ts";
import type { Stream } from "./entries.ts";
import { nextFile, plannedFile } from "./file.ts";
import { streamCipher } from "./queries.ts";
import { opened, openSink } from "./sinks/index.ts";
import type { File, Sink } from "./sinks/sink.ts";
import { endTurn, fail, finish, lastHour, recordFile, storePlan, take } from "./state.ts";

/** How many streams an invocation delivers at a time. */
const CONCURRENCY = 6;

/**
 * How long an invocation starts further streams before it starts another invocation with a message.
 * It has thirty seconds in all, and a request to a bucket or server can take twenty.
 */
const MAX_INVOCATION_MS = 10_000;

/** Until then after a tick, invocations start further streams: shortly before the next tick. */
const MAX_TICK_MS = 45_000;

/**
 * After this many statements, an invocation starts no further streams or files
 * (docs/internals/scale.md#what-one-tick-does). So it starts at most this many streams. D1 allows
 * 1,000 statements per invocation.
 *
 * Each stream that has started by then may need 32 more: 1 to take it; 25 for a file (2 to plan it,
 * 1 to survey its entries, at most 15 pages, 1 for the signing key, 1 to store the plan and 5 to
 * record the file with its event); 1 to end its turn; 5 if that fails.
 */
const MAX_STATEMENTS = 800;

/** The maximum number of files of a stream per tick. */
const MAX_FILES = 5;

/** How long to wait for a response of a bucket or server, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** Later than any entry: the end of the entries for a stream whose organization was deleted. */
const FOREVER = "9999-12-31T23:59:59.999Z";

const Message = z.object({ audit_streams: z.int() });

/**
 * Delivers the streams that were due when the message was sent, several at a time, so that a slow
 * sink doesn't delay the others.
 * @param message the body of a queue message
 */
export async function deliverDue(workerEnv: Env, message: unknown) {
	const { audit_streams: at } = Message.parse(message);
	const { DB, statements } = countStatements(workerEnv.DB);
	const env = { ...workerEnv, DB };
	const due = await drizzle(env.DB)
		.select({ id: auditStreams.id })
		.from(auditStreams)
		.where(isDue(auditStreams, at))
		.orderBy(asc(auditStreams.next_attempt_at))
		.limit(MAX_STATEMENTS);
	const deadline = performance.now() + MAX_INVOCATION_MS;
	const isLate = () => performance.now() > deadline;
	const isOver = () => isLate() || statements() > MAX_STATEMENTS;
	const queue = due.values();
	const work = async () => {
		for (const { id } of queue) {
			if (isOver()) return;
			await takeTurn(env, id, { at, isOver }).catch((error: unknown) => {
				if (!(error instanceof SupersededError))
					logWarning(
						"The state of an audit stream was not stored; a later tick will retry",
						error,
						{ audit_stream: id },
					);
			});
		}
	};
	await Promise.all(Array.from({ length: Math.min(CONCURRENCY, due.length) }, work));
	if (isLate() && Date.now() < at + MAX_TICK_MS)
		await workerEnv.DELIVERIES.send({ audit_streams: at });
}

/** When a tick started, and whether it must not start anything else. */
type Tick = { at: number; isOver: () => boolean };

/** Delivers the next files of a stream, unless another tick has a lease. */
async function takeTurn(env: Env, id: string, tick: Tick) {
	const { at } = tick;
	const stream = await take(drizzle(env.DB), id, at);
	if (!stream) return;
	try {
		await deliver(env, stream, tick);
	} catch (error) {
		if (error instanceof SupersededError) throw error;
		await fail(env, stream, error, at);
	}
}

async function deliver(env: Env, taken: Stream, { at, isOver }: Tick) {
	const db = drizzle(env.DB);
	const destination = await opened(streamCipher(env, taken.id), taken.destination);
	const sink = await openSink(env, { ...taken, destination }, TIMEOUT_MS);
	let stream = taken;
	for (let files = 0; files === 0 || (files < MAX_FILES && !isOver()); files += 1) {
		const next = await deliverNext({ env, sink, at, isOver }, stream);
		if (!next) return finish(db, stream, at);
		stream = next;
	}
	await endTurn(db, stream, at);
}

type Turn = { env: Env; sink: Sink } & Tick;

/**
 * Writes the next file. Its plan is stored first, so that another attempt writes the same bytes. A
 * stored plan that no longer applies is deleted.
 * @returns the stream after that; null if there is nothing to deliver
 */
async function deliverNext(turn: Turn, stream: Stream) {
	const { env, sink, at } = turn;
	const db = drizzle(env.DB);
	const { file } = stream;
	const until = stream.organization_deleted_at === null ? iso(lastHour(at)) : FOREVER;
	// An earlier attempt may have been interrupted after it wrote the file.
	if (file && (await sink.has(file)))
		return recordFile(env, stream, { file, key: sink.keyOf(file), at });
	const next = await (file ? plannedFile(db, stream, file) : nextFile(env, stream, until));
	if (!next) return file ? storePlan(db, stream, null) : null;
	const key = sink.keyOf(next.plan);
	const planned = await storePlan(db, stream, next.plan);
	if (!file) await sink.has(next.plan);
	return write(turn, planned, { ...next, key });
}

/**
 * Writes a file, or as much of it as fits into the turn. What a server has accepted is stored, so
 * that only what was sent when an attempt is killed is sent again.
 * @returns the stream after that
 */
async function write(
	{ env, sink, at, isOver }: Turn,
	stream: Stream,
	file: File & { key: string | null },
) {
	const db = drizzle(env.DB);
	const { plan, key } = file;
	let { progress } = plan;
	const last = stream.delivered_events + plan.count;
	try {
		for await (progress of sink.write(file, last)) if (isOver()) break;
	} catch (error) {
		if (progress !== plan.progress) await storePlan(db, stream, { ...plan, progress });
		throw error;
	}
	const isWhole = progress?.sent === last;
	return isWhole
		? recordFile(env, stream, { file: plan, key, at })
		: storePlan(db, stream, { ...plan, progress });
}

/** Sends a message if a stream is due, whose delivery has an invocation of its own. */
export async function enqueueDueStreams({ DB, DELIVERIES }: Env, at: number) {
	const due = await drizzle(DB)
		.select({ id: auditStreams.id })
		.from(auditStreams)
		.where(isDue(auditStreams, at))
		.limit(1);
	if (due.length > 0) await DELIVERIES.send({ audit_streams: at });
}
