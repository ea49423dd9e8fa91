import { isNull, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { notMoving } from "../../db/schema/organizations.ts";
import { pluginJobs } from "../../db/schema/plugins.ts";
import { MINUTE_MS } from "../../lib/time.ts";

/*
 * The order of jobs is the primary key of `plugin_jobs`. Organizations take turns: a job's turn is
 * that of the next waiting job, or one more than that of its organization's last job, whichever is
 * higher (docs/internals/decisions/0006-jobs-outbox.md).
 *
 * A message names no job. It starts a consumer, which runs the next job and, while more wait, sends
 * another message. Messages can be lost or pile up: the schedule sends new ones every minute, and
 * consumers ignore old ones.
 */

/** The messages that a queue accepts in one batch. If more jobs wait, consumers are running. */
export const MAX_CONSUMERS = 100;
const MAX_MESSAGE_AGE_MS = 2 * MINUTE_MS;

/** SQL condition: the job is waiting. */
export const isWaiting = isNull(pluginJobs.lease_expires_at);

const next = (columns: SQL) =>
	sql`(select ${columns} from plugin_jobs where lease_expires_at is null
		and ${notMoving(sql`organization_id`)} order by turn, id limit 1)`;

/** SQL condition: the job is the next one. */
export const isNext = sql`(${pluginJobs.turn}, ${pluginJobs.id}) = ${next(sql`turn, id`)}`;

/** SQL for the turn of the next waiting job; if there is none, of the last one that started. */
export const currentTurn = sql`coalesce(${next(sql`turn`)}, (select max(turn) from plugin_jobs), 0)`;

/** SQL for the turn of an organization's new job. */
export const newTurn = (organization: SQL) =>
	sql<number>`max(${currentTurn}, coalesce((select max(turn) + 1 from plugin_jobs where organization_id = ${organization}), 0))`;

/** Returns a query that counts waiting jobs, up to `MAX_CONSUMERS` + 1. */
export const countWaiting = (db: Database) =>
	db.select({ waiting: sql<number>`count(*)` }).from(
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(isWaiting)
			.orderBy(pluginJobs.turn, pluginJobs.id)
			.limit(MAX_CONSUMERS + 1)
			.as("waiting"),
	);

/** Starts one consumer for each waiting job, at most `MAX_CONSUMERS`. */
export async function startConsumers({ JOBS }: Env, waiting: number) {
	const messages = Array.from({ length: Math.min(waiting, MAX_CONSUMERS) });
	if (messages.length > 0) await JOBS.sendBatch(messages.map(() => ({ body: {} })));
}

/** Whether a message is too old, so that consumers ignore it. */
export const isStale = ({ timestamp }: Message) =>
	Date.now() - timestamp.getTime() > MAX_MESSAGE_AGE_MS;
