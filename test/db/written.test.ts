import { eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { append } from "../../src/db/log.ts";
import { batchExportLogs } from "../../src/db/schema/batch_exports.ts";
import { pluginConfigs, pluginLogs } from "../../src/db/schema/plugin_configs.ts";
import { plugins } from "../../src/db/schema/plugins.ts";
import { EXPORT_LOGS } from "../../src/exporter/run_log.ts";
import { PLUGIN_LOGS } from "../../src/jobs/log_entries.ts";
import { db, furnished } from "../support/world.ts";

/** Rows that D1 bills for a statement. */
const written = async (statement: { run(): Promise<D1Result> }) =>
	(await statement.run()).meta.rows_written;

/** So many lines in a statement, as jobs and runs write them. */
const LINES = 50;

test("what docs/performance.md says is written to tables and their indexes", async () => {
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
	const exportLog = eq(batchExportLogs.batch_export_id, batch_export);
	const ofExport = { owner: batch_export, run, entries };
	// Rows that are there already would be deleted with the others.
	await db.delete(pluginLogs).where(pluginLog);
	await db.delete(batchExportLogs).where(exportLog);
	const always = sql`true`;
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
	]).toEqual([
		["lines of a job", 1],
		["their deletion", 1],
		["lines of a step of a run", 1],
		["their deletion", 1],
		["plugin", 3],
		["new name of a plugin", 1],
		["enabled config", 4],
	]);
});
