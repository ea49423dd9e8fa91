import { eq } from "drizzle-orm";
import * as z from "zod";
import { filters as logFilters } from "../../activity/activity_log/shape.ts";
import { aliased } from "../../db/client.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { plugins } from "../../db/schema/plugins.ts";
import {
	atMostBytes,
	boolean,
	choices,
	longText,
	record,
	refuseProto,
	text,
} from "../../http/fields.ts";
import { json } from "../../http/json_value.ts";
import { documentAs } from "../../http/router.ts";
import { FAMILIES } from "./families.ts";

const PLUGIN_TYPES = ["local", "custom", "repository", "source", "inline"] as const;

const names = z.array(text(200)).max(100);

/** docs/plugins.md#families. */
const capabilities = z.object({
	methods: names.optional(),
	jobs: names.optional(),
	scheduled_tasks: names.optional(),
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
		id: z.int(),
		plugin_type: documentAs(z.string(), z.enum(PLUGIN_TYPES)),
		name: z.string(),
		description: z.string(),
		url: z.string().nullable(),
		icon: z.string().nullable(),
		config_schema: configSchema,
		tag: z.string().nullable(),
		latest_tag: z.string().nullable(),
		is_global: z.boolean(),
		organization_id: z.guid(),
		organization_name: z.string(),
		capabilities,
		metrics: z.record(z.string(), metric),
		public_jobs: map(),
		x_function_migration_available: z.literal("false"),
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
	plugin_type: z.enum(PLUGIN_TYPES).optional(),
	name: text(200).optional(),
	description: longText(MAX_DESCRIPTION_BYTES).optional(),
	icon: longText(MAX_ICON_BYTES).nullable().optional(),
	config_schema: configSchemaInput().optional(),
	tag: text(200).nullable().optional(),
	is_global: boolean().optional(),
	capabilities: capabilities.check(atMostBytes(MAX_JSON_BYTES)).optional(),
	metrics: record(metric).check(atMostBytes(MAX_JSON_BYTES)).optional(),
	public_jobs: record(json()).check(atMostBytes(MAX_JSON_BYTES)).optional(),
});

/** `url`: where to install the plugin from (docs/plugins.md#installing-from-a-url). */
export const create = update.extend({ url: text(800).optional() });

/** `url`: the version to change to (docs/plugins.md#installing-from-a-url). */
export const upgrade = update.extend({ url: text(800).optional() });

/** A plugin and the families it belongs to (docs/plugins.md#families). */
export const ListedPlugin = Plugin.extend({ families: z.array(z.enum(FAMILIES)) }).meta({
	id: "ListedPlugin",
});

export const filters = z.object({
	/** Searches name, description and URL, ignoring case. */
	search: text(200).optional(),
	family: choices(FAMILIES).optional(),
});

export const activityFilters = logFilters.omit({ scope: true, item_id: true });

/** A plugin and whether a newer version exists (docs/api.md#responses-with-extra-fields). */
export const PluginUpdate = Plugin.extend({ update_available: z.boolean() }).meta({
	id: "PluginUpdate",
});

/** A plugin and its source (docs/api.md#responses-with-extra-fields). */
export const PluginSource = Plugin.extend({
	files: z.record(z.string(), z.string()),
	errors: z.record(z.string(), z.string()),
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
