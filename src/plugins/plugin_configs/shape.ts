import * as z from "zod";
import {
	atMostBytes,
	boolean,
	choices,
	explain,
	integer,
	multilineText,
	queryMoment,
	rawText,
	record,
	text,
	timestamp,
} from "../../http/fields.ts";
import { json } from "../../http/json_value.ts";
import { documentAs } from "../../http/router.ts";
import { parseUnrounded } from "../../lib/lossless_json.ts";
import { MAX_JSON_BYTES } from "../plugins/shape.ts";

const NOT_A_DICTIONARY = "Expected a dictionary of items.";

/** An object or its JSON text. Replaces the whole config. */
const config = z
	.preprocess((value, { issues }) => {
		if (typeof value !== "string") return value;
		try {
			return parseUnrounded(value);
		} catch {
			issues.push({ code: "custom", input: value, message: NOT_A_DICTIONARY });
			return z.NEVER;
		}
	}, record(json()))
	.check(atMostBytes(MAX_JSON_BYTES))
	.optional();

export const create = z.object({
	plugin: integer().describe(
		"The id of a plugin that the organization can see: its own, a global one, or one that it has a config of.",
	),
	enabled: boolean()
		.optional()
		.describe(
			"Whether the plugin's scheduled tasks run; false by default. True requires every required field of `config`.",
		),
	order: integer().describe(
		"The position in lists, lowest first. Of configs with the same value, the oldest is first.",
	),
	name: text(400)
		.nullable()
		.optional()
		.describe("At most 400 characters. Null, the default, shows the plugin's name."),
	description: multilineText(1000)
		.nullable()
		.optional()
		.describe("At most 1,000 characters. Null, the default, shows the plugin's description."),
	deleted: boolean()
		.optional()
		.describe(
			"True hides the config from lists and disables it, whatever `enabled` is. False, the default, restores it; it stays disabled unless `enabled` is true.",
		),
	config: config.describe(
		"The settings, as an object or a string with JSON, with the fields of the plugin's `config_schema`; `{}` by default. Keys that aren't in the schema are stored too. Replaces all settings, but keeps secrets that are missing, null or masked. An empty string clears a secret. Secrets are encrypted.",
	),
});

/** The plugin of a config can't be changed. */
export const update = create.omit({ plugin: true }).partial();

/** A job to run. The handler checks `type`, with the error that the interface specifies. */
const jobFields = {
	type: text(200).nullish(),
	payload: record(json())
		.optional()
		.describe("The argument of the job; `{}` by default. It isn't in the activity log."),
	operation: z
		.enum(["start"])
		.optional()
		.describe("What to do with the job. Only `start` is supported."),
};

export const job = z.object({ job: z.object(jobFields).nullish() });

/** `job` in the OpenAPI document, with the fields that the handler requires. */
const documentedJob = z.object({
	job: z
		.object({
			...jobFields,
			type: text(200)
				.min(1)
				.describe(
					"The job's name: one of the plugin's `capabilities.jobs`, or a key of its `public_jobs`.",
				),
		})
		.describe("The job to start."),
});
documentAs(job, documentedJob);

const MAX_ORDERS = 10_000;

/** Maps config ids to their order. */
export const rearrange = z.object({
	orders: record(integer())
		.refine(
			(orders) => Object.keys(orders).length <= MAX_ORDERS,
			`At most ${MAX_ORDERS} configs can be rearranged in a single request.`,
		)
		.optional()
		.describe(
			"The new `order` of each config, by its id; at most 10,000. Ids of unknown and disabled configs are ignored. If missing, nothing changes.",
		),
});

/** The types of log entries. */
export const TYPES = ["DEBUG", "LOG", "INFO", "WARN", "ERROR"] as const;

/** An entry of a config's log (docs/plugins.md#logs). */
export const PluginLogEntry = z
	.object({
		id: z.guid().describe("Identifies the entry."),
		team_id: z.int().describe("The id of the project."),
		plugin_id: z.int().describe("The id of the plugin."),
		plugin_config_id: z.int().describe("The id of the config."),
		timestamp: timestamp().describe("When the service received the entry."),
		source: explain(z.enum(["SYSTEM", "PLUGIN", "CONSOLE"]), "Who wrote it.", {
			SYSTEM: "the service: changes of the config, and how jobs and tasks ended.",
			PLUGIN: "the plugin, with `meta.logger`.",
			CONSOLE: "the plugin, with `console`.",
		}),
		type: explain(z.enum(TYPES), "How serious it is.", {
			DEBUG: "details.",
			LOG: "what was written without a level.",
			INFO: "what happened.",
			WARN: "what may need your attention.",
			ERROR: "what failed.",
		}),
		message: z
			.string()
			.describe(
				"What happened, as text for people. More than 4,000 characters are truncated to end in `…`.",
			),
		instance_id: z.guid().describe("The same for all entries of one run of a job or task."),
	})
	.meta({ id: "PluginLogEntry" });

/** The filters of the configs of an organization. */
export const filters = z.object({
	plugin: integer().optional().describe("Only configs of the plugin with this id."),
});

export const logFilters = z.object({
	after: queryMoment()
		.optional()
		.describe("Only entries that are newer than this time, in ISO 8601; UTC if it has no offset."),
	before: queryMoment()
		.optional()
		.describe("Only entries that are older than this time, in ISO 8601; UTC if it has no offset."),
	search: rawText(200)
		.optional()
		.describe(
			"Only entries whose message contains this text, in any case. At most 200 characters.",
		),
	type_filter: choices(TYPES)
		.optional()
		.describe("Only entries of this type, in any case. Can be repeated."),
});
