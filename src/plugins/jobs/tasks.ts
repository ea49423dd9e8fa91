import { eq, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { PLUGINS_CONFIG } from "../../db/schema/levels.ts";
import { pluginConfigs, pluginJobs, taskMinutes } from "../../db/schema/plugins.ts";
import { appendEach, deleteExpired } from "../../db/stored_log.ts";
import { forEachLogged, runSequentially } from "../../lib/background.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS } from "../../lib/time.ts";
import { countWaiting, newTurn, startConsumers } from "./queue.ts";
import { PLUGIN_LOGS } from "./run_log.ts";
import { fail, findLost } from "./work.ts";

/** An organization's limit, both for tasks queued in one minute and for waiting tasks. */
const MAX_TASKS_PER_MINUTE = 1000;
/** The number of lost jobs that a tick ends. Each needs four statements. */
const GIVE_UP_BATCH_SIZE = 20;
/** The dropped daily and hourly tasks that the next tick tries again, and how long names can be. */
const MAX_RETRIED = 2000;
const MAX_RETRIED_NAME = 200;
/** The configs whose logs get an entry about dropped tasks. */
const MAX_DROPPED_ENTRIES = 10_000;
/** Keeps the JSON of a batch well below D1's 2 MB limit for a value. */
const ENTRIES_BATCH_SIZE = 1000;

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
 * Common table expressions. `due`: the tasks whose minute, hour or day has begun since the last
 * tick, and the daily and hourly ones that it dropped, ranked within their organization, these
 * first. `capacities`: how many an organization can queue, and the turn of the first.
 */
const ranked = (at: number, minute: string, last: SQL) => sql`due as materialized (
		select *, row_number() over (partition by organization_id order by length desc, config, name) as rank
		from (select distinct c.id as config, c.organization_id, task.value as name,
				slot.key as length, slot.value ->> 'begun' as begun
			from plugins as p join plugin_configs as c on c.plugin_id = p.id and p.capabilities ->> '$.scheduled_tasks' is not null
			join organizations as o on o.id = c.organization_id and o.plugins_access_level >= ${PLUGINS_CONFIG} and o.moving is null,
			json_each(p.capabilities, '$.scheduled_tasks') as task, json_each(${JSON.stringify(slots(at))}) as slot
			where c.enabled and not c.deleted and c.enabled_at <= slot.value ->> 'begun'
				and substr(task.value, 1, length(slot.value ->> 'name')) = slot.value ->> 'name'
				and ${minute} > ${last} and (slot.value ->> 'begun' > ${last} or (c.id, task.value, slot.value ->> 'begun') in (
					select value ->> 'config', value ->> 'name', value ->> 'begun' from task_minutes, json_each(dropped))))),
	capacities as materialized (
		select organization_id, ${newTurn(sql`it.organization_id`)} as turn, ${MAX_TASKS_PER_MINUTE}
			- (select count(*) from plugin_jobs as j where j.organization_id = it.organization_id and j.kind = 'task') as capacity
		from (select distinct organization_id from due) as it)`;

/**
 * Queues the tasks that are due, unless a tick has queued those of this minute. Returns the configs
 * whose tasks were dropped, with how many, and the dropped tasks that the next tick tries again.
 */
async function queueTasks(db: Database, at: number, minute: string) {
	// A minute that is far ahead was written before the clock was set back.
	const last = sql`coalesce((select minute from task_minutes where minute < ${iso(at + HOUR_MS)}), '')`;
	const tasks = ranked(at, minute, last);
	const dropped = sql`from due join capacities using (organization_id) where rank > capacity`;
	const [configs, retried] = await db.batch([
		db
			.select({
				config: sql<number>`config`,
				dropped: sql<number>`dropped`,
			})
			.from(sql`(with ${tasks}
				select config, count(*) as dropped ${dropped}
				group by config limit ${MAX_DROPPED_ENTRIES})`),
		db
			.select({
				config: sql<number>`config`,
				name: sql<string>`name`,
				begun: sql<string>`begun`,
			})
			.from(sql`(with ${tasks} select config, name, begun ${dropped}
				and length > 0 and length(name) <= ${MAX_RETRIED_NAME} limit ${MAX_RETRIED})`),
		db.insert(pluginJobs).select(sql`with ${tasks}
			select turn + rank - 1, ${pluginJobs.id.default}, organization_id, config, 'task', name, null, null
			from due join capacities using (organization_id) where rank <= capacity`),
		db
			.insert(taskMinutes)
			.values({ id: 1, minute })
			.onConflictDoUpdate({
				target: taskMinutes.id,
				set: { minute, dropped: [] },
				setWhere: sql`${minute} > ${last}`,
			}),
	]);
	return { configs, retried };
}

async function runTasks(db: Database, at: number) {
	const minute = iso(at - (at % MINUTE_MS));
	const { configs, retried } = await queueTasks(db, at, minute);
	if (retried.length > 0)
		await db.update(taskMinutes).set({ dropped: retried }).where(eq(taskMinutes.minute, minute));
	for (let i = 0; i < configs.length; i += ENTRIES_BATCH_SIZE)
		await logDropped(db, configs.slice(i, i + ENTRIES_BATCH_SIZE), minute);
}

const formatted = (count: number) => count.toLocaleString("en");

/** A config whose tasks were dropped, and how many. */
type Dropped = { config: number; dropped: number };

/** Writes one entry for each config. The tasks of a minute are queued, and dropped, once. */
const logDropped = (db: Database, configs: Dropped[], minute: string) =>
	appendEach(
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
		sql`true`,
	);

/**
 * Queues each task once for the current minute, hour or day, even if the tick at its beginning was
 * missed, but not if it began before the config was enabled. Also looks after the other jobs.
 */
export async function runDueTasks(env: Env, scheduledTime: number) {
	const db = drizzle(env.DB);
	await runSequentially({
		"plugin tasks": () => runTasks(db, scheduledTime),
		"waiting plugin jobs": () => startWaiting(env, db),
		[CUT_OFF]: () => failLost(env, db),
		"old entries of plugins": () => deleteExpired(db, PLUGIN_LOGS, pluginConfigs, scheduledTime),
	});
}

async function startWaiting(env: Env, db: Database) {
	const [counted] = await countWaiting(db);
	await startConsumers(env, counted?.waiting ?? 0);
}

async function failLost(env: Env, db: Database) {
	const lost = await findLost(db, GIVE_UP_BATCH_SIZE);
	await forEachLogged(CUT_OFF, lost, (job) =>
		fail(env, job, "The job was interrupted by a restart. It isn't run again."),
	);
}
