import { sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { pluginJobs } from "../db/schema.ts";

/*
 * How organizations take turns: a waiting job has a turn, the lowest that waits at that moment or the one after its
 * organization's last, and jobs are taken by turn, so that one waits for at most one job of each other organization.
 * A message names no job: it wakes a consumer, which takes the job whose turn it is and passes the message on while
 * more wait, so it doesn't matter how many messages whose jobs have sent. Messages may be lost or pile up: the schedule
 * sends new ones every minute, and a consumer ignores those that are older than two minutes.
 */

/** As many messages as a queue takes at once. Where more jobs wait, consumers are awake already. */
export const MAX_WAKE_UPS = 100;
const MAX_MESSAGE_AGE_MS = 120_000;

/** A job waits. The status is not a bound value, so that the partial indexes can serve the statement. */
export const isWaiting = sql`${pluginJobs.status} = 'queued'`;

/** The id of the job whose turn it is, in a statement. */
export const nextId = sql<number>`(select id from plugin_jobs where status = 'queued' order by turn, id limit 1)`;

/** The statement that counts the jobs that wait, up to one more than `MAX_WAKE_UPS`. */
export const countWaiting = (db: Database) =>
	db.select({ waiting: sql<number>`count(*)` }).from(
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(isWaiting)
			.limit(MAX_WAKE_UPS + 1)
			.as("waiting"),
	);

/** Wakes as many consumers as there are jobs that wait, if the queue can have them: `MAX_WAKE_UPS` at most. */
export async function wake({ JOBS }: Env, waiting: number) {
	const messages = Array.from({ length: Math.min(waiting, MAX_WAKE_UPS) });
	if (messages.length > 0) await JOBS.sendBatch(messages.map(() => ({ body: {} })));
}

/** Whether a message is too old to wake anybody. */
export const isStale = ({ timestamp }: Message) =>
	Date.now() - timestamp.getTime() > MAX_MESSAGE_AGE_MS;
