import { sql } from "drizzle-orm";
import * as z from "zod";
import { deletion } from "../../access/deletions.ts";
import { aliased } from "../../db/client.ts";
import { sizeOf } from "../../db/large.ts";
import { pluginConfigs, plugins } from "../../db/schema/plugins.ts";
import { timestamp } from "../../http/fields.ts";
import { HOUR_MS, iso } from "../../lib/time.ts";
import { fieldsOf, masked } from "./config.ts";
import { listedPluginColumns, pluginColumns, toPlugin } from "./shape.ts";

/** A config of a plugin (docs/plugins.md#plugin-configs). */
export const PluginConfig = z
	.object({
		id: z.int().describe("Identifies the config, in paths too."),
		plugin: z.int().describe("The id of the plugin, which can't be changed."),
		enabled: z
			.boolean()
			.describe("Whether the plugin's scheduled tasks run. You can start jobs in any case."),
		order: z.int().describe("The position in lists, lowest first."),
		config: z
			.string()
			.describe(
				"The settings, as a JSON object in a string. Secrets are `**************** SECRET ****************`.",
			),
		error: z
			.string()
			.nullable()
			.describe(
				"Why the newest job or scheduled task failed. Null if it didn't, or if none has ended yet.",
			),
		team_id: z.int().describe("The id of the project."),
		plugin_info: z
			.string()
			.describe(
				"The plugin, as JSON in a string with the fields of `Plugin`. In lists, `icon`, `config_schema`, `metrics` and `public_jobs` are null.",
			),
		delivery_rate_24h: z
			.string()
			.nullable()
			.describe(
				"The fraction of jobs and scheduled tasks in the last 24 hours that succeeded, as a decimal string from `0` to `1`, such as `0.5`. Null if none ended.",
			),
		created_at: timestamp().describe("When the config was added."),
		updated_at: timestamp().describe(
			"When the config was last changed, or a job or task of it last ended.",
		),
		name: z.string().describe("The config's own name, or else the plugin's."),
		description: z.string().describe("The config's own description, or else the plugin's."),
		deleted: z.boolean().describe("Whether the config is hidden from lists and disabled."),
		deletion: deletion(),
	})
	.meta({ id: "PluginConfig" });

/** Columns for queries that join `plugin_configs`, `plugins` and their `organizations`. */
export const configColumns = () => ({
	delivery_rate_24h: successRate().as("delivery_rate_24h"),
	id: aliased(pluginConfigs.id, "config_id"),
	uuid: pluginConfigs.uuid,
	team_id: pluginConfigs.project_id,
	enabled: pluginConfigs.enabled,
	order: pluginConfigs.order,
	config: pluginConfigs.config,
	error: pluginConfigs.error,
	name: pluginConfigs.name,
	description: pluginConfigs.description,
	deleted: pluginConfigs.deleted,
	created_at: pluginConfigs.created_at,
	updated_at: pluginConfigs.updated_at,
	plugin: pluginColumns,
});

/** The same columns for lists. */
export const listedConfigColumns = () => ({ ...configColumns(), plugin: listedPluginColumns });

/** How a list of `listedConfigColumns` is limited in bytes. */
export const listedConfigBytes = () =>
	sizeOf(
		pluginConfigs.config,
		pluginConfigs.description,
		plugins.config_schema,
		plugins.description,
		plugins.capabilities,
	);

type Info = Parameters<typeof toPlugin>[0];
type ListedInfo = Omit<Info, "icon" | "metrics" | "public_jobs">;

type Row<I> = Pick<
	typeof pluginConfigs.$inferSelect,
	Exclude<keyof ReturnType<typeof configColumns>, "plugin" | "team_id" | "delivery_rate_24h">
> & { team_id: number; delivery_rate_24h: number | null; plugin: I };

/** @param info the value of `plugin_info` */
const withInfo = (
	{ plugin, config, delivery_rate_24h, uuid: _, ...row }: Row<ListedInfo>,
	info: object,
): z.infer<typeof PluginConfig> => ({
	...row,
	plugin: plugin.id,
	config: JSON.stringify(masked(fieldsOf(plugin.config_schema), config)),
	plugin_info: JSON.stringify(info),
	delivery_rate_24h: delivery_rate_24h === null ? null : String(delivery_rate_24h),
	name: row.name ?? plugin.name,
	description: row.description ?? plugin.description,
});

export const toPluginConfig = (row: Row<Info>) => withInfo(row, toPlugin(row.plugin));

/** Returns a config of a list, with null for the fields of `plugin_info` that can be large. */
export const toListedConfig = (row: Row<ListedInfo>) =>
	withInfo(row, {
		...toPlugin({ ...row.plugin, icon: null, metrics: {}, public_jobs: {} }),
		...{ config_schema: null, metrics: null, public_jobs: null },
	});

/*
 * How many jobs of a config succeeded and failed in the last 24 hours. The config has the sums by
 * hour, so jobs that have ended need no rows.
 */

const hourOf = (at: number) => iso(at).slice(0, "2026-01-01T00".length);

/** Returns the earliest hour of the last 24. */
const firstHour = () => hourOf(Date.now() - 23 * HOUR_MS);

/** SQL for `plugin_configs.results` with another result. */
export const withResult = (result: "done" | "failed") =>
	sql`(select json_group_object(key, value) from (
		select key, sum(value) as value from (
			select key, value from json_each(${pluginConfigs.results}) where key >= ${firstHour()}
			union all select ${`${hourOf(Date.now())} ${result}`}, 1)
		group by key))`;

/** SQL for the share of successful jobs, from 0 to 1; null if none ended. */
const successRate = () =>
	sql<
		number | null
	>`(select total(value * (key like '%done')) / sum(value) from json_each(${pluginConfigs.results})
		where key >= ${firstHour()})`;
