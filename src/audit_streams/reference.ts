import * as z from "zod";
import { configs } from "../exporter/destinations/config.ts";
import { describe, type Reference } from "../http/reference.ts";
import { documentAs } from "../http/router.ts";
import type auditStreams from "./routes.ts";
import { AuditStream, create, FIXED, TYPES, test, update } from "./shape.ts";

const TOO_MANY = "The organization has five streams already.";
const ELSEWHERE =
	"The destination leads to another server, so its secrets have to be given again. Or a setting is one that streams don't have, or is wrong.";

const reference: Reference<typeof auditStreams> = {
	tag: {
		name: "Audit streams",
		description:
			"Carry the organization's activity and events to a bucket of your own, every hour, as compressed JSON lines. Each line has the digest of the line before, so that a line that was changed, removed or added later is found. Requires level 8, also for reading.",
	},
	operations: {
		"/": {
			get: {
				id: "listAuditStreams",
				summary: "List the audit streams",
				description: "Lists the organization's streams, newest first. Requires level 8.",
			},
			post: {
				id: "createAuditStream",
				summary: "Create an audit stream",
				description:
					"Requires level 8. The first files are written within minutes. An organization can have five streams.",
				errors: { invalid_input: TOO_MANY },
			},
		},
		"/:id": {
			get: {
				id: "getAuditStream",
				summary: "Retrieve an audit stream",
				description:
					"Requires level 8. Answers with the stream, and with the number and the digest of its last file, to compare a copy of the files with.",
			},
			patch: {
				id: "updateAuditStream",
				summary: "Change an audit stream",
				description:
					"Requires level 8. The `config` of the destination is merged over the stored one; null removes a key. The type can't be changed. A stream whose destination was changed, or that is enabled again, goes on within a minute where it had stopped.",
				errors: { invalid_input: ELSEWHERE },
			},
			delete: {
				id: "deleteAuditStream",
				summary: "Delete an audit stream",
				description:
					"Requires level 8. Files stay in the bucket. What was not delivered yet isn't any more.",
			},
		},
		"/:id/test": {
			post: {
				id: "testAuditStream",
				summary: "Test the destination of an audit stream",
				description:
					"Requires level 8. Writes a small object and removes it, with the stored destination and the changes in the body, which are not saved. The answer is a 200 in either case, and says how each step went.",
				errors: { invalid_input: ELSEWHERE },
			},
		},
	},
};
export default reference;

const NAME = "The stream's name.";
const ENABLED = "Whether the stream delivers. One that is enabled again leaves nothing out.";

const SETTINGS =
	"Its settings, as those of an export, without the ones that say what files contain.";

describe(create, {
	name: NAME,
	destination: ["The bucket.", { type: "`S3` or `R2`.", config: SETTINGS }],
	enabled: `${ENABLED} True by default.`,
	from: [
		"Where the stream begins; `start` by default.",
		{ start: "with all entries that are kept.", now: "with its own creation." },
	],
});

/** The settings of a bucket: those of an export, without what a stream doesn't have. */
const settings = (type: (typeof TYPES)[number], change: (value: z.ZodType) => z.ZodType) => {
	const fields = Object.entries<z.ZodType>(configs[type].shape).filter(
		([key]) => !FIXED.includes(key) && key !== "prefix",
	);
	const shape = z.strictObject({
		prefix: change(z.string().max(512)),
		...Object.fromEntries(fields.map(([key, value]) => [key, change(value)])),
	});
	describe(shape, { prefix: "How the keys of files begin." });
	return shape;
};

const Destination = z
	.union(
		TYPES.map((type) =>
			z.object({ type: z.literal(type), config: settings(type, (value) => value) }),
		),
	)
	.meta({ id: "AuditStreamDestination" });

const DestinationUpdate = z
	.union(
		TYPES.map((type) =>
			z.object({
				type: z.literal(type).optional(),
				config: settings(type, (value) =>
					(value.safeParse(null).success ? value : value.nullable()).optional(),
				).optional(),
			}),
		),
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
		"All entries that were written before this time are delivered; null until the stream has caught up for the first time.",
	delivered_events: "How many entries the files have.",
	missing_events:
		"How many entries were deleted because of their age before they could be delivered. 0 unless the stream failed or was paused for very long.",
	latest_error: "Why the latest try failed, for people; null if it didn't.",
	next_attempt_at: "When the stream delivers next; null while it is paused.",
	created_at: "When the stream was created.",
});
