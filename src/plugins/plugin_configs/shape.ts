import * as z from "zod";
import {
	atMostBytes,
	boolean,
	choices,
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
	plugin: integer(),
	enabled: boolean().optional(),
	order: integer(),
	name: text(400).nullable().optional(),
	description: multilineText(1000).nullable().optional(),
	deleted: boolean().optional(),
	config,
});

/** The plugin of a config can't be changed. */
export const update = create.omit({ plugin: true }).partial();

/** A job to run. The handler checks `type`, with the error that the interface specifies. */
const jobFields = {
	type: text(200).nullish(),
	payload: record(json()).optional(),
	operation: z.enum(["start"]).optional(),
};

export const job = z.object({ job: z.object(jobFields).nullish() });

/** `job` in the OpenAPI document, with the fields that the handler requires. */
export const documentedJob = z.object({
	job: z.object({ ...jobFields, type: text(200).min(1) }),
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
		.optional(),
});

/** The types of log entries. */
export const TYPES = ["DEBUG", "LOG", "INFO", "WARN", "ERROR"] as const;

/** An entry of a config's log (docs/plugins.md#logs). */
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
	/** Ignores case. */
	search: rawText(200).optional(),
	type_filter: choices(TYPES).optional(),
});
