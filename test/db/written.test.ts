import { and, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { batchExportLogs } from "../../src/db/schema/batch_exports.ts";
import { personalApiKeyDays } from "../../src/db/schema/personal_api_keys.ts";
import { pluginConfigs, pluginJobs, pluginLogs, plugins } from "../../src/db/schema/plugins.ts";
import { append } from "../../src/db/stored_log.ts";
import { EXPORT_LOGS } from "../../src/exports/engine/run_log.ts";
import { PLUGIN_LOGS } from "../../src/plugins/jobs/run_log.ts";
import { withResult } from "../../src/plugins/plugins/plugin_config.ts";
import { db, furnished, rowOf } from "../support/world.ts";

/** Rows that D1 bills for a statement. */
const written = async (statement: { run(): Promise<D1Result> }) =>
	(await statement.run()).meta.rows_written;

/** So many lines in a statement, as jobs and runs write them. */
const LINES = 50;

test("what decision 5 says is written to tables and their indexes", async () => {
	const { project, config, batch_export, run } = await furnished();
	const [row] = await db
		.select()
		.from(pluginConfigs)
		.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
		.where(eq(pluginConfigs.id, config));
	if (!row) throw new Error("There is no config.");
	const { id: _, families: __, ...plugin } = row.plugins;
	const { organization_id, plugin_id } = row.plugin_configs;
	const entries = Array.from({ length: LINES }, () => ({
		source: "PLUGIN",
		level: "LOG",
		message: "x".repeat(100),
	}));
	const pluginLog = eq(pluginLogs.plugin_config_id, config);
	const exportLog = eq(batchExportLogs.batch_export_id, rowOf(batch_export));
	const ofExport = { owner: rowOf(batch_export), run, entries };
	// Rows that are there already would be deleted with the others.
	await db.delete(pluginLogs).where(pluginLog);
	await db.delete(batchExportLogs).where(exportLog);
	const always = sql`true`;
	const job = { turn: 1, id: 1, organization_id, plugin_config_id: config, name: "go" };
	const theJob = and(eq(pluginJobs.turn, 1), eq(pluginJobs.id, 1));
	const day = { key_id: sql`(select id from personal_api_keys limit 1)`, day: "2026-01-01" };
	const results = withResult("done");
	expect([
		["lines of a job", await written(append(db, PLUGIN_LOGS, { owner: config, entries }, always))],
		["their deletion", await written(db.delete(pluginLogs).where(pluginLog))],
		["lines of a step of a run", await written(append(db, EXPORT_LOGS, ofExport, always))],
		["their deletion", await written(db.delete(batchExportLogs).where(exportLog))],
		["plugin", await written(db.insert(plugins).values(plugin))],
		[
			"new name of a plugin",
			await written(db.update(plugins).set({ name: "New" }).where(eq(plugins.id, plugin_id))),
		],
		[
			"enabled config",
			await written(
				db.insert(pluginConfigs).values({
					organization_id,
					project_id: project,
					plugin_id,
					enabled: true,
					order: 9,
				}),
			),
		],
		["queued job", await written(db.insert(pluginJobs).values({ ...job, kind: "job" }))],
		[
			"job that starts",
			await written(db.update(pluginJobs).set({ lease_expires_at: "now" }).where(theJob)),
		],
		["ended job", await written(db.delete(pluginJobs).where(theJob))],
		[
			"its result",
			await written(db.update(pluginConfigs).set({ results }).where(eq(pluginConfigs.id, config))),
		],
		[
			"day of a key",
			await written(db.insert(personalApiKeyDays).values({ ...day, requests: 1, refusals: 0 })),
		],
	]).toEqual([
		["lines of a job", 1],
		["their deletion", 1],
		["lines of a step of a run", 1],
		["their deletion", 1],
		["plugin", 3],
		["new name of a plugin", 1],
		["enabled config", 4],
		["queued job", 2],
		["job that starts", 1],
		["ended job", 1],
		["its result", 1],
		["day of a key", 1],
	]);
});
