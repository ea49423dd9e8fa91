import * as z from "zod";
import type { Destination } from "../../db/schema/batch_exports.ts";
import { parseConfig } from "../../exports/destinations/config.ts";
import { shown } from "../../exports/destinations/secrets.ts";
import { invalid } from "../../http/errors.ts";
import { boolean, choice, name, notAChoice, timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { checkedBy } from "../../http/valid.ts";

/** The types of destinations for streams. */
export const TYPES = ["S3", "R2"] as const;

const isType = (type: string) => TYPES.some((known) => known === type);

/** docs/audit.md */
export const AuditStream = z
	.object({
		id: z.guid(),
		name: z.string(),
		destination: z.object({
			type: documentAs(z.string(), z.enum(TYPES)),
			config: z.record(z.string(), z.unknown()),
		}),
		enabled: z.boolean(),
		sequence: z.int(),
		digest: z.string(),
		last_file: z.string().nullable(),
		last_delivered_at: timestamp().nullable(),
		delivered_until: timestamp().nullable(),
		delivered_events: z.int(),
		missing_events: z.int(),
		latest_error: z.string().nullable(),
		next_attempt_at: timestamp().nullable(),
		created_at: timestamp(),
	})
	.meta({ id: "AuditStream" });

/** Returns the stream for a response, without its secrets. */
export const toAuditStream = (row: z.infer<typeof AuditStream>): z.infer<typeof AuditStream> => ({
	...row,
	destination: shown(row.destination),
});

/** Fields that streams don't have: all files have the same format and all columns. */
export const FIXED = [
	"file_format",
	"compression",
	"max_file_size_mb",
	"include_events",
	"exclude_events",
];

/** @throws 400 for a config that streams restrict more than exports */
function checkConfig({ config = {} }: { config?: Destination["config"] | undefined }) {
	const given = FIXED.filter((key) => Object.hasOwn(config, key)).sort();
	if (given.length > 0)
		throw invalid(
			"destination",
			`Configuration has unknown field/s: ${given.map((key) => `'${key}'`).join(", ")}`,
		);
	if (/[{}]/.test(String(config.prefix ?? "")))
		throw invalid(
			"destination__config__prefix",
			"The prefix of an audit stream can't contain variables.",
		);
}

const destination = z.object({
	type: z.string().trim(),
	config: z.record(z.string(), z.unknown()).optional(),
});

export const create = z.object({
	name: name(400),
	destination: destination.check(
		checkedBy((value) => {
			if (!isType(value.type))
				throw invalid("destination__type", notAChoice(value.type), "invalid_choice", TYPES);
			checkConfig(value);
			parseConfig(value.type, value.config ?? {});
		}),
	),
	enabled: boolean().optional(),
	/** The first event of the stream. */
	from: choice(["start", "now"]).optional(),
});

/** The other rules of a config are checked after it is merged with the stored one. */
export const update = z
	.object({
		name: name(400),
		destination: destination.partial().check(checkedBy(checkConfig)),
		enabled: boolean(),
	})
	.partial();

export const test = update.pick({ destination: true });
