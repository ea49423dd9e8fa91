import { describe, type Reference } from "../http/reference.ts";
import type pluginConfigs from "./routes.ts";
import { logFilters } from "./shape.ts";

const reference: Reference<typeof pluginConfigs> = {
	tag: {
		name: "Plugin configs",
		description:
			"A plugin that is set up for a project, with its log and its jobs. All requires the organization's `plugins_access_level` to be at least 3.",
	},
	operations: {
		"/": {
			get: {
				id: "listPluginConfigs",
				summary: "List the plugin configs",
				description: "Lists the project's configs by `order`, without deleted ones.",
			},
			post: {
				id: "createPluginConfig",
				summary: "Add a plugin config",
				description:
					"Sets a plugin up for the project, disabled unless `enabled` is true. Secret fields are encrypted, and masked in every answer.",
				errors: { does_not_exist: "The organization can't see the plugin." },
			},
		},
		"/rearrange": {
			patch: {
				id: "rearrangePluginConfigs",
				summary: "Reorder the plugin configs",
				description:
					"Changes the `order` of enabled configs of the project, all at once. Unknown ids are ignored. The answer has no body.",
			},
		},
		"/:id": {
			get: {
				id: "getPluginConfig",
				summary: "Retrieve a plugin config",
				description: "Answers with the config, also if `deleted` hides it from the list.",
			},
			patch: {
				id: "updatePluginConfig",
				summary: "Change a plugin config",
				description:
					"`config` replaces the whole, except that a masked secret keeps its value. `deleted: true` hides and disables the config; `deleted: false` brings it back.",
			},
			delete: {
				id: "deletePluginConfig",
				summary: "Delete a plugin config for good",
				description: "Also deletes its log and what its plugin has stored.",
			},
		},
		"/:id/activity": {
			get: {
				id: "getPluginConfigActivity",
				summary: "Find a plugin config's activity log",
				description: "The answer has no body: the header `Link` leads to the entries.",
			},
		},
		"/:id/frontend": {
			get: {
				id: "getPluginConfigFrontend",
				summary: "Find a plugin config's browser script",
				description:
					"The answer has no body: the header `Link` leads to the script, if the plugin has one.",
			},
		},
		"/:id/frontend.js": {
			get: {
				id: "getPluginConfigScript",
				summary: "Retrieve a plugin config's browser script",
				description: "Answers with the plugin's compiled JavaScript; 404 if it has none.",
			},
		},
		"/:id/job": {
			post: {
				id: "startPluginConfigJob",
				summary: "Start a job",
				description:
					"Queues a job that the plugin offers. The answer has no body: the header `Link` leads to the log, where the job reports.",
			},
		},
		"/:id/migrate": {
			post: {
				id: "migratePluginConfig",
				summary: "Migrate a plugin config",
				description: "Always a 400: there is nothing to migrate to yet.",
			},
		},
		"/:plugin_config_id/logs": {
			get: {
				id: "listPluginConfigLogs",
				summary: "List the log of a plugin config",
				description:
					"Lists what the service and the plugin's own code have logged, newest first. Entries are kept for seven days.",
			},
		},
	},
};
export default reference;

describe(logFilters, {
	after: "Only entries that were written after this time.",
	before: "Only entries that were written before this time.",
	search: "Only entries whose message contains this text, in any case.",
	type_filter: "Only entries of this type, in any case. May be repeated.",
});
