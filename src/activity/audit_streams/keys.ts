import type { auditStreams } from "../../db/schema/audit_streams.ts";
import { MAX_KEY_BYTES } from "../../exports/destinations/buckets/bucket.ts";
import { definitionOf } from "../../exports/destinations/index.ts";
import { MisconfiguredError } from "../../outbound/errors.ts";

type Stream = Pick<typeof auditStreams.$inferSelect, "id" | "organization_uuid" | "destination">;

/** Returns the folder of a stream. In the worker's bucket, those of exports are project ids. */
const rootOf = ({ destination: { type }, organization_uuid }: Stream) =>
	definitionOf(type)?.isOwn ? `audit/${organization_uuid}` : "";

/**
 * Returns the key of an object of a stream (docs/audit.md#files). It contains the stream's id, so
 * that two streams never write the same objects.
 * @throws MisconfiguredError if the key is too long
 */
export function keyOf(stream: Stream, name: string) {
	const prefix = String(stream.destination.config.prefix ?? "")
		.replace(/\/{2,}/g, "/")
		.replace(/^\/|\/$/g, "");
	const key = [rootOf(stream), prefix, stream.id, name].filter(Boolean).join("/");
	if (Buffer.byteLength(key) > MAX_KEY_BYTES)
		throw new MisconfiguredError(
			`The prefix is too long: keys have at most ${MAX_KEY_BYTES} bytes.`,
		);
	return key;
}

/** Returns the name of a file: the day and time of its first entry, and its number. */
export function fileName({ sequence, first_at }: { sequence: number; first_at: string }) {
	const day = first_at.slice(0, 10).replaceAll("-", "/");
	const time = first_at.slice(0, 19).replace(/[-:]/g, "");
	return `${day}/${String(sequence).padStart(10, "0")}-${time}Z.ndjson.gz`;
}
