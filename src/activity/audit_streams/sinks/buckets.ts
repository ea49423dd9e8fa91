/** Buckets, into which streams write files (docs/audit.md#files). */
import * as z from "zod";
import type { AuditFile } from "../../../db/schema/audit_streams.ts";
import type { Bucket, OpenBucket } from "../../../exports/destinations/buckets/bucket.ts";
import { NO_MARK } from "../../../exports/destinations/buckets/bucket.ts";
import type { Configurable } from "../../../exports/destinations/definition.ts";
import type { Opening } from "../../../exports/destinations/index.ts";
import { streamSubject } from "../../../exports/destinations/roles/subjects.ts";
import { issue, text } from "../../../http/fields.ts";
import { MisconfiguredError, reason } from "../../../outbound/errors.ts";
import { runSteps, stillThere, Warning } from "../../../outbound/steps.ts";
import { fileName, keyOf } from "../keys.ts";
import { format, type Sink, type Written } from "./sink.ts";

/** Settings of exports that streams don't have: their files are all alike, with all entries. */
const EXPORTS_ONLY = [
	"file_format",
	"compression",
	"max_file_size_mb",
	"include_events",
	"exclude_events",
];

const prefix = text(512)
	.refine((value) => !/[{}]/.test(value), {
		error: "The prefix of an audit stream can't contain variables.",
	})
	.describe("The prefix of the files' keys.");

/** Returns the settings of a bucket's stream, from those of an export to it. */
function configOf({ config }: Pick<Configurable, "config">) {
	const its = Object.entries<z.ZodType>(config.shape).filter(
		([name]) => !EXPORTS_ONLY.includes(name),
	);
	return z.object({ ...Object.fromEntries(its), prefix, format }).check(({ value, issues }) => {
		// The rules about several settings at once.
		const { format: _, ...others } = value;
		const { error } = config.safeParse(others, { reportInput: true });
		for (const { message, path } of error?.issues ?? [])
			issues.push({ ...issue(others, "invalid_input", message), path });
	});
}

type InExports = Configurable & {
	title: string;
	place: string | null;
	test: string[];
	isOwn: boolean;
	openBucket(env: Env, config: unknown, opening: Opening): Promise<OpenBucket>;
};

/** The sink for a type of bucket of exports. */
export const inBucket = (definition: InExports) => ({
	title: definition.title,
	kind: "files" as const,
	place: definition.place,
	secrets: definition.secrets,
	server: definition.server,
	test: definition.test,
	isOwn: definition.isOwn,
	...(definition.key && { key: definition.key }),
	...(definition.oneOf && { oneOf: definition.oneOf }),
	...(definition.role && { role: definition.role }),
	config: configOf(definition),
	async open(env: Env, stream: Written, timeoutMs: number) {
		const { format: _, ...config } = stream.destination.config;
		const { id, organization_uuid: organization } = stream;
		const subject = streamSubject({ organization, id });
		return bucketSink(stream, await definition.openBucket(env, config, { timeoutMs, subject }));
	},
});

/**
 * Whether the bucket already has the file. After the database was restored from a backup, it can
 * have one with other contents, whose entries a replacement would destroy.
 * @throws MisconfiguredError if there is another object with this name
 */
async function isWritten(bucket: Bucket, { id }: Written, key: string, digest: string) {
	const mark = await bucket.mark(key);
	if (mark && mark.export_id !== id)
		throw new MisconfiguredError(
			`There is an object at ${key} that isn't from this stream. It was not replaced. Move it, or change the prefix.`,
		);
	if (mark && mark.upload !== digest)
		throw new MisconfiguredError(
			`This stream has already written another file to ${key}. It was not replaced. If the database was restored from a backup, create a new stream.`,
		);
	return mark !== null;
}

function bucketSink(stream: Written, { bucket, steps }: OpenBucket): Sink {
	const keyOfFile = (file: AuditFile) => keyOf(stream, fileName(file));
	return {
		keyOf: keyOfFile,
		has: (file) => isWritten(bucket, stream, keyOfFile(file), file.digest),
		async *write({ plan, body }, last) {
			const mark = { export_id: stream.id, upload: plan.digest };
			await bucket.put(keyOfFile(plan), body, "application/gzip", mark);
			yield { sent: last };
		},
		test: () =>
			runSteps({
				...steps,
				write: async () => {
					const key = keyOf(stream, `.tenantry-test-${crypto.randomUUID()}`);
					await bucket.put(key, Buffer.from("test"), "text/plain", NO_MARK);
					// The bucket may not allow deleting objects. Deliveries don't need that.
					return bucket
						.remove(key)
						.catch((error: unknown) => new Warning(`${reason(error)} ${stillThere(key)}`));
				},
			}),
	};
}
