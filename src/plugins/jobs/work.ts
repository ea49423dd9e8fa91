import { and, eq, exists, inArray, lt, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { commitIfCurrent } from "../../access/unit_of_work.ts";
import { assertExists, type Database } from "../../db/client.ts";
import { bySystem } from "../../db/record.ts";
import { PLUGINS_CONFIG } from "../../db/schema/levels.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { pluginConfigs, pluginJobs, pluginSourceFiles, plugins } from "../../db/schema/plugins.ts";
import { appendAll } from "../../db/stored_log.ts";
import { logWarning } from "../../lib/log.ts";
import { iso, now } from "../../lib/time.ts";
import type { Compiled } from "../compiler/compile.ts";
import { MAIN_FILES } from "../compiler/file_names.ts";
import { compiledColumns, compiledOf } from "../plugins/compiled_file.ts";
import { configCipher, fieldsOf, opened } from "../plugins/config.ts";
import { withResult } from "../plugins/plugin_config.ts";
import { currentTurn, isNext, isWaiting, startConsumers } from "./queue.ts";
import { type Entry, PLUGIN_LOGS, systemEntry } from "./run_log.ts";
import { allowedHosts, run } from "./sandbox.ts";
import { storage } from "./storage.ts";

/**
 * A job that has been running for longer than this was interrupted. It can be compiled twice, for
 * 15 seconds each, and then run for 10 seconds.
 */
const LEASE_MS = 60_000;

/** The primary key of a job. */
type Key = Pick<typeof pluginJobs.$inferSelect, "turn" | "id">;

const byKey = ({ turn, id }: Key) => and(eq(pluginJobs.turn, turn), eq(pluginJobs.id, id));

const remove = (db: Database, key: Key) => db.delete(pluginJobs).where(byKey(key));

/**
 * Takes the next job; undefined if none is waiting. `job` is undefined if its config has been
 * deleted. `more`: whether other jobs are waiting.
 */
async function take(db: Database) {
	const [[job], files, [key], more] = await db.batch([
		db
			.select({
				turn: pluginJobs.turn,
				id: pluginJobs.id,
				kind: pluginJobs.kind,
				name: pluginJobs.name,
				payload: pluginJobs.payload,
				organization_id: pluginJobs.organization_id,
				team_id: pluginConfigs.project_id,
				plugin_id: pluginConfigs.plugin_id,
				plugin_config_id: pluginJobs.plugin_config_id,
				uuid: pluginConfigs.uuid,
				config: pluginConfigs.config,
				generation: pluginConfigs.generation,
				/** Whether another job of the config is running. */
				is_busy: sql<number>`exists (select 1 from plugin_jobs as running
					where running.organization_id = ${pluginJobs.organization_id} and running.turn <= ${pluginJobs.turn}
						and running.plugin_config_id = ${pluginJobs.plugin_config_id} and running.lease_expires_at is not null)`,
				enabled: pluginConfigs.enabled,
				deleted: pluginConfigs.deleted,
				plugins_access_level: organizations.plugins_access_level,
				config_schema: plugins.config_schema,
				capabilities: plugins.capabilities,
			})
			.from(pluginJobs)
			.innerJoin(pluginConfigs, eq(pluginConfigs.id, pluginJobs.plugin_config_id))
			.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
			.innerJoin(organizations, eq(organizations.id, pluginConfigs.organization_id))
			.where(isNext),
		db
			.select(compiledColumns)
			.from(pluginSourceFiles)
			.innerJoin(pluginConfigs, eq(pluginConfigs.plugin_id, pluginSourceFiles.plugin_id))
			.innerJoin(pluginJobs, eq(pluginJobs.plugin_config_id, pluginConfigs.id))
			.where(and(isNext, inArray(pluginSourceFiles.filename, MAIN_FILES))),
		db
			.update(pluginJobs)
			.set({ lease_expires_at: iso(Date.now() + LEASE_MS) })
			.where(isNext)
			.returning({ turn: pluginJobs.turn, id: pluginJobs.id }),
		db
			.select({ id: pluginJobs.id })
			.from(pluginJobs)
			.where(isWaiting)
			.orderBy(pluginJobs.turn, pluginJobs.id)
			.limit(1),
	]);
	if (!key) return undefined;
	const mains = MAIN_FILES.map((name) => files.find(({ filename }) => filename === name));
	return { key, job: job && { ...job, main: mains.find(Boolean) }, more: more.length > 0 };
}

type Job = NonNullable<NonNullable<Awaited<ReturnType<typeof take>>>["job"]>;

/**
 * Returns the isolate that a job shares with earlier jobs of its config
 * (docs/plugins.md#the-sandbox); null if another job of the config is running.
 */
const isolateOf = ({ is_busy, uuid, generation }: Job) =>
	is_busy ? null : `${uuid}:${generation}`;

/** Returns why a queued job can't run anymore; null if it can. */
function whyNotRunnable({ kind, enabled, deleted, plugins_access_level }: Job) {
	if (deleted) return "its config is deleted";
	if (plugins_access_level < PLUGINS_CONFIG)
		return "the organization's plugin access level is insufficient";
	if (kind === "task" && !enabled) return "its config is disabled";
	return null;
}

/** Used if there is no main file. */
const EMPTY: Compiled = { compiled: "", error: null };

/** Starts the next consumer. If that fails, the schedule starts it later. */
const startNext = (env: Env) =>
	startConsumers(env, 1).catch((error: unknown) =>
		logWarning(
			"No consumer was started for the next plugin job; the next tick will start one",
			error,
		),
	);

/** Runs the next job once, and stores its log and result. Does nothing if no job waits. */
export async function work(env: Env) {
	const db = drizzle(env.DB);
	const taken = await take(db);
	if (!taken) return;
	const { key, job, more } = taken;
	if (more) await startNext(env);
	if (!job) return void (await remove(db, key));
	const { kind, name, payload } = job;
	const skip = (reason: string) => {
		const error = `The ${kind} ${name} was not run: ${reason}.`;
		return finish(env, job, [systemEntry("ERROR", error)], error);
	};
	const reason = whyNotRunnable(job);
	if (reason !== null) return skip(reason);
	const decrypted = await opened(
		configCipher(env, job),
		fieldsOf(job.config_schema),
		job.config,
	).catch((error: unknown) => {
		logWarning("The secrets of a plugin config can't be decrypted", error, { job: job.id });
	});
	if (!decrypted) return skip("the secrets of its config can't be decrypted");
	const { config, secrets } = decrypted;
	const call = kind === "job" ? { kind, type: name, payload } : { kind, name };
	const { entries, error } = await run(env.LOADER, {
		isolate: isolateOf(job),
		tasks: job.capabilities.scheduled_tasks ?? [],
		script: job.main ? await compiledOf(env, job.main) : EMPTY,
		call,
		storage: storage(env, db, job.plugin_config_id),
		hosts: allowedHosts(config),
		config,
		secrets,
	});
	return finish(
		env,
		job,
		[...entries, ...(error === null ? [systemEntry("INFO", `The ${kind} ${name} is done.`)] : [])],
		error,
	);
}

/** A job that ends, and its config. */
type Ending = Key &
	Pick<typeof pluginJobs.$inferSelect, "kind" | "name"> &
	Record<"organization_id" | "team_id" | "plugin_id" | "plugin_config_id", number>;

const NEXT_STEP = {
	job: "Fix the error, then start the job again.",
	task: "Fix the error. The task runs again when it is due the next time.",
};

/** Returns the event of a failed job (docs/notifications.md#events). */
const failureOf = ({ id, kind, name, ...ref }: Ending, error: string) =>
	bySystem({
		activity: "failed",
		scope: "PluginJob",
		item_id: id,
		name,
		trigger: {
			job_id: id,
			kind,
			plugin_id: ref.plugin_id,
			plugin_config_id: ref.plugin_config_id,
			error,
			next_step: NEXT_STEP[kind],
		},
		organization: ref.organization_id,
		project: ref.team_id,
	});

/** No other job gets an isolate in which one failed or is still running. */
const newIsolate = { generation: sql`${pluginConfigs.generation} + 1` };

/**
 * Stores the result and log of a job, and an event if it failed, and deletes the job. If the config
 * has been deleted, only deletes the job.
 */
async function finish(env: Env, job: Ending, entries: Entry[], error: string | null) {
	const db = drizzle(env.DB);
	const isConfig = eq(pluginConfigs.id, job.plugin_config_id);
	const results = withResult(error === null ? "done" : "failed");
	const finished = await commitIfCurrent(env, db, {
		checks: [
			assertExists(
				db,
				pluginJobs,
				and(byKey(job), exists(db.select().from(pluginConfigs).where(isConfig))),
			),
		],
		changes: [
			db
				.update(pluginConfigs)
				.set({ error, results, ...(error !== null && newIsolate) })
				.where(isConfig),
			...appendAll(db, PLUGIN_LOGS, { owner: job.plugin_config_id, entries }),
			remove(db, job),
		],
		entries: error === null ? [] : [failureOf(job, error)],
	});
	if (!finished) await remove(db, job);
}

/** Returns the jobs whose consumer was killed, at most `limit`, those that started first. */
export const findLost = (db: Database, limit: number) =>
	db
		.select({
			turn: pluginJobs.turn,
			id: pluginJobs.id,
			kind: pluginJobs.kind,
			name: pluginJobs.name,
			organization_id: pluginJobs.organization_id,
			plugin_config_id: pluginJobs.plugin_config_id,
			config: { team_id: pluginConfigs.project_id, plugin_id: pluginConfigs.plugin_id },
		})
		.from(pluginJobs)
		.leftJoin(pluginConfigs, eq(pluginConfigs.id, pluginJobs.plugin_config_id))
		.where(and(lt(pluginJobs.lease_expires_at, now()), sql`${pluginJobs.turn} <= ${currentTurn}`))
		.orderBy(pluginJobs.turn, pluginJobs.id)
		.limit(limit);

/** Ends a job as failed, with `why` as its error and in its log. */
export async function fail(
	env: Env,
	{ config, ...job }: Awaited<ReturnType<typeof findLost>>[number],
	why: string,
) {
	if (config) await finish(env, { ...job, ...config }, [systemEntry("ERROR", why)], why);
	else await remove(drizzle(env.DB), job);
}
