import { sql } from "drizzle-orm";
import * as z from "zod";
import { pluginConfigs, pluginJobs } from "../db/schema.ts";
import {
	boolean,
	choices,
	integer,
	multilineText,
	queryMoment,
	rawText,
	record,
	text,
	timestamp,
} from "../http/fields.ts";
import { documentAs } from "../http/router.ts";
import { pluginColumns, toPlugin } from "../plugins/shape.ts";
import { fieldsOf, masked } from "./config.ts";

/** Interface 2.10. */
export const PluginConfig = z
	.object({
		id: z.int(),
		plugin: z.int(),
		enabled: z.boolean(),
		order: z.int(),
		config: z.string(),
		error: z.string().nullable(),
		team_id: z.int(),
		plugin_info: z.string(),
		delivery_rate_24h: z.string().nullable(),
		created_at: timestamp(),
		updated_at: timestamp(),
		name: z.string(),
		description: z.string(),
		deleted: z.boolean(),
	})
	.meta({ id: "PluginConfig" });

/** Of the jobs that ended in the last 24 hours, the share that did well; null where none did. */
const rate = () =>
	sql<
		number | null
	>`(select avg(${pluginJobs.status} = 'done') from ${pluginJobs} where ${pluginJobs.plugin_config_id} = ${pluginConfigs.id}
		and ${pluginJobs.finished_at} > ${new Date(Date.now() - 86_400_000).toISOString()})`.as(
		"delivery_rate_24h",
	);

/** The columns of a `PluginConfig`, of a statement over `plugin_configs`, its `plugins` and their `organizations`. */
export const configColumns = () => ({
	delivery_rate_24h: rate(),
	id: pluginConfigs.id,
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

type Row = Pick<
	typeof pluginConfigs.$inferSelect,
	Exclude<
		keyof ReturnType<typeof configColumns>,
		"plugin" | "team_id" | "delivery_rate_24h"
	>
> & {
	team_id: number;
	delivery_rate_24h: number | null;
	plugin: Parameters<typeof toPlugin>[0];
};

export const toPluginConfig = ({
	plugin,
	config,
	delivery_rate_24h,
	uuid: _,
	...row
}: Row): z.infer<typeof PluginConfig> => ({
	...row,
	plugin: plugin.id,
	config: JSON.stringify(masked(fieldsOf(plugin.config_schema), config)),
	plugin_info: JSON.stringify(toPlugin(plugin)),
	delivery_rate_24h:
		delivery_rate_24h === null ? null : String(delivery_rate_24h),
	name: row.name ?? plugin.name,
	description: row.description ?? plugin.description,
});

const NO_DICTIONARY = "Expected a dictionary of items.";

/** An object, or its JSON text: replaces the whole. */
const config = z
	.preprocess((value, { issues }) => {
		if (typeof value !== "string") return value;
		try {
			return JSON.parse(value);
		} catch {
			issues.push({ code: "custom", input: value, message: NO_DICTIONARY });
			return z.NEVER;
		}
	}, record(z.unknown()))
	.optional();

export const create = z.object({
	plugin: integer(),
	enabled: boolean().optional(),
	order: integer(),
	name: text(400).nullable().optional(),
	description: multilineText(1000).nullable().optional(),
	deleted: boolean().optional(),
	/** Beyond the interface. */
	config,
});

/** Its plugin stays the one that it is of. */
export const update = create.omit({ plugin: true }).partial();

/** A job to run. Its type is required, which the handler checks; the only `operation` is to start it. */
const jobFields = {
	type: text(200).nullish(),
	payload: record(z.unknown()).optional(),
	operation: z.enum(["start"]).optional(),
};

export const job = z.object({ job: z.object(jobFields).nullish() });

documentAs(
	job,
	z.object({
		job: z.object({ ...jobFields, type: text(200).min(1) }),
	}),
);

const MAX_ORDERS = 10_000;

/** Orders by the ids of configs. */
export const rearrange = z.object({
	orders: record(integer())
		.refine(
			(orders) => Object.keys(orders).length <= MAX_ORDERS,
			`At most ${MAX_ORDERS} configs can be rearranged in a single request.`,
		)
		.optional(),
});

const TYPES = ["DEBUG", "LOG", "INFO", "WARN", "ERROR"] as const;

/** Interface 2.11. */
export const PluginLogEntry = z
	.object({
		id: z.guid(),
		team_id: z.int(),
		plugin_id: z.int(),
		plugin_config_id: z.int(),
		timestamp: timestamp(),
		source: z.enum(["SYSTEM", "PLUGIN", "CONSOLE"]),
		type: z.enum(TYPES),
		message: z.string(),
		instance_id: z.guid(),
	})
	.meta({ id: "PluginLogEntry" });

export const logFilters = z.object({
	after: queryMoment().optional(),
	before: queryMoment().optional(),
	/** In any case. */
	search: rawText().optional(),
	type_filter: choices(TYPES).optional(),
});
