import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists } from "../../db/client.ts";
import { pluginConfigs, pluginJobs } from "../../db/schema/plugins.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { countWaiting, MAX_CONSUMERS, newTurn, startConsumers } from "../jobs/queue.ts";
import { logSystem } from "../jobs/run_log.ts";
import { assertAvailable, byId, select } from "./queries.ts";
import type { job as Job } from "./shape.ts";

/** @throws 400 if plugin configs aren't available, 404 if the config doesn't exist */
export async function find(tenant: Tenant, id: string) {
	const [[row]] = await tenant.read(select(tenant).where(byId(tenant, id)));
	assertAvailable(tenant);
	return orNotFound(row);
}

/** Queues a job: first its row, in case the message is lost. */
export const start = (tenant: Tenant, id: string, body: z.infer<typeof Job>) =>
	retry(() => tryStart(tenant, id, body));

async function tryStart(tenant: Tenant, id: string, { job }: z.infer<typeof Job>) {
	const row = await find(tenant, id);
	if (row.deleted) throw invalid(null, "This plugin configuration is deleted.");
	const { type: name, payload = {}, operation = "start" } = job ?? {};
	if (!name) throw invalid(null, "The job type must be specified!");
	const { capabilities, public_jobs } = row.plugin;
	if (![...(capabilities.jobs ?? []), ...Object.keys(public_jobs)].includes(name))
		throw invalid(null, `The plugin has no job "${name}".`);
	const { db } = tenant;
	const isLeft = and(eq(pluginConfigs.id, row.id), eq(pluginConfigs.deleted, false));
	const queued = await tenant.write({
		checks: [assertExists(db, pluginConfigs, isLeft)],
		changes: [
			db.insert(pluginJobs).values({
				turn: newTurn(tenant.organization),
				organization_id: tenant.organization,
				plugin_config_id: row.id,
				kind: "job",
				name,
				payload,
			}),
			logSystem(db, row.id, [`The job ${name} was queued.`]),
		],
		entries: [
			{
				activity: "job_triggered",
				scope: "PluginConfig",
				item_id: row.id,
				name: row.name ?? row.plugin.name,
				// The entry doesn't have the payload, because it may contain secrets.
				trigger: { job: { type: name, operation } },
			},
		],
		answer: db
			.select({ waiting: sql<number>`(${countWaiting(db)})`.as("waiting") })
			.from(sql`(select 1)`),
	});
	// If more jobs are waiting, consumers are already running.
	if (queued.waiting <= MAX_CONSUMERS) tenant.later(() => startConsumers(tenant.env, 1));
	return row;
}
