import { and, asc, eq, inArray, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { PLUGINS_CONFIG } from "../auth/levels.ts";
import { expire } from "../db/client.ts";
import { pluginJobs, pluginLogEntries } from "../db/schema.ts";
import { fail } from "./work.ts";

/** How long a message may be on its way, and a job may run, before either is taken for lost. */
const LOST_MS = 30_000;
const KEPT_MS = 7 * 86_400_000;
const A_TICK = 1000;
/** As many messages as a queue takes at once, and as many jobs as can be given up with Workers' thousand trips to D1. */
const A_BATCH = 100;

const ago = (at: number, milliseconds: number) =>
	new Date(at - milliseconds).toISOString();

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How often the tasks run whose names begin so. */
const EVERY = Object.entries({
	runEveryMinute: MINUTE,
	runEveryHour: HOUR,
	runEveryDay: 24 * HOUR,
});

/** The newest minute, hour and day that has begun, each for its tasks. */
const slots = (at: number) =>
	EVERY.map(([name, length]) => ({
		name,
		begun: new Date(at - (at % length)).toISOString(),
	}));

/**
 * What happens every minute: tasks join the queue once for the newest minute, hour or day, also where the tick at its
 * beginning was missed, but not for one that began before the config was enabled; jobs whose message was lost are sent
 * again; jobs that a restart cut off are given up, and not run again; old entries and jobs are removed.
 */
export async function tick(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	const lost = ago(Date.now(), LOST_MS);
	await db.run(sql`insert or ignore into plugin_jobs (plugin_config_id, kind, name, scheduled_for, status, created_at)
		select c.id, 'task', task.value, slot.value ->> 'begun', 'queued', ${ago(Date.now(), LOST_MS + 1)}
		from plugin_configs as c join plugins as p on p.id = c.plugin_id
		join organizations as o on o.id = c.organization_id and o.plugins_access_level >= ${PLUGINS_CONFIG},
		json_each(p.capabilities, '$.scheduled_tasks') as task, json_each(${JSON.stringify(slots(scheduledTime))}) as slot
		where c.enabled and not c.deleted and c.enabled_at <= slot.value ->> 'begun'
			and substr(task.value, 1, length(slot.value ->> 'name')) = slot.value ->> 'name'`);
	const [waiting, cut] = await db.batch([
		db
			.update(pluginJobs)
			.set({ created_at: new Date().toISOString() })
			.where(
				inArray(
					pluginJobs.id,
					db
						.select({ id: pluginJobs.id })
						.from(pluginJobs)
						.where(
							and(
								eq(pluginJobs.status, "queued"),
								lt(pluginJobs.created_at, lost),
							),
						)
						.orderBy(asc(pluginJobs.created_at))
						.limit(A_TICK),
				),
			)
			.returning({ id: pluginJobs.id }),
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(
				and(eq(pluginJobs.status, "running"), lt(pluginJobs.started_at, lost)),
			)
			.limit(A_BATCH),
	]);
	for (let i = 0; i < waiting.length; i += A_BATCH)
		await env.JOBS.sendBatch(
			waiting.slice(i, i + A_BATCH).map((body) => ({ body })),
		);
	for (const { id } of cut)
		await fail(
			env,
			id,
			"The job was cut off by a restart, and is not run again.",
		);
	const old = ago(Date.now(), KEPT_MS);
	const { timestamp } = pluginLogEntries;
	await db.batch([
		expire(db, pluginLogEntries, pluginLogEntries.id, timestamp, old),
		expire(db, pluginJobs, pluginJobs.id, pluginJobs.finished_at, old),
	]);
}
