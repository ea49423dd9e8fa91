import { describe, type OpenApi } from "../../http/openapi.ts";
import { PluginConfig } from "../plugins/plugin_config.ts";
import type pluginConfigs from "./routes.ts";
import { create, documentedJob, logFilters, PluginLogEntry, rearrange, update } from "./shape.ts";

const UNAVAILABLE = "the organization's `plugins_access_level` is below 3";

export default {
	tag: {
		name: "Plugin configs",
		description: `A plugin that is configured for a project, with its settings, log and jobs. Anyone who can see the project may use these operations. While ${UNAVAILABLE}, lists are empty, ids are a 404, and adding or reordering configs and starting jobs is a 400.`,
	},
	operations: {
		"GET /": {
			id: "listPluginConfigs",
			summary: "List the plugin configs",
			description:
				"Lists the project's configs by `order`, lowest first, then by id. Deleted ones are omitted.",
		},
		"POST /": {
			id: "createPluginConfig",
			summary: "Add a plugin config",
			description: `Configures a plugin for the project. A project can have several configs of one plugin. Returns the config, its secrets masked.

400 if the organization can't see the plugin (\`does_not_exist\`), or ${UNAVAILABLE}. 400 on \`config__<key>\` if a value doesn't match the plugin's \`config_schema\`, or a required value of an enabled config is missing.`,
			errors: { does_not_exist: "The organization can't see the plugin." },
		},
		"PATCH /rearrange": {
			id: "rearrangePluginConfigs",
			summary: "Reorder the plugin configs",
			description: `Sets the \`order\` of several configs at once, with one entry in the activity log. Configs that aren't enabled don't change. The response has no body. 400 if ${UNAVAILABLE}.`,
		},
		"GET /:id": {
			id: "getPluginConfig",
			summary: "Retrieve a plugin config",
			description:
				"Returns the config, its secrets masked. Also finds one that `deleted` hides from the list.",
		},
		"PATCH /:id": {
			id: "updatePluginConfig",
			summary: "Change a plugin config",
			description:
				"Fields that aren't in the body don't change; the plugin can't be changed. Returns the config. Its log has an entry if it was enabled, disabled or configured. 400 on `config__<key>` if a value doesn't match the plugin's `config_schema`, or a required value of an enabled config is missing.",
		},
		"DELETE /:id": {
			id: "deletePluginConfig",
			summary: "Permanently delete a plugin config",
			description:
				"Also deletes its log, its storage and its waiting jobs. If you may want to restore the config, set `deleted` instead.",
		},
		"GET /:id/activity": {
			id: "getPluginConfigActivity",
			summary: "Find a plugin config's activity log",
			description:
				'The response has no body. Its header `Link` leads to the entries (`rel="alternate"`), which require the scope `activity_log:read`.',
		},
		"GET /:id/frontend": {
			id: "getPluginConfigFrontend",
			summary: "Find a plugin config's browser script",
			description:
				'The response has no body. Its header `Link` leads to the script (`rel="alternate"`); there is none if the plugin has no `frontend.tsx`, or it doesn\'t compile.',
		},
		"GET /:id/frontend.js": {
			id: "getPluginConfigScript",
			summary: "Retrieve a plugin config's browser script",
			description:
				"Returns the JavaScript of the plugin's `frontend.tsx`, an ES module. 404 if the plugin has no such file, or it doesn't compile.",
		},
		"POST /:id/job": {
			id: "startPluginConfigJob",
			summary: "Start a job",
			description: `Queues a job of the config's plugin, even if the config is disabled. The response has no body and doesn't wait for the job. Its header \`Link\` leads to the config's log (\`rel="monitor"\`), where the job writes its output.

A job runs once, for at most ten seconds, and can connect only to the hosts in the config's \`allowed_hosts\`. Organizations take turns, so jobs of others delay it only briefly. A job that fails or is interrupted by a restart isn't run again.

400 if \`type\` is missing or not a job of the plugin, if the config is deleted, or if ${UNAVAILABLE}.`,
		},
		"POST /:id/migrate": {
			id: "migratePluginConfig",
			summary: "Migrate a plugin config",
			description:
				"Always a 400 for a config that exists: there is nothing to migrate to (see `x_function_migration_available`).",
		},
		"GET /:plugin_config_id/logs": {
			id: "listPluginConfigLogs",
			summary: "List the log of a plugin config",
			description:
				"Lists log entries of the service and the plugin's code, newest first. Secrets of the config are masked. Entries are kept for seven days, at most 1,000 per run.",
		},
	},
} satisfies OpenApi<typeof pluginConfigs>;

describe(PluginConfig, {
	id: "Identifies the config, in paths too.",
	plugin: "The id of the plugin, which can't be changed.",
	enabled: "Whether the plugin's scheduled tasks run. You can start jobs in any case.",
	order: "The position in lists, lowest first.",
	config:
		"The settings, as a JSON object in a string. Secrets are `**************** SECRET ****************`.",
	error:
		"Why the newest job or scheduled task failed. Null if it didn't, or if none has ended yet.",
	team_id: "The id of the project.",
	plugin_info:
		"The plugin, as JSON in a string with the fields of `Plugin`. In lists, `icon`, `config_schema`, `metrics` and `public_jobs` are null.",
	delivery_rate_24h:
		"The fraction of jobs and scheduled tasks in the last 24 hours that succeeded, as a decimal string from `0` to `1`, such as `0.5`. Null if none ended.",
	created_at: "When the config was added.",
	updated_at: "When the config was last changed, or a job or task of it last ended.",
	name: "The config's own name, or else the plugin's.",
	description: "The config's own description, or else the plugin's.",
	deleted: "Whether the config is hidden from lists and disabled.",
});

describe(create, {
	plugin:
		"The id of a plugin that the organization can see: its own, a global one, or one that it has a config of.",
	enabled:
		"Whether the plugin's scheduled tasks run; false by default. True requires every required field of `config`.",
	order:
		"The position in lists, lowest first. Of configs with the same value, the oldest is first.",
	name: "At most 400 characters. Null, the default, shows the plugin's name.",
	description: "At most 1,000 characters. Null, the default, shows the plugin's description.",
	deleted:
		"True hides the config from lists and disables it, whatever `enabled` is. False, the default, restores it; it stays disabled unless `enabled` is true.",
	config:
		"The settings, as an object or a string with JSON, with the fields of the plugin's `config_schema`; `{}` by default. Keys that aren't in the schema are stored too. Replaces all settings, but keeps secrets that are missing, null or masked. An empty string clears a secret. Secrets are encrypted.",
});

describe(update, {}, create);

describe(rearrange, {
	orders:
		"The new `order` of each config, by its id; at most 10,000. Ids of unknown and disabled configs are ignored. If missing, nothing changes.",
});

describe(documentedJob, {
	job: [
		"The job to start.",
		{
			type: "The job's name: one of the plugin's `capabilities.jobs`, or a key of its `public_jobs`.",
			payload: "The argument of the job; `{}` by default. It isn't in the activity log.",
			operation: "What to do with the job. Only `start` is supported.",
		},
	],
});

describe(PluginLogEntry, {
	id: "Identifies the entry.",
	team_id: "The id of the project.",
	plugin_id: "The id of the plugin.",
	plugin_config_id: "The id of the config.",
	timestamp: "When the service received the entry.",
	source: [
		"Who wrote it.",
		{
			SYSTEM: "the service: changes of the config, and how jobs and tasks ended.",
			PLUGIN: "the plugin, with `meta.logger`.",
			CONSOLE: "the plugin, with `console`.",
		},
	],
	type: [
		"How serious it is.",
		{
			DEBUG: "details.",
			LOG: "what was written without a level.",
			INFO: "what happened.",
			WARN: "what may need your attention.",
			ERROR: "what failed.",
		},
	],
	message:
		"What happened, as text for people. More than 4,000 characters are truncated to end in `…`.",
	instance_id: "The same for all entries of one run of a job or task.",
});

describe(logFilters, {
	after: "Only entries that are newer than this time, in ISO 8601; UTC if it has no offset.",
	before: "Only entries that are older than this time, in ISO 8601; UTC if it has no offset.",
	search: "Only entries whose message contains this text, in any case. At most 200 characters.",
	type_filter: "Only entries of this type, in any case. Can be repeated.",
});
