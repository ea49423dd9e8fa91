import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, isNull, sql } from "drizzle-orm";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { pluginConfigs, pluginJobs, taskMinutes } from "../../../src/db/schema/plugins.ts";
import { newTurn } from "../../../src/plugins/jobs/queue.ts";
import { runDueTasks } from "../../../src/plugins/jobs/tasks.ts";
import worker from "../../../src/worker.ts";
import { lossy } from "../../support/webhooks.ts";
import { db, world } from "../../support/world.ts";

/** Loses the messages of jobs, so that these run only when a test says so. */
const NO_QUEUE = { JOBS: lossy.DELIVERIES };

/** Nothing that earlier tests have left takes a turn from a test's jobs. */
export const clear = () =>
	db.batch([
		db.update(pluginConfigs).set({ enabled: false }),
		db.delete(pluginJobs).where(isNull(pluginJobs.lease_expires_at)),
		db.delete(taskMinutes),
	]);

export const jobsOf = (config: number) =>
	db.select().from(pluginJobs).where(eq(pluginJobs.plugin_config_id, config));

/** Adds jobs to the queue, without a message. */
export const queue = (
	{ id, organization_id }: { id: number; organization_id: number },
	job: Partial<typeof pluginJobs.$inferInsert> = {},
	count = 1,
) =>
	db.run(sql`insert into plugin_jobs (turn, organization_id, plugin_config_id, kind, name, payload, lease_expires_at)
		select ${newTurn(sql`${organization_id}`)} + key, ${organization_id}, ${id}, ${job.kind ?? "job"}, ${job.name ?? "greet"},
			'{"name":"Ada"}', ${job.lease_expires_at ?? null} from json_each(${JSON.stringify(Array(count).fill(0))})`);

/** Delivers a message to the queue's consumer, which runs the next job. */
export async function deliver(bindings: object = {}, timestamp = new Date()) {
	const batch = createMessageBatch("tenantry-jobs", [
		{ id: "1", timestamp, attempts: 1, body: {} },
	]);
	const context = createExecutionContext();
	await worker.queue(batch, { ...env, ...NO_QUEUE, ...bindings }, context);
	return getQueueResult(batch, context);
}

/** What the schedule does for jobs. */
export const tick = (at = Date.now()) => runDueTasks({ ...env, ...NO_QUEUE }, at);

/** A config of a plugin with jobs, and its secret. */
export async function home(source: string, enabled = true) {
	const { id: organization, ...here } = await world();
	const schema = [{ key: "token", type: "string", secret: true }];
	const { body: plugin } = await here.here("POST", "/pipeline_destinations", {
		body: { config_schema: schema },
	});
	const write = (text: string) =>
		here.here("PATCH", `/pipeline_destinations/${plugin.id}/update_source`, {
			body: { "index.js": text },
		});
	await write(source);
	const configs = `/api/projects/${here.project}/plugin_configs`;
	const config = { plugin: plugin.id, order: 1, enabled, config: { token: "hunter22" } };
	const { id } = (await here.ask("POST", configs, { body: config })).body;
	const path = `${configs}/${id}`;
	const start = (job: unknown, bindings: Partial<Env> = NO_QUEUE) =>
		here.ask("POST", `${path}/job/`, { body: { job }, env: bindings });
	const read = async () => (await here.ask("GET", path)).body;
	/** Starts a job and runs it. Returns its error. */
	const run = async (type: string, payload: object = {}): Promise<string | null> => {
		await start({ type, payload });
		await deliver();
		return (await read()).error;
	};
	/** The entries of the log, oldest first. */
	const logs = async (): Promise<string[]> =>
		(await here.ask("GET", `${path}/logs?limit=1000`)).body.results
			.map(
				(entry: { source: string; type: string; message: string }) =>
					`${entry.source} ${entry.type} ${entry.message}`,
			)
			.toReversed();
	const row = async () =>
		(await db.select().from(pluginConfigs).where(eq(pluginConfigs.id, id)))[0];
	const set = (change: Partial<typeof pluginConfigs.$inferInsert>) =>
		db.update(pluginConfigs).set(change).where(eq(pluginConfigs.id, id));
	const patch = (body: object) => here.ask("PATCH", path, { body });
	/** Adds another config of the plugin. */
	const copy = async (order: number) => {
		const [one] = await db
			.insert(pluginConfigs)
			.values({
				project_id: here.project,
				organization_id: organizationId(organization),
				plugin_id: plugin.id,
				order,
				enabled: true,
				enabled_at: new Date().toISOString(),
			})
			.returning();
		return one?.id ?? 0;
	};
	return {
		...here,
		organization,
		id: Number(id),
		plugin: Number(plugin.id),
		path,
		write,
		start,
		run,
		read,
		logs,
		row,
		set,
		patch,
		copy,
	};
}

export type Home = Awaited<ReturnType<typeof home>>;
