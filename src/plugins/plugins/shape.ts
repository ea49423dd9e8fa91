import { eq } from "drizzle-orm";
import * as z from "zod";
import { deletion } from "../../access/deletions.ts";
import { filters as logFilters } from "../../activity/activity_log/shape.ts";
import { aliased } from "../../db/client.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { plugins } from "../../db/schema/plugins.ts";
import {
	atMostBytes,
	boolean,
	choices,
	explain,
	longText,
	record,
	refuseProto,
	text,
} from "../../http/fields.ts";
import { json } from "../../http/json_value.ts";
import { applyOnly, documentAs } from "../../http/router.ts";
import { FAMILIES } from "./families.ts";

const PLUGIN_TYPE_TEXTS = {
	local: "it can't be changed.",
	custom: "by upgrading the plugin from its `url`.",
	repository: "by upgrading the plugin from its `url`.",
	source: "with `update_source`.",
	inline: "by upgrading the plugin from its `url`.",
};

const FIELDS_TEXT =
	"The fields of a config: a list of objects with a `key`, or an object of them by key. A field has a `type` (`string`, `choice`, `json` or `attachment`; `string` by default), and can have `required`, `secret`, and the `choices` of a choice.";

const PLUGIN_TYPES = ["local", "custom", "repository", "source", "inline"] as const;

const names = z.array(text(200)).max(100);

/** docs/plugins.md#families. */
const capabilities = z.object({
	methods: names
		.optional()
		.describe(
			"The functions among `setupPlugin`, `teardownPlugin`, `getSettings`, `processEvent`, `onEvent`, `onSnapshot`, `exportEvents` and `composeWebhook`.",
		),
	jobs: names.optional().describe("The jobs that can be started for a config."),
	scheduled_tasks: names
		.optional()
		.describe(
			"The functions that run for each enabled config: each minute, hour or day (UTC) if the name starts with `runEveryMinute`, `runEveryHour` or `runEveryDay`.",
		),
});

const map = () => z.record(z.string(), z.unknown());
const metric = z.enum(["sum", "min", "max"]);

/** A list of fields, or a map by key. */
const configSchema = z.union([z.array(z.unknown()), map()]);

/** The maximum sizes of a plugin's fields, and of the config of a plugin (docs/api.md#sizes). */
export const MAX_DESCRIPTION_BYTES = 8 * 1024;
export const MAX_ICON_BYTES = 64 * 1024;
export const MAX_JSON_BYTES = 64 * 1024;

/** A plugin (docs/plugins.md). */
export const Plugin = z
	.object({
		id: z
			.int()
			.describe("Identifies the plugin, in paths too. It is the same in all organizations."),
		plugin_type: explain(
			documentAs(z.string(), z.enum(PLUGIN_TYPES)),
			"How the source can be changed:",
			PLUGIN_TYPE_TEXTS,
		),
		name: z
			.string()
			.describe(
				"The display name, also of configs without their own. Not necessarily unique; empty if the plugin has none.",
			),
		description: z
			.string()
			.describe(
				"What the plugin does. Also shown for configs without their own description. Empty if the plugin has none.",
			),
		url: z
			.string()
			.nullable()
			.describe(
				"The URL that the plugin was installed from, without a query or access token. Null if it wasn't installed from a URL.",
			),
		icon: z
			.string()
			.nullable()
			.describe("The icon, as the plugin's author set it: often a URL. Null for none."),
		config_schema: configSchema.describe(FIELDS_TEXT),
		tag: z
			.string()
			.nullable()
			.describe(
				"The installed version: a version of an npm package, or a commit of a repository. Null if it wasn't set.",
			),
		latest_tag: z
			.string()
			.nullable()
			.describe(
				"The newest version that was found when the plugin was installed, upgraded or checked for updates; null if it wasn't.",
			),
		is_global: z.boolean().describe("Whether every organization can see and configure the plugin."),
		organization_id: z
			.guid()
			.describe("The organization that the plugin belongs to. No other can change it."),
		organization_name: z.string().describe("The name of that organization."),
		capabilities: capabilities.describe(
			"What the plugin's code offers, which determines its families. Set when the source is written or installed.",
		),
		metrics: z
			.record(z.string(), metric)
			.describe(
				"How values of the plugin's own metrics are combined, by the metric's name: `sum`, `min` or `max`. The service stores this, but doesn't use it.",
			),
		public_jobs: map().describe(
			"Jobs that can be started for a config, by name, with any description by the author. They are in addition to `capabilities.jobs`.",
		),
		x_function_migration_available: z
			.literal("false")
			.describe('Always `"false"`: there is nothing to migrate to.'),
	})
	.meta({ id: "Plugin" });

/** Columns for queries that join `plugins` and `organizations`. Aliases avoid clashes. */
export const pluginColumns = {
	id: aliased(plugins.id, "plugin_row_id"),
	plugin_type: plugins.plugin_type,
	name: aliased(plugins.name, "plugin_name"),
	description: aliased(plugins.description, "plugin_description"),
	url: plugins.url,
	icon: plugins.icon,
	config_schema: plugins.config_schema,
	tag: plugins.tag,
	latest_tag: plugins.latest_tag,
	is_global: plugins.is_global,
	organization_id: aliased(organizations.uuid, "plugin_organization_uuid"),
	organization_name: aliased(organizations.name, "organization_name"),
	capabilities: plugins.capabilities,
	metrics: plugins.metrics,
	public_jobs: plugins.public_jobs,
};

/** The columns for lists, without large ones (docs/api.md#fields-that-are-strings). */
const { icon: _icon, metrics: _metrics, public_jobs: _jobs, ...listedColumns } = pluginColumns;
export const listedPluginColumns = listedColumns;

/** Join condition: the `organizations` row is the plugin's. */
export const isPluginOrganization = eq(organizations.id, plugins.organization_id);

export const toPlugin = <R extends Omit<z.infer<typeof Plugin>, "x_function_migration_available">>(
	row: R,
): z.infer<typeof Plugin> => ({
	...row,
	// No migrations exist yet (docs/plugins.md#plugin-configs).
	x_function_migration_available: "false",
});

/** The `config_schema` in a body or in plugin.json. */
export const configSchemaInput = () =>
	z
		.preprocess(
			refuseProto,
			json()
				.refine((value) => typeof value === "object" && value !== null, {
					abort: true,
					error: "Expected a list or a dictionary of items.",
				})
				.pipe(configSchema),
		)
		.check(atMostBytes(MAX_JSON_BYTES));

export const update = z.object({
	plugin_type: explain(
		z.enum(PLUGIN_TYPES).optional(),
		"How the source can be changed. In a new plugin `custom` by default if there is a `url`, and `source` otherwise.",
		PLUGIN_TYPE_TEXTS,
	),
	name: text(200)
		.optional()
		.describe(
			"The display name, at most 200 characters, not necessarily unique. Empty by default.",
		),
	description: longText(MAX_DESCRIPTION_BYTES)
		.optional()
		.describe("What the plugin does; can have several lines. Empty by default."),
	icon: longText(MAX_ICON_BYTES)
		.nullable()
		.optional()
		.describe("The icon: a URL, or any other text. Null for none."),
	config_schema: configSchemaInput()
		.optional()
		.describe(
			`${FIELDS_TEXT} An empty list by default. Existing configs aren't validated with it until they are changed.`,
		),
	tag: text(200)
		.nullable()
		.optional()
		.describe(
			"The version, at most 200 characters; null for none. Installing and upgrading set it.",
		),
	is_global: boolean()
		.optional()
		.describe(
			"Whether every organization can see and configure the plugin; false by default. Requires a `plugins_access_level` of 9.",
		),
	capabilities: capabilities
		.check(atMostBytes(MAX_JSON_BYTES))
		.optional()
		.describe(
			"What the plugin's code offers, which determines its families. Set when the source is written or installed.",
		),
	metrics: record(metric)
		.check(atMostBytes(MAX_JSON_BYTES))
		.optional()
		.describe("`sum`, `min` or `max` by the name of a metric. Empty by default."),
	public_jobs: record(json())
		.check(atMostBytes(MAX_JSON_BYTES))
		.optional()
		.describe(
			"Jobs that can be started for a config, by name, with anything about each. Empty by default.",
		),
});

/** `url`: where to install the plugin from (docs/plugins.md#installing-from-a-url). */
export const create = update.extend({
	url: text(800)
		.optional()
		.describe(
			"The URL to install the plugin from, at most 800 characters: a package on npmjs.com, or a repository on github.com or gitlab.com, with or without a version, branch, tag or commit. For a private one, add `?private_token=`; the token is encrypted and never shown. Upgrading can change the version in it.",
		),
});

/** `url`: the version to change to (docs/plugins.md#installing-from-a-url). */
const upgradeFields = {
	url: text(800)
		.optional()
		.describe(
			"The URL of the version to install, of the same package or repository, at most 800 characters. Without a version, branch, tag or commit, the plugin follows the newest version from then on. Without a token, the stored one is kept. Defaults to the plugin's URL.",
		),
};

export const upgrade = applyOnly(update.extend(upgradeFields), Object.keys(upgradeFields));

/** A plugin and the families it belongs to (docs/plugins.md#families). */
export const ListedPlugin = Plugin.extend({
	deletion: deletion(),
	families: explain(
		z.array(z.enum(FAMILIES)),
		"The families that the plugin belongs to by its `capabilities`. There may be several, or none.",
		{
			pipeline_destinations: "has a method `onEvent`, `exportEvents` or `composeWebhook`.",
			pipeline_frontend_apps: "has neither methods nor scheduled tasks.",
			pipeline_import_apps:
				"has scheduled tasks, or methods but none of `onEvent`, `exportEvents`, `composeWebhook` and `processEvent`.",
		},
	),
}).meta({
	id: "ListedPlugin",
});

export const filters = z.object({
	search: text(200)
		.optional()
		.describe(
			"Only plugins whose name, description or URL contains this text, in any case. At most 200 characters.",
		),
	family: choices(FAMILIES).optional().describe("Only plugins of this family. Can be repeated."),
});

export const activityFilters = logFilters.omit({ scope: true, item_id: true });

/** A plugin and whether a newer version exists (docs/api.md#responses-with-extra-fields). */
export const PluginUpdate = Plugin.extend({
	update_available: z.boolean().describe("Whether `latest_tag` is known and differs from `tag`."),
}).meta({
	id: "PluginUpdate",
});

/** A plugin and its source (docs/api.md#responses-with-extra-fields). */
export const PluginSource = Plugin.extend({
	files: z
		.record(z.string(), z.string())
		.describe(
			"The text of each file by its name. The main file of an installed plugin is `index.ts` or `index.js`, whatever its name was.",
		),
	errors: z
		.record(z.string(), z.string())
		.describe(
			"Why files don't compile, by their names, with line and column, such as `Unexpected token (3:12)`. Files without errors are omitted.",
		),
}).meta({ id: "PluginSource" });

const MAX_FILES = 50;

/** File contents by filename; null deletes the file. */
export const source = z
	.preprocess(refuseProto, z.record(text(200).min(1), z.string().nullable()))
	.refine(
		(files) => Object.keys(files).length <= MAX_FILES,
		`At most ${MAX_FILES} files can be written in a single request.`,
	)
	.meta({ maxProperties: MAX_FILES });
