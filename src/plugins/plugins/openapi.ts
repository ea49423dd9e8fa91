import { describe, type OpenApi } from "../../http/openapi.ts";
import { RepositoryEntry } from "./repository.ts";
import type { allPlugins, familyRoutes } from "./routes.ts";
import {
	create,
	filters,
	ListedPlugin,
	Plugin,
	PluginSource,
	PluginUpdate,
	update,
	upgrade,
} from "./shape.ts";

const ACCESS =
	"Any member may use these operations. The organization's `plugins_access_level` must be at least 3 to read and 6 to write; otherwise the response is a 403.";

const SECRETS =
	"requires level 8 if a config of the plugin, in any organization, stores a secret or has anything in its storage";

export const ofAll: OpenApi<typeof allPlugins> = {
	tag: {
		name: "Plugins",
		description: `The plugins of all families together. A plugin is installed for an organization, and configured for each project. To read or change one, use its id in the path of any of the three families. ${ACCESS}`,
	},
	operations: {
		"GET /": {
			id: "listPlugins",
			summary: "List all plugins",
			description:
				"Lists the plugins that the organization can see, newest first: its own, global ones, and those with a config in one of its projects. Includes those that belong to no family.",
		},
	},
};

type Family = OpenApi<ReturnType<typeof familyRoutes>>;

/** What the operations of a family are called, and what makes a plugin one of it. */
type Nouns = {
	id: string;
	one: string;
	many: string;
	tag: string;
	which: string;
	/** The capabilities that a plugin gets if it is created through the family. */
	capabilities: string;
};

const family = (nouns: Nouns): Family => ({
	tag: {
		name: nouns.tag,
		description: `${nouns.which} Lists contain the plugins of the family; an id can be that of a plugin of any family. ${ACCESS}`,
	},
	operations: {
		...ofFamily(nouns),
		...ofPlugin(nouns),
		...ofSource(nouns),
	},
});

/** The operations on the plugins of a family together. */
const ofFamily = ({ id, one, many, capabilities }: Nouns) => ({
	"GET /": {
		id: `list${id}s`,
		summary: `List the ${many}`,
		description: `Lists the ${many} that the organization can see, newest first: its own, global ones, and those with a config in one of its projects.`,
	},
	"POST /": {
		id: `create${id}`,
		summary: `Add a plugin to the ${many}`,
		description: `Returns the plugin, which belongs to the organization.

With a \`url\`, the plugin is downloaded from npm, GitHub or GitLab. Its \`plugin.json\` then determines \`name\`, \`description\`, \`icon\`, \`config_schema\` and \`public_jobs\`, its source the \`capabilities\`, and the version \`tag\`, whatever the body says. Only \`plugin.json\`, the main file, \`site.ts\` and \`frontend.tsx\` are stored.

Without a \`url\`, the plugin has no source until you write it. Without \`capabilities\` either, it gets \`${capabilities}\`, which makes it ${one}.

400 if the URL isn't supported, or the organization has already installed it (the header \`Link\` leads to that plugin); if the download fails or takes longer than ten seconds; if \`plugin.json\` or the main file is missing or invalid; or if the archive has more than 10 MiB or 1,000 entries, or the source more than 1 MiB. 403 if \`is_global\` is true and the \`plugins_access_level\` is below 9.`,
	},
	"GET /activity": {
		id: `list${id}Activity`,
		summary: `List the activity of the ${many}`,
		description: `Lists the entries of the organization's activity log about ${many}, newest first, with the fields of the plugin that the first entry is about (null if there are no entries). Entries of deleted plugins are only in the activity log itself.`,
	},
	"GET /exports_unsubscribe_configs": {
		id: `list${id}ExportConfigs`,
		summary: `List the enabled configs of ${many} that export`,
		description: `Lists the enabled configs, in projects that you can see, of those ${many} that send events elsewhere, newest first, with the fields of the first one's plugin (null if there are none).`,
	},
	"GET /repository": {
		id: `list${id}Repository`,
		summary: "List the plugins that can be installed",
		description:
			"Lists the entries of the plugin repository, which is the same for all families, in its own order. The fields of the plugin are those of the first entry, if the organization has installed it, and null otherwise. 400 if the repository doesn't return a list within five seconds.",
	},
	"GET /unused": {
		id: `listUnused${id}s`,
		summary: `List the unused ${many}`,
		description: `Lists the ${many} that the organization can see and has no enabled config of, newest first, with the fields of the first one (null if there are none).`,
	},
});

/** The operations on the source of a plugin. */
const ofSource = ({ id, one }: Nouns) => ({
	"GET /:id/check_for_updates": {
		id: `check${id}ForUpdates`,
		summary: `Check ${one} for updates`,
		description:
			"Asks npm, GitHub or GitLab for the newest version at the plugin's URL, stores it as `latest_tag`, and returns the plugin. Plugins of other organizations and plugins without a URL aren't checked: the response has the stored version. 400 if the URL doesn't exist or doesn't respond within ten seconds.",
	},
	"POST /:id/upgrade": {
		id: `upgrade${id}`,
		summary: `Upgrade ${one}`,
		description: `Installs the plugin from its URL again: the newest version, unless the URL names one. With \`url\` in the body, installs that version of the same package or repository, and changes the plugin's URL to it. Replaces the installed version, and keeps configs. Returns the plugin. Other fields in the body are validated and not applied. A plugin of type \`source\` or \`local\`, or without a URL, doesn't change.

400 for the same reasons as when installing, and if \`url\` is of another package or repository, or of a plugin that is already installed. 403 for another organization's plugin. Upgrading ${SECRETS}.`,
	},
	"GET /:id/source": {
		id: `get${id}Source`,
		summary: `Retrieve the source of ${one}`,
		description:
			"Returns the plugin and the text of its files, whichever organization the plugin belongs to.",
	},
	"PATCH /:id/update_source": {
		id: `update${id}Source`,
		summary: `Write the source of ${one}`,
		description: `The body has the text of each file by its name, for at most 50 files. Null deletes a file. Other files don't change. Returns the plugin and all its files.

\`plugin.json\` also sets \`name\`, and \`config_schema\` from its \`config\`. The main file, \`index.ts\` or else \`index.js\`, also sets \`capabilities\`, unless it can't be parsed. It is compiled immediately, as are \`site.ts\` and \`frontend.tsx\`. A compile error doesn't fail the request, but is in \`errors\`. If the main file doesn't compile, the plugin's jobs fail with that error.

400 if the plugin's type isn't \`source\`, \`plugin.json\` is invalid, or the source has more than 1 MiB in all. 403 for another organization's plugin. Writing ${SECRETS}.`,
	},
});

/** The operations on a plugin itself. */
const ofPlugin = ({ id, one }: Nouns) => ({
	"GET /:id": {
		id: `get${id}`,
		summary: `Retrieve ${one}`,
		description: "Returns the plugin. 404 if the organization can't see it.",
	},
	"PATCH /:id": {
		id: `update${id}`,
		summary: `Change ${one}`,
		description: `Fields that aren't in the body don't change. Returns the plugin. Values of configs that a new \`config_schema\` makes secret are masked immediately.

403 for another organization's plugin, and if the body has \`is_global\` and the \`plugins_access_level\` is below 9. Changing \`capabilities\` or \`public_jobs\` ${SECRETS}.`,
	},
	"DELETE /:id": {
		id: `delete${id}`,
		summary: `Delete ${one}`,
		description:
			"Deletes the plugin with its source, and its configs with their logs and storage. 400 if it is global, or another organization has a config of it that isn't deleted. 403 for another organization's plugin.",
	},
});

export const destinations = family({
	id: "Destination",
	one: "a destination",
	many: "destinations",
	tag: "Pipeline destinations",
	which:
		"Plugins that send events elsewhere: those with a method `onEvent`, `exportEvents` or `composeWebhook`.",
	capabilities: '{"methods": ["onEvent"]}',
});

export const frontendApps = family({
	id: "FrontendApp",
	one: "a frontend app",
	many: "frontend apps",
	tag: "Pipeline frontend apps",
	which: "Plugins that run in the browser: those with neither methods nor scheduled tasks.",
	capabilities: "{}",
});

export const importApps = family({
	id: "ImportApp",
	one: "an import app",
	many: "import apps",
	tag: "Pipeline import apps",
	which:
		"Plugins that bring events in: those with scheduled tasks, or with methods but none of `onEvent`, `exportEvents`, `composeWebhook` and `processEvent`.",
	capabilities: '{"scheduled_tasks": ["runEveryHour"]}',
});

const TYPES = {
	local: "it can't be changed.",
	custom: "by upgrading the plugin from its `url`.",
	repository: "by upgrading the plugin from its `url`.",
	source: "with `update_source`.",
	inline: "by upgrading the plugin from its `url`.",
};

const CAPABILITIES = [
	"What the plugin's code offers, which determines its families. Set when the source is written or installed.",
	{
		methods:
			"The functions among `setupPlugin`, `teardownPlugin`, `getSettings`, `processEvent`, `onEvent`, `onSnapshot`, `exportEvents` and `composeWebhook`.",
		jobs: "The jobs that can be started for a config.",
		scheduled_tasks:
			"The functions that run for each enabled config: each minute, hour or day (UTC) if the name starts with `runEveryMinute`, `runEveryHour` or `runEveryDay`.",
	},
] as const;

const FIELDS =
	"The fields of a config: a list of objects with a `key`, or an object of them by key. A field has a `type` (`string`, `choice`, `json` or `attachment`; `string` by default), and can have `required`, `secret`, and the `choices` of a choice.";

describe(Plugin, {
	id: "Identifies the plugin, in paths too. It is the same in all organizations.",
	plugin_type: [
		"How the source can be changed:",
		"",
		...Object.entries(TYPES).map(([type, meaning]) => `- \`${type}\`: ${meaning}`),
	].join("\n"),
	name: "The display name, also of configs without their own. Not necessarily unique; empty if the plugin has none.",
	description:
		"What the plugin does. Also shown for configs without their own description. Empty if the plugin has none.",
	url: "The URL that the plugin was installed from, without a query or access token. Null if it wasn't installed from a URL.",
	icon: "The icon, as the plugin's author set it: often a URL. Null for none.",
	config_schema: FIELDS,
	tag: "The installed version: a version of an npm package, or a commit of a repository. Null if it wasn't set.",
	latest_tag:
		"The newest version that was found when the plugin was installed, upgraded or checked for updates; null if it wasn't.",
	is_global: "Whether every organization can see and configure the plugin.",
	organization_id: "The organization that the plugin belongs to. No other can change it.",
	organization_name: "The name of that organization.",
	capabilities: CAPABILITIES,
	metrics:
		"How values of the plugin's own metrics are combined, by the metric's name: `sum`, `min` or `max`. The service stores this, but doesn't use it.",
	public_jobs:
		"Jobs that can be started for a config, by name, with any description by the author. They are in addition to `capabilities.jobs`.",
	x_function_migration_available: 'Always `"false"`: there is nothing to migrate to.',
});

describe(update, {
	plugin_type: [
		"How the source can be changed. In a new plugin `custom` by default if there is a `url`, and `source` otherwise.",
		TYPES,
	],
	name: "The display name, at most 200 characters, not necessarily unique. Empty by default.",
	description: "What the plugin does; can have several lines. Empty by default.",
	icon: "The icon: a URL, or any other text. Null for none.",
	config_schema: `${FIELDS} An empty list by default. Existing configs aren't validated with it until they are changed.`,
	tag: "The version, at most 200 characters; null for none. Installing and upgrading set it.",
	is_global:
		"Whether every organization can see and configure the plugin; false by default. Requires a `plugins_access_level` of 9.",
	capabilities: CAPABILITIES,
	metrics: "`sum`, `min` or `max` by the name of a metric. Empty by default.",
	public_jobs:
		"Jobs that can be started for a config, by name, with anything about each. Empty by default.",
});

describe(
	create,
	{
		url: "The URL to install the plugin from, at most 800 characters: a package on npmjs.com, or a repository on github.com or gitlab.com, with or without a version, branch, tag or commit. For a private one, add `?private_token=`; the token is encrypted and never shown. Upgrading can change the version in it.",
	},
	update,
);

describe(
	upgrade,
	{
		url: "The URL of the version to install, of the same package or repository, at most 800 characters. Without a version, branch, tag or commit, the plugin follows the newest version from then on. Without a token, the stored one is kept. Defaults to the plugin's URL.",
	},
	update,
);

describe(
	ListedPlugin,
	{
		families: [
			"The families that the plugin belongs to by its `capabilities`. There may be several, or none.",
			{
				pipeline_destinations: "has a method `onEvent`, `exportEvents` or `composeWebhook`.",
				pipeline_frontend_apps: "has neither methods nor scheduled tasks.",
				pipeline_import_apps:
					"has scheduled tasks, or methods but none of `onEvent`, `exportEvents`, `composeWebhook` and `processEvent`.",
			},
		],
	},
	Plugin,
);

describe(
	PluginUpdate,
	{ update_available: "Whether `latest_tag` is known and differs from `tag`." },
	Plugin,
);

describe(
	PluginSource,
	{
		files:
			"The text of each file by its name. The main file of an installed plugin is `index.ts` or `index.js`, whatever its name was.",
		errors:
			"Why files don't compile, by their names, with line and column, such as `Unexpected token (3:12)`. Files without errors are omitted.",
	},
	Plugin,
);

describe(filters, {
	search:
		"Only plugins whose name, description or URL contains this text, in any case. At most 200 characters.",
	family: "Only plugins of this family. Can be repeated.",
});

describe(RepositoryEntry, {
	name: "The plugin's name in the repository, which may differ from the one in its `plugin.json`.",
	url: "The URL to install the plugin from: the `url` of a new plugin.",
	description: "What the plugin does.",
	verified: "Whether the repository marks the plugin as verified.",
	maintainer: "Who publishes the plugin.",
	type: "The kind of plugin, as named by the repository, such as `data_in`, `data_out`, `data_enrichment` or `other`.",
	icon: "The icon; null for none.",
	installed: "Whether your organization has installed the plugin from this `url`.",
});
