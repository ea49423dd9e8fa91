/** The examples of plugins and their configs. */
import type { Recorder } from "./recorder.ts";

type Family = { noun: string; body: object; files: Record<string, string> };

const TOKEN = { key: "api_token", name: "API token", type: "string", secret: true, required: true };

const FAMILIES: Family[] = [
	{
		noun: "Destination",
		body: { name: "Alert on errors", description: "Reports each error.", config_schema: [TOKEN] },
		files: {
			"index.js":
				'export function onEvent(event) {\n\tif (event.event === "error") console.error(event.distinct_id);\n}\n',
		},
	},
	{
		noun: "FrontendApp",
		body: { name: "Funnel", description: "Shows where visitors leave." },
		files: { "frontend.tsx": 'export const scene = { title: "Funnel" };\n' },
	},
	{
		noun: "ImportApp",
		body: { name: "Import invoices", description: "Reads new invoices every hour." },
		files: {
			"index.js":
				'export function runEveryHour() {}\n\nexport const jobs = {\n\timportDay({ day }) {\n\t\tconsole.log("Importing", day);\n\t},\n};\n',
		},
	},
];

/** Creates a plugin of the family, and records all its operations except the last. */
async function family({ record, refuse }: Recorder, { noun, body, files }: Family) {
	const created = await record(`create${noun}`, { body: { ...body, plugin_type: "source" } });
	const id = Number(created.id);
	const parameters = { id };
	await refuse(`create${noun}`, 400, { body: { name: "x".repeat(201) } });
	await record(`update${noun}Source`, { parameters, body: files });
	await record(`get${noun}Source`, { parameters });
	await record(`update${noun}`, { parameters, body: { icon: "https://example.com/icon.png" } });
	await record(`get${noun}`, { parameters });
	await record(`list${noun}s`);
	await record(`listUnused${noun}s`);
	await record(`check${noun}ForUpdates`, { parameters });
	await record(`upgrade${noun}`, { parameters, body: {} });
	await record(`list${noun}Repository`, { parameters: { limit: 2 } });
	await record(`list${noun}Activity`, { parameters: { limit: 2 } });
	return id;
}

export async function plugins(recorder: Recorder) {
	const { record } = recorder;
	const ids: number[] = [];
	for (const each of FAMILIES) ids.push(await family(recorder, each));
	const [destination = 0, app = 0, importer = 0] = ids;
	await record("listPlugins", {
		parameters: { search: "invoices", family: "pipeline_import_apps" },
	});
	await record("createPluginConfig", {
		body: { plugin: importer, order: 1, enabled: true, name: "Invoices of the shop" },
	});
	const script = await record("createPluginConfig", { body: { plugin: app, order: 2 } });
	const alert = await record("createPluginConfig", {
		body: { plugin: destination, order: 3, enabled: true, config: { api_token: "example-token" } },
	});
	for (const { noun } of FAMILIES) await record(`list${noun}ExportConfigs`);
	await record("getPluginContents", { parameters: { id: importer } });
	await configs(recorder, { importer, script: Number(script.id), alert: Number(alert.id) });
	for (const [i, { noun }] of FAMILIES.entries())
		await record(`delete${noun}`, { parameters: { id: ids[i] ?? 0 } });
	await record("restorePlugin", { parameters: { deleted_id: String(ids[0]) }, body: {} });
}

type Configs = {
	/** The plugin whose config was created first. */
	importer: number;
	/** The config of the app. */
	script: number;
	/** The config of the destination, which is deleted. */
	alert: number;
};

async function configs({ record, refuse, waitFor }: Recorder, ids: Configs) {
	await refuse("createPluginConfig", 400, { body: { plugin: 9999, order: 1 } });
	const id = ids.script - 1;
	const parameters = { id };
	await record("listPluginConfigs");
	await record("listOrganizationPluginConfigs");
	await record("getPluginConfig", { parameters });
	await record("updatePluginConfig", { parameters, body: { name: "Invoices", order: 4 } });
	await record("rearrangePluginConfigs", { body: { orders: { [id]: 1, [ids.alert]: 2 } } });
	await record("getPluginConfigActivity", { parameters });
	await record("getPluginConfigFrontend", { parameters: { id: ids.script } });
	await record("getPluginConfigScript", { parameters: { id: ids.script } });
	await refuse("startPluginConfigJob", 400, { parameters, body: { job: { type: "none" } } });
	await refuse("migratePluginConfig", 400, { parameters });
	await record("startPluginConfigJob", {
		parameters,
		body: { job: { type: "importDay", payload: { day: "2026-11-01" }, operation: "start" } },
	});
	const logs = { plugin_config_id: id, type_filter: "LOG" };
	await waitFor(
		"listPluginConfigLogs",
		{ parameters: logs },
		({ results }) => results?.length === 1,
	);
	await record("listPluginConfigLogs", { parameters: logs });
	await record("deletePluginConfig", { parameters: { id: ids.alert } });
	await record("restorePluginConfig", { parameters: { deleted_id: String(ids.alert) }, body: {} });
}
