import * as z from "zod";
import { configs } from "../../exports/destinations/configs.ts";
import { describe, type OpenApi } from "../../http/openapi.ts";
import { documentAs } from "../../http/router.ts";
import type auditStreams from "./routes.ts";
import { AuditStream, create, FIXED, TYPES, test, update } from "./shape.ts";

const ELSEWHERE =
	"The destination was changed to another server without its secrets, or a setting is unknown or invalid.";

export default {
	tag: {
		name: "Audit streams",
		description:
			"Write the organization's activity and events to a bucket, every hour, as compressed JSON Lines. Each line has the digest of the previous line, so that you can detect changed, removed and added lines. All operations require level 8.",
	},
	operations: {
		"GET /": {
			id: "listAuditStreams",
			summary: "List the audit streams",
			description: "Lists the organization's streams, newest first. Requires level 8.",
		},
		"POST /": {
			id: "createAuditStream",
			summary: "Create an audit stream",
			description:
				"Requires level 8. Older entries are written within minutes, new ones every hour.",
		},
		"GET /:id": {
			id: "getAuditStream",
			summary: "Retrieve an audit stream",
			description:
				"Requires level 8. Returns the stream, with the number and digest of its last file, which you can compare with a copy of the files.",
		},
		"PATCH /:id": {
			id: "updateAuditStream",
			summary: "Change an audit stream",
			description:
				"Requires level 8. The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. A stream with a changed destination, or that is enabled again, continues within a minute where it stopped.",
			errors: { invalid_input: ELSEWHERE },
		},
		"DELETE /:id": {
			id: "deleteAuditStream",
			summary: "Delete an audit stream",
			description:
				"Requires level 8. Files stay in the bucket. Undelivered entries are no longer delivered.",
		},
		"POST /:id/test": {
			id: "testAuditStream",
			summary: "Test the destination of an audit stream",
			description:
				"Requires level 8. Writes a small object and removes it, with the stored destination and the changes in the body, which are not saved. The response is a 200 in either case, with the result of each step.",
			errors: { invalid_input: ELSEWHERE },
		},
	},
} satisfies OpenApi<typeof auditStreams>;

const NAME = "The stream's name.";
const ENABLED = "Whether the stream delivers entries. After a pause, it continues without a gap.";

const SETTINGS = "Its settings: those of an export, except the ones for the content of files.";

describe(create, {
	name: NAME,
	destination: ["The bucket.", { type: "`S3` or `R2`.", config: SETTINGS }],
	enabled: `${ENABLED} True by default.`,
	from: [
		"Where the stream begins; `start` by default.",
		{ start: "with the oldest entry that exists.", now: "with its own creation." },
	],
});

/** The settings of a bucket: those of an export, without what a stream doesn't have. */
const settings = (
	type: (typeof TYPES)[number],
	id: string,
	change: (value: z.ZodType) => z.ZodType,
) => {
	const fields = Object.entries<z.ZodType>(configs[type].shape).filter(
		([key]) => !FIXED.includes(key) && key !== "prefix",
	);
	const shape = z
		.strictObject({
			prefix: change(z.string().max(512)),
			...Object.fromEntries(fields.map(([key, value]) => [key, change(value)])),
		})
		.meta({ id });
	describe(shape, { prefix: "The prefix of the files' keys." });
	return shape;
};

const Destination = z
	.union(
		TYPES.map((type) => {
			const id = `AuditStream${type}Destination`;
			const config = settings(type, `${id}Config`, (value) => value);
			return z.object({ type: z.literal(type), config }).meta({ id });
		}),
	)
	.meta({ id: "AuditStreamDestination" });

const DestinationUpdate = z
	.union(
		TYPES.map((type) => {
			const id = `AuditStream${type}Destination`;
			const config = settings(type, `${id}ConfigUpdate`, (value) =>
				(value.safeParse(null).success ? value : value.nullable()).optional(),
			);
			return z
				.object({ type: z.literal(type).optional(), config: config.optional() })
				.meta({ id: `${id}Update` });
		}),
	)
	.meta({ id: "AuditStreamDestinationUpdate" });

documentAs(create.shape.destination, Destination);
for (const option of Destination.options)
	describe(option, { type: "The kind of bucket.", config: SETTINGS });

documentAs(update.shape.destination.unwrap(), DestinationUpdate);
for (const option of DestinationUpdate.options)
	describe(option, {
		type: "The kind of bucket, which can't be changed.",
		config: "The settings to change. Null removes one.",
	});

const CHANGED_DESTINATION = [
	"The bucket.",
	{
		type: "The kind of bucket, which can't be changed.",
		config: "The settings to change. Null removes one.",
	},
] as const;

describe(update, { name: NAME, destination: CHANGED_DESTINATION, enabled: ENABLED });

describe(test, { destination: CHANGED_DESTINATION });

describe(AuditStream, {
	id: "Identifies the stream, in paths, keys and files.",
	name: NAME,
	destination: [
		"The bucket.",
		{ type: "`S3` or `R2`.", config: "Its settings without its secrets." },
	],
	enabled: ENABLED,
	sequence: "The number of the last file, from 1; 0 before there is one.",
	digest:
		"The digest of the last line of that file, in hex. Before there is one, the SHA-256 of the stream's id.",
	last_file: "The key of that file; null before there is one.",
	last_delivered_at: "When that file was written; null before there is one.",
	delivered_until:
		"All entries that were written before this time have been delivered; null until the stream has caught up for the first time.",
	delivered_events: "How many entries the files have.",
	missing_events:
		"How many entries were deleted because of their age before they could be delivered. 0 unless the stream failed or was paused for a very long time.",
	latest_error: "Why the latest attempt failed, as text for people; null if it succeeded.",
	next_attempt_at: "When the stream delivers next; null while it is paused.",
	created_at: "When the stream was created.",
});
