import { sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { pluginJobs } from "../db/schema/jobs.ts";

/*
 * How organizations take turns: a job gets a turn number when it is queued, and jobs run in order
 * of their turns. The number is the lowest one waiting at that moment, or one more than that of its
 * organization's last waiting job, whichever is higher. So a job waits for at most one job of each
 * other organization.
 *
 * A message doesn't name a job. It wakes a consumer, which takes the next job and sends another
 * message while more jobs wait, so it doesn't matter which organization's jobs sent how many
 * messages. Messages may be lost or pile up: the schedule sends new ones every minute, and
 * consumers ignore messages older than two minutes.
 */

/**
 * The most messages that a queue accepts in one batch. If more jobs wait, consumers are awake
 * already.
 */
export const MAX_WAKE_UPS = 100;
const MAX_MESSAGE_AGE_MS = 120_000;

/**
 * Condition: the job waits. The status isn't a bound parameter, because partial indexes only match
 * literals.
 */
export const isWaiting = sql`${pluginJobs.status} = 'queued'`;

/** Subquery for the id of the job whose turn it is. */
export const nextId = sql<number>`(select id from plugin_jobs where status = 'queued' order by turn, id limit 1)`;

/** A query that counts waiting jobs, up to `MAX_WAKE_UPS` + 1. */
export const countWaiting = (db: Database) =>
	db.select({ waiting: sql<number>`count(*)` }).from(
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(isWaiting)
			.limit(MAX_WAKE_UPS + 1)
			.as("waiting"),
	);

/** Wakes one consumer per waiting job, at most `MAX_WAKE_UPS`. */
export async function wake({ JOBS }: Env, waiting: number) {
	const messages = Array.from({ length: Math.min(waiting, MAX_WAKE_UPS) });
	if (messages.length > 0) await JOBS.sendBatch(messages.map(() => ({ body: {} })));
}

/** Whether a message is so old that consumers should ignore it. */
export const isStale = ({ timestamp }: Message) =>
	Date.now() - timestamp.getTime() > MAX_MESSAGE_AGE_MS;
