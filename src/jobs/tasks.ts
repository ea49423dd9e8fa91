import { and, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { v7 } from "uuid";
import { type Database, deleteOlderThan, insertEach } from "../db/client.ts";
import { PLUGINS_CONFIG } from "../db/levels.ts";
import { pluginJobs, pluginLogEntries } from "../db/schema.ts";
import type { ConfigRef } from "./job_log.ts";
import { countWaiting, wake } from "./queue.ts";
import { fail } from "./work.ts";

/** How long a job may run before it is taken for lost. */
const LOST_MS = 30_000;
const RETENTION_MS = 7 * 86_400_000;
/** How many tasks of an organization may be queued in a minute, and may wait. */
const MAX_TASKS_PER_MINUTE = 1000;
/** As many jobs as can be given up with Workers' thousand trips to D1. */
const GIVE_UP_BATCH_SIZE = 100;
/** As many entries as are well below D1's 2 MB for a value. */
const ENTRIES_BATCH_SIZE = 1000;

const ago = (at: number, milliseconds: number) => new Date(at - milliseconds).toISOString();

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

/** The tasks of enabled configs whose newest minute, hour or day has no row yet, as a common table expression. */
const due = (at: number) => sql`due as (
	select distinct c.id as config, c.project_id, c.plugin_id, c.organization_id, task.value as name,
		slot.key as length, slot.value ->> 'begun' as begun
	from plugin_configs as c join plugins as p on p.id = c.plugin_id
	join organizations as o on o.id = c.organization_id and o.plugins_access_level >= ${PLUGINS_CONFIG},
	json_each(p.capabilities, '$.scheduled_tasks') as task, json_each(${JSON.stringify(slots(at))}) as slot
	where c.enabled and not c.deleted and c.enabled_at <= slot.value ->> 'begun'
		and substr(task.value, 1, length(slot.value ->> 'name')) = slot.value ->> 'name'
		and not exists (select 1 from plugin_jobs as j
			where j.plugin_config_id = c.id and j.name = task.value and j.scheduled_for = slot.value ->> 'begun'))`;

/**
 * Queues the tasks that are due: of each organization as many that it neither queues more than
 * `MAX_TASKS_PER_MINUTE` in the minute nor has more of them waiting; those of a day and of an hour come first.
 */
const queueTasks = (db: Database, at: number, minute: string) => {
	const tasks = sql`select count(*) from plugin_jobs as j
		where j.organization_id = due.organization_id and j.kind = 'task'`;
	return db.run(sql`insert or ignore into plugin_jobs (plugin_config_id, kind, name, scheduled_for, status, created_at)
		with ${due(at)}, rooms as materialized (
			select organization_id, ${MAX_TASKS_PER_MINUTE} - max((${tasks} and j.status = 'queued'),
				(${tasks} and j.status in ('queued', 'running', 'done', 'failed') and j.created_at = ${minute})) as room
			from (select distinct organization_id from due) as due)
		select config, 'task', name, begun, 'queued', ${minute}
		from (select *, row_number() over (partition by organization_id order by length desc, config, name) as place from due)
		join rooms using (organization_id) where place <= room`);
};

/** How many tasks of each config were left out, once the others are queued. */
const selectDropped = (db: Database, at: number) =>
	db.all<ConfigRef & { dropped: number }>(sql`with ${due(at)}
		select team_id, plugin_id, plugin_config_id, dropped from (
			select config as plugin_config_id, project_id as team_id, plugin_id, count(*) as dropped,
				row_number() over (partition by organization_id order by config) as place
			from due group by config)
		where place <= ${MAX_TASKS_PER_MINUTE}`);

/** Queues the tasks that are due, and notes in the logs of their configs that some were dropped. */
async function runTasks(db: Database, at: number) {
	const minute = new Date(at - (at % MINUTE)).toISOString();
	await queueTasks(db, at, minute);
	const dropped = await selectDropped(db, at);
	for (let i = 0; i < dropped.length; i += ENTRIES_BATCH_SIZE)
		await logDropped(db, dropped.slice(i, i + ENTRIES_BATCH_SIZE), minute);
}

const formatted = (count: number) => count.toLocaleString("en");

/** One entry a config and minute, however often the minute's tick comes. */
const logDropped = (db: Database, configs: (ConfigRef & { dropped: number })[], minute: string) =>
	insertEach(
		db,
		pluginLogEntries,
		configs.map(({ dropped, ...place }) => ({
			...place,
			id: v7(),
			timestamp: minute,
			source: "SYSTEM",
			type: "WARN",
			message: `${formatted(dropped)} ${dropped === 1 ? "task was" : "tasks were"} dropped: an organization can start ${formatted(MAX_TASKS_PER_MINUTE)} tasks a minute.`,
			instance_id: v7(),
		})),
		sql`not exists (select 1 from plugin_log_entries as entry where entry.plugin_config_id = value ->> 'plugin_config_id'
			and entry.timestamp = value ->> 'timestamp' and entry.type = value ->> 'type')`,
	);

/**
 * What happens every minute: tasks join the queue once for the newest minute, hour or day, also where the tick at its
 * beginning was missed, but not for one that began before the config was enabled; consumers are woken for the jobs that
 * wait; jobs that a restart cut off are given up, and not run again; old entries and jobs are removed.
 */
export async function tick(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	await runTasks(db, scheduledTime);
	const [[counted], cut] = await db.batch([
		countWaiting(db),
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(
				and(
					sql`${pluginJobs.status} = 'running'`,
					lt(pluginJobs.started_at, ago(Date.now(), LOST_MS)),
				),
			)
			.limit(GIVE_UP_BATCH_SIZE),
	]);
	await wake(env, counted?.waiting ?? 0);
	for (const { id } of cut)
		await fail(env, id, "The job was cut off by a restart, and is not run again.");
	const old = ago(Date.now(), RETENTION_MS);
	const { timestamp } = pluginLogEntries;
	await db.batch([
		deleteOlderThan(db, pluginLogEntries, pluginLogEntries.id, timestamp, old),
		deleteOlderThan(db, pluginJobs, pluginJobs.id, pluginJobs.finished_at, old),
	]);
}
