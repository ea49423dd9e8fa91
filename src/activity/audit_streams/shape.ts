import * as z from "zod";
import { changedDestination, destinationOfNew } from "../../exports/destinations/document.ts";
import { boolean, choice, explain, name, timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { checkedBy } from "../../http/valid.ts";
import { parse, SINKS, shown, TYPES } from "./sinks/index.ts";

const NAME_TEXT = "The stream's name.";

const ENABLED_TEXT =
	"Whether the stream delivers entries. After a pause, it continues without a gap.";

/** docs/audit.md */
export const AuditStream = z
	.object({
		id: z.guid().describe("Identifies the stream, in paths, keys and files."),
		name: z.string().describe(NAME_TEXT),
		destination: z
			.object({
				type: documentAs(z.string(), z.enum(TYPES)).describe("The kind of bucket or server."),
				config: z.record(z.string(), z.unknown()).describe("Its settings without its secrets."),
			})
			.describe("The bucket or server."),
		enabled: z.boolean().describe(ENABLED_TEXT),
		sequence: z
			.int()
			.describe(
				"The number of the last file, from 1; 0 before there is one. Servers get a file in one or more requests.",
			),
		digest: z
			.string()
			.describe(
				"The digest of the last line of that file, in hex. Before there is one, the SHA-256 of the stream's id.",
			),
		last_file: z
			.string()
			.nullable()
			.describe("The key of that file; null before there is one, and for servers."),
		last_delivered_at: timestamp()
			.nullable()
			.describe("When that file was written; null before there is one."),
		delivered_until: timestamp()
			.nullable()
			.describe(
				"All entries that were written before this time have been delivered; null until the stream has caught up for the first time.",
			),
		delivered_events: z.int().describe("How many entries the files have."),
		missing_events: z
			.int()
			.describe(
				"How many entries were deleted because of their age before they could be delivered. 0 unless the stream failed or was paused for a very long time.",
			),
		latest_error: z
			.string()
			.nullable()
			.describe("Why the latest attempt failed, as text for people; null if it succeeded."),
		next_attempt_at: timestamp()
			.nullable()
			.describe("When the stream delivers next; null while it is paused."),
		created_at: timestamp().describe("When the stream was created."),
	})
	.meta({ id: "AuditStream" });

/** Returns the stream for a response, without its secrets. */
export const toAuditStream = (row: z.infer<typeof AuditStream>): z.infer<typeof AuditStream> => ({
	...row,
	destination: shown(row.destination),
});

const request = { types: SINKS, prefix: "AuditStream" };

const destination = z.object({
	type: z.string().trim(),
	config: z.record(z.string(), z.unknown()).optional(),
});

export const create = z.object({
	name: name(400).describe(NAME_TEXT),
	destination: documentAs(
		destination.check(checkedBy(({ type, config }) => parse(type, config ?? {}))),
		() =>
			destinationOfNew({
				...request,
				id: "AuditStreamDestination",
				type: "The kind of bucket or server.",
				config: "Its settings.",
			}),
	).describe("The bucket or server."),
	enabled: boolean().optional().describe(`${ENABLED_TEXT} True by default.`),
	from: explain(
		choice(["start", "now"]).optional(),
		"Where the stream begins; `start` by default.",
		{ start: "with the oldest entry that exists.", now: "with its own creation." },
	),
});

/** The other rules of a config are checked after it is merged with the stored one. */
export const update = z
	.object({
		name: name(400).describe(NAME_TEXT),
		destination: documentAs(destination.partial(), () =>
			changedDestination({
				...request,
				id: "AuditStreamDestinationUpdate",
				type: "The kind of bucket or server, which can't be changed.",
				config: "The settings to change. Null removes one.",
			}),
		).describe("The bucket or server."),
		enabled: boolean().describe(ENABLED_TEXT),
	})
	.partial();

export const test = update.pick({ destination: true });
