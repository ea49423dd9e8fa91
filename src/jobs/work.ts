import { and, eq, inArray, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { PLUGINS_CONFIG } from "../auth/levels.ts";
import type { Database } from "../db/client.ts";
import {
	now,
	organizations,
	pluginConfigs,
	pluginJobs,
	pluginSourceFiles,
	plugins,
} from "../db/schema.ts";
import { fieldsOf, opened } from "../plugin_configs/config.ts";
import { MAINS } from "../plugins/install.ts";
import { step, write } from "./log.ts";
import { hostsOf } from "./outbound.ts";
import { run } from "./sandbox.ts";
import { storage } from "./storage.ts";

/** What the queue carries: the row of the job. */
export type Message = { id: number };

/** The job, as long as it hasn't ended. */
const open = (id: number) =>
	and(eq(pluginJobs.id, id), inArray(pluginJobs.status, ["queued", "running"]));

/** Takes the job, unless somebody did already; undefined then. It is `running` before anything of it runs. */
async function take(db: Database, id: number) {
	const [, [job], files] = await db.batch([
		db
			.update(pluginJobs)
			.set({ status: "running", started_at: now() })
			.where(and(eq(pluginJobs.id, id), eq(pluginJobs.status, "queued"))),
		db
			.select({
				kind: pluginJobs.kind,
				name: pluginJobs.name,
				payload: pluginJobs.payload,
				team_id: pluginConfigs.project_id,
				plugin_id: pluginConfigs.plugin_id,
				plugin_config_id: pluginJobs.plugin_config_id,
				config: pluginConfigs.config,
				enabled: pluginConfigs.enabled,
				deleted: pluginConfigs.deleted,
				plugins_access_level: organizations.plugins_access_level,
				config_schema: plugins.config_schema,
				taken: sql<number>`changes()`.as("taken"),
			})
			.from(pluginJobs)
			.innerJoin(
				pluginConfigs,
				eq(pluginConfigs.id, pluginJobs.plugin_config_id),
			)
			.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
			.innerJoin(
				organizations,
				eq(organizations.id, pluginConfigs.organization_id),
			)
			.where(eq(pluginJobs.id, id)),
		db
			.select({
				filename: pluginSourceFiles.filename,
				source: pluginSourceFiles.source,
			})
			.from(pluginSourceFiles)
			.innerJoin(
				pluginConfigs,
				eq(pluginConfigs.plugin_id, pluginSourceFiles.plugin_id),
			)
			.innerJoin(pluginJobs, eq(pluginJobs.plugin_config_id, pluginConfigs.id))
			.where(
				and(eq(pluginJobs.id, id), inArray(pluginSourceFiles.filename, MAINS)),
			),
	]);
	if (!job?.taken) return undefined;
	const main = MAINS.map((name) =>
		files.find(({ filename }) => filename === name),
	);
	return { ...job, source: main.find(Boolean)?.source ?? "" };
}

type Job = NonNullable<Awaited<ReturnType<typeof take>>>;

/** Why a job that could be started when it was queued may not run any more; null: it may. */
function obstacle({ kind, enabled, deleted, plugins_access_level }: Job) {
	if (deleted) return "its config is deleted";
	if (plugins_access_level < PLUGINS_CONFIG)
		return "the organization's plugin access level is insufficient";
	if (kind === "task" && !enabled) return "its config is disabled";
	return null;
}

/** Runs a job once, and keeps what it said and how it ended. A job that is not waiting any more is passed over. */
export async function work(env: Env, id: number) {
	const db = drizzle(env.DB);
	const job = await take(db, id);
	if (!job) return;
	const { kind, name, payload, source } = job;
	const why = obstacle(job);
	if (why !== null) {
		const error = `The ${kind} ${name} was not run: ${why}.`;
		await finish(db, id, job, [step("ERROR", error)], error);
		return;
	}
	const call = kind === "job" ? { kind, type: name, payload } : { kind, name };
	// Nothing of it has run yet: it may wait again.
	const { config, secrets } = await opened(
		env,
		fieldsOf(job.config_schema),
		job.config,
	).catch(async (error: unknown) => {
		await db
			.update(pluginJobs)
			.set({ status: "queued" })
			.where(eq(pluginJobs.id, id));
		throw error;
	});
	const { entries, error } = await run(env.LOADER, {
		source,
		call,
		storage: storage(env, db, job.plugin_config_id),
		hosts: hostsOf(config),
		config,
		secrets,
	});
	await finish(
		db,
		id,
		job,
		[
			...entries,
			...(error === null ? [step("INFO", `The ${kind} ${name} is done.`)] : []),
		],
		error,
	);
}

/** Notes how a running job ended, once. */
const finish = (
	db: Database,
	id: number,
	place: Parameters<typeof write>[1],
	entries: Parameters<typeof write>[2],
	error: string | null,
) =>
	db.batch([
		db
			.update(pluginJobs)
			.set({ status: error === null ? "done" : "failed", finished_at: now() })
			.where(open(id)),
		db
			.update(pluginConfigs)
			.set({ error })
			.where(eq(pluginConfigs.id, place.plugin_config_id)),
		...write(db, place, entries),
	]);

/** Gives a job up that could not be run, with a word in its log. */
export async function fail(env: Env, id: number, why: string) {
	const db = drizzle(env.DB);
	const [job] = await db
		.select({
			team_id: pluginConfigs.project_id,
			plugin_id: pluginConfigs.plugin_id,
			plugin_config_id: pluginJobs.plugin_config_id,
		})
		.from(pluginJobs)
		.innerJoin(pluginConfigs, eq(pluginConfigs.id, pluginJobs.plugin_config_id))
		.where(open(id));
	if (job) await finish(db, id, job, [step("ERROR", why)], why);
}
