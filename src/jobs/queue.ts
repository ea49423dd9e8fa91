import { sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { pluginJobs } from "../db/schema/jobs.ts";
import { MINUTE_MS } from "../http/durations.ts";

/*
 * Organizations take turns: a job gets a turn number when it is queued, and jobs run in the order
 * of these numbers. The number is the lowest number of all waiting jobs, or one more than the
 * number of its organization's last waiting job, whichever is higher. So a job waits for at most
 * one job of each other organization.
 *
 * A message doesn't name a job. It starts a consumer, which runs the next job and, while more jobs
 * wait, sends another message. So it doesn't matter how many messages each organization's jobs
 * sent. Messages can be lost or pile up: the schedule sends new ones every minute, and consumers
 * ignore messages older than two minutes.
 */

/**
 * The maximum number of messages that a queue accepts in one batch. If more jobs wait, consumers
 * are running already.
 */
export const MAX_WAKE_UPS = 100;
const MAX_MESSAGE_AGE_MS = 2 * MINUTE_MS;

/**
 * SQL condition: the job is waiting. The status isn't a bound parameter, because partial indexes
 * match only literals.
 */
export const isWaiting = sql`${pluginJobs.status} = 'queued'`;

/** Subquery for the id of the next job. */
export const nextId = sql<number>`(select id from plugin_jobs where status = 'queued' order by turn, id limit 1)`;

/** Returns a query that counts waiting jobs, up to `MAX_WAKE_UPS` + 1. */
export const countWaiting = (db: Database) =>
	db.select({ waiting: sql<number>`count(*)` }).from(
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(isWaiting)
			.limit(MAX_WAKE_UPS + 1)
			.as("waiting"),
	);

/** Starts one consumer for each waiting job, at most `MAX_WAKE_UPS`. */
export async function wake({ JOBS }: Env, waiting: number) {
	const messages = Array.from({ length: Math.min(waiting, MAX_WAKE_UPS) });
	if (messages.length > 0) await JOBS.sendBatch(messages.map(() => ({ body: {} })));
}

/** Whether a message is too old, so that consumers ignore it. */
export const isStale = ({ timestamp }: Message) =>
	Date.now() - timestamp.getTime() > MAX_MESSAGE_AGE_MS;
