import { describe, type Reference } from "../http/reference.ts";
import { PluginConfig } from "../plugins/plugin_config.ts";
import type pluginConfigs from "./routes.ts";
import { create, documentedJob, logFilters, PluginLogEntry, rearrange, update } from "./shape.ts";

const UNAVAILABLE = "the organization's `plugins_access_level` is below 3";

const reference: Reference<typeof pluginConfigs> = {
	tag: {
		name: "Plugin configs",
		description: `A plugin that is set up for a project, with its settings, its log and its jobs. Anyone who can see the project may use these operations. While ${UNAVAILABLE}, there are no configs: lists are empty, ids are not found, and adding or reordering configs and starting jobs is a 400.`,
	},
	operations: {
		"/": {
			get: {
				id: "listPluginConfigs",
				summary: "List the plugin configs",
				description:
					"Lists the project's configs by `order`, lowest first, then by id. Deleted ones are left out.",
			},
			post: {
				id: "createPluginConfig",
				summary: "Add a plugin config",
				description: `Sets a plugin up for the project; a project may have several configs of one plugin. Answers with the config, its secrets masked.

400 if the organization can't see the plugin (\`does_not_exist\`), or ${UNAVAILABLE}. 400 on \`config__<key>\` if a value doesn't fit the plugin's \`config_schema\` or, in an enabled config, a required one is missing.`,
				errors: { does_not_exist: "The organization can't see the plugin." },
			},
		},
		"/rearrange": {
			patch: {
				id: "rearrangePluginConfigs",
				summary: "Reorder the plugin configs",
				description: `Sets the \`order\` of several configs at once, with one entry in the activity log. Configs that aren't enabled stay as they are. The answer has no body. 400 if ${UNAVAILABLE}.`,
			},
		},
		"/:id": {
			get: {
				id: "getPluginConfig",
				summary: "Retrieve a plugin config",
				description:
					"Answers with the config, its secrets masked. Also finds one that `deleted` hides from the list.",
			},
			patch: {
				id: "updatePluginConfig",
				summary: "Change a plugin config",
				description:
					"Fields that aren't in the body stay as they are; the plugin can't be changed. Answers with the config. Its log says if it was enabled, disabled or configured. 400 on `config__<key>` if a value doesn't fit the plugin's `config_schema`, or a required one is missing when the config is enabled or, while it is, gets another `config`.",
			},
			delete: {
				id: "deletePluginConfig",
				summary: "Delete a plugin config for good",
				description:
					"Also deletes its log, what its plugin has stored, and its jobs that wait. To be able to bring a config back, set `deleted` instead.",
			},
		},
		"/:id/activity": {
			get: {
				id: "getPluginConfigActivity",
				summary: "Find a plugin config's activity log",
				description:
					'The answer has no body. Its header `Link` leads to the entries (`rel="alternate"`), which require the scope `activity_log:read`.',
			},
		},
		"/:id/frontend": {
			get: {
				id: "getPluginConfigFrontend",
				summary: "Find a plugin config's browser script",
				description:
					'The answer has no body. Its header `Link` leads to the script (`rel="alternate"`); there is none if the plugin has no `frontend.tsx`, or it doesn\'t compile.',
			},
		},
		"/:id/frontend.js": {
			get: {
				id: "getPluginConfigScript",
				summary: "Retrieve a plugin config's browser script",
				description:
					"Answers with the JavaScript of the plugin's `frontend.tsx`, an ES module. 404 if the plugin has no such file, or it doesn't compile.",
			},
		},
		"/:id/job": {
			post: {
				id: "startPluginConfigJob",
				summary: "Start a job",
				description: `Queues a job of the config's plugin, also while the config is disabled. The answer has no body and doesn't wait for the job. Its header \`Link\` leads to the config's log (\`rel="monitor"\`), where the job reports.

A job runs once, for at most ten seconds, and reaches only the hosts in the config's \`allowed_hosts\`. Organizations take turns, so the jobs of others make it wait only briefly. A job that fails, or that a restart cuts off, isn't run again.

400 if \`type\` is missing or not a job of the plugin, if the config is deleted, or if ${UNAVAILABLE}.`,
			},
		},
		"/:id/migrate": {
			post: {
				id: "migratePluginConfig",
				summary: "Migrate a plugin config",
				description:
					"Always a 400 for a config that exists: there is nothing to migrate to yet, as `x_function_migration_available` says.",
			},
		},
		"/:plugin_config_id/logs": {
			get: {
				id: "listPluginConfigLogs",
				summary: "List the log of a plugin config",
				description:
					"Lists what the service and the plugin's own code have logged, newest first. Secrets of the config are hidden. Entries are kept for seven days, and up to 1,000 of a run.",
			},
		},
	},
};
export default reference;

describe(PluginConfig, {
	id: "Identifies the config, in paths too.",
	plugin: "The id of the plugin, which can't be changed.",
	enabled: "Whether the plugin's scheduled tasks run. Jobs can be started in any case.",
	order: "Where the config stands in lists, lowest first.",
	config:
		"The settings, as the JSON text of an object. A secret reads `**************** SECRET ****************`.",
	error:
		"Why the newest job or scheduled task failed. Null if it didn't, or if none has ended yet.",
	team_id: "The id of the project.",
	plugin_info: "The plugin, as JSON text with the fields of `Plugin`.",
	delivery_rate_24h:
		"Which share of the jobs and scheduled tasks of the last 24 hours succeeded: decimal text from `0` to `1`, such as `0.5`. Null if none ended.",
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
		"Where the config stands in lists, lowest first. Several may have the same; then the older is first.",
	name: "At most 400 characters. Null, the default, shows the plugin's name.",
	description: "At most 1,000 characters. Null, the default, shows the plugin's description.",
	deleted:
		"True hides the config from lists and disables it, whatever `enabled` says. False, the default, brings it back, still disabled unless `enabled` is true.",
	config:
		"The settings, an object or its JSON text, with the fields of the plugin's `config_schema`; `{}` by default. Keys that the schema doesn't name are kept. Replaces all settings, except that a secret stays if it is missing, null or masked; an empty text clears it. Secrets are encrypted.",
});

describe(update, {}, create);

describe(rearrange, {
	orders:
		"The new `order` of each config, by its id; at most 10,000. Ids of unknown and disabled configs are ignored. Nothing changes without it.",
});

describe(documentedJob, {
	job: [
		"The job to start.",
		{
			type: "The job's name: one of the plugin's `capabilities.jobs`, or a key of its `public_jobs`.",
			payload:
				"What the job gets as its argument; `{}` by default. The activity log doesn't show it.",
			operation: "What to do with the job. It can only be started.",
		},
	],
});

describe(PluginLogEntry, {
	id: "Identifies the entry.",
	team_id: "The id of the project.",
	plugin_id: "The id of the plugin.",
	plugin_config_id: "The id of the config.",
	timestamp: "When the service got the entry.",
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
		"What happened, for people. A text of more than 4,000 characters is cut and ends in `…`.",
	instance_id: "The same for all entries of one run of a job or task.",
});

describe(logFilters, {
	after: "Only entries that are newer than this time, in ISO 8601; UTC if it has no offset.",
	before: "Only entries that are older than this time, in ISO 8601; UTC if it has no offset.",
	search: "Only entries whose message contains this text, in any case. At most 200 characters.",
	type_filter: "Only entries of this type, in any case. May be repeated, for any of several types.",
});
