import { and, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Database, deleteOlderThan } from "../db/client.ts";
import { PLUGINS_CONFIG } from "../db/levels.ts";
import { appendEach, deleteExpired } from "../db/log.ts";
import { iso } from "../db/now.ts";
import { pluginJobs } from "../db/schema/jobs.ts";
import { pluginConfigs, pluginLogs } from "../db/schema/plugin_configs.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../http/durations.ts";
import { forEach, inTurn } from "../log/parts.ts";
import { PLUGIN_LOGS } from "./log_entries.ts";
import { countWaiting, wake } from "./queue.ts";
import { fail } from "./work.ts";

/** A job that has been running for longer than this counts as lost. */
const LOST_MS = 30_000;
const RETENTION_MS = 7 * DAY_MS;
/** An organization's limit, both for tasks queued in one minute and for waiting tasks. */
const MAX_TASKS_PER_MINUTE = 1000;
/** The number of lost jobs that a tick marks as failed. Each needs five statements. */
const GIVE_UP_BATCH_SIZE = 20;
/** The maximum number of configs whose logs get an entry about dropped tasks in a tick. */
const MAX_DROPPED_ENTRIES = 10_000;
/** Keeps the JSON of a batch well below D1's 2 MB limit for a value. */
const ENTRIES_BATCH_SIZE = 1000;

/** The name of a part of the tick, for the log. */
const CUT_OFF = "plugin jobs that were cut off";

/** The interval of a task in milliseconds, by the prefix of its name. */
const INTERVALS = Object.entries({
	runEveryMinute: MINUTE_MS,
	runEveryHour: HOUR_MS,
	runEveryDay: DAY_MS,
});

/** Returns when the current minute, hour and day began, with the name prefix of their tasks. */
const slots = (at: number) =>
	INTERVALS.map(([name, length]) => ({
		name,
		begun: iso(at - (at % length)),
	}));

/**
 * A common table expression: the tasks of enabled configs that haven't been queued for the current
 * minute, hour or day.
 */
const due = (at: number) => sql`due as (
	select distinct c.id as config, c.project_id, c.plugin_id, c.organization_id, task.value as name,
		slot.key as length, slot.value ->> 'begun' as begun
	from plugins as p join plugin_configs as c on c.plugin_id = p.id and p.capabilities ->> '$.scheduled_tasks' is not null
	join organizations as o on o.id = c.organization_id and o.plugins_access_level >= ${PLUGINS_CONFIG},
	json_each(p.capabilities, '$.scheduled_tasks') as task, json_each(${JSON.stringify(slots(at))}) as slot
	where c.enabled and not c.deleted and c.enabled_at <= slot.value ->> 'begun'
		and substr(task.value, 1, length(slot.value ->> 'name')) = slot.value ->> 'name'
		and not exists (select 1 from plugin_jobs as j
			where j.plugin_config_id = c.id and j.name = task.value and j.scheduled_for = slot.value ->> 'begun'))`;

/**
 * Queues the tasks that are due, daily and hourly ones first. For each organization, at most
 * `MAX_TASKS_PER_MINUTE` tasks are queued in one minute, and at most as many can wait.
 */
const queueTasks = (db: Database, at: number, minute: string) => {
	const tasks = sql`select count(*) from plugin_jobs as j
		where j.organization_id = due.organization_id and j.kind = 'task'`;
	return db.run(sql`insert or ignore into plugin_jobs (plugin_config_id, kind, name, scheduled_for, status, created_at)
		with ${due(at)}, capacities as materialized (
			select organization_id, ${MAX_TASKS_PER_MINUTE} - max((${tasks} and j.status = 'queued'),
				(${tasks} and j.status in ('queued', 'running', 'done', 'failed') and j.created_at = ${minute})) as capacity
			from (select distinct organization_id from due) as due)
		select config, 'task', name, begun, 'queued', ${minute}
		from (select *, row_number() over (partition by organization_id order by length desc, config, name) as position from due)
		join capacities using (organization_id) where position <= capacity`);
};

type Dropped = { config: number; dropped: number };

/** Counts the tasks of each config that are still due after `queueTasks`, and so are dropped. */
const selectDropped = (db: Database, at: number) =>
	db.all<Dropped>(sql`with ${due(at)}
		select config, dropped from (
			select config, count(*) as dropped,
				row_number() over (partition by organization_id order by config) as position
			from due group by config)
		where position <= ${MAX_TASKS_PER_MINUTE} order by position limit ${MAX_DROPPED_ENTRIES}`);

/** Queues the tasks that are due, and logs in each config how many were dropped. */
async function runTasks(db: Database, at: number) {
	const minute = iso(at - (at % MINUTE_MS));
	await queueTasks(db, at, minute);
	const dropped = await selectDropped(db, at);
	for (let i = 0; i < dropped.length; i += ENTRIES_BATCH_SIZE)
		await logDropped(db, dropped.slice(i, i + ENTRIES_BATCH_SIZE), minute);
}

const formatted = (count: number) => count.toLocaleString("en");

/**
 * Writes one entry for each config and minute, even if the tick runs more than once in that minute.
 */
const logDropped = (db: Database, configs: Dropped[], minute: string) => {
	const { plugin_config_id, position, entries } = pluginLogs;
	const at = Date.parse(minute);
	return appendEach(
		db,
		PLUGIN_LOGS,
		configs.map(({ config, dropped }) => ({
			owner: config,
			entry: {
				timestamp: minute,
				source: "SYSTEM",
				level: "WARN",
				message: `${formatted(dropped)} ${dropped === 1 ? "task was" : "tasks were"} dropped: an organization can start ${formatted(MAX_TASKS_PER_MINUTE)} tasks a minute.`,
			},
		})),
		sql`not exists (select 1 from ${pluginLogs}, json_each(${entries}) as written
			where ${plugin_config_id} = json_each.value ->> 'owner' and ${position} >= ${at}
			and written.value ->> 0 = ${at} and written.value ->> 1 = 'WARN')`,
	);
};

/**
 * Runs every minute:
 * - Queues each task once for the current minute, hour or day. A task is queued even if the tick at
 *   the beginning of that period was missed, but not if the period began before the config was
 *   enabled.
 * - Starts consumers for waiting jobs.
 * - Marks jobs that a restart interrupted as failed. They don't run again.
 * - Deletes old log entries and jobs.
 */
export async function tick(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	await inTurn({
		"plugin tasks": () => runTasks(db, scheduledTime),
		"waking workers": () => wakeConsumers(env, db),
		[CUT_OFF]: () => failLost(env, db),
		"old plugin jobs": () => deleteOld(db, scheduledTime),
	});
}

async function wakeConsumers(env: Env, db: Database) {
	const [counted] = await countWaiting(db);
	await wake(env, counted?.waiting ?? 0);
}

/**
 * Marks jobs that a restart interrupted as failed, those that have been running for longest first.
 */
async function failLost(env: Env, db: Database) {
	const lost = await db
		.select({ id: pluginJobs.id })
		.from(pluginJobs)
		.where(
			and(
				sql`${pluginJobs.status} = 'running'`,
				lt(pluginJobs.started_at, iso(Date.now() - LOST_MS)),
			),
		)
		.orderBy(pluginJobs.started_at)
		.limit(GIVE_UP_BATCH_SIZE);
	await forEach(CUT_OFF, lost, ({ id }) =>
		fail(env, id, "The job was interrupted by a restart. It isn't run again."),
	);
}

async function deleteOld(db: Database, at: number) {
	const cutoff = iso(Date.now() - RETENTION_MS);
	await db.batch([
		deleteExpired(db, PLUGIN_LOGS, pluginConfigs, at),
		deleteOlderThan(db, pluginJobs, pluginJobs.id, pluginJobs.finished_at, cutoff),
	]);
}
