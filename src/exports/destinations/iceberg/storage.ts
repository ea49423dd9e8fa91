/** The bucket of a table, and the keys of its files. */
import { MisconfiguredError } from "../../../outbound/errors.ts";
import type { Bucket } from "../buckets/bucket.ts";
import { isAwsRegion } from "../fields.ts";
import { keysIn } from "../roles/aws.ts";
import { openSigned } from "../s3/bucket.ts";
import { type Connection, hasOwnKeys, type LoadedTable } from "./catalog.ts";

/** The maximum size of a manifest or a list, which are read as a whole. */
const MAX_MANIFEST_BYTES = 32 * 2 ** 20;

export type Storage = {
	bucket: Bucket;
	/** Returns the key of a location in the bucket. */
	keyOf(location: string): string;
	/** Reads a manifest or a list. */
	read(location: string): Promise<Uint8Array>;
};

/**
 * Repeats a write if its response is lost. The names of files are new in each attempt of a run, so
 * that it would otherwise have to write all of them again.
 */
export const twice = <T>(write: () => Promise<T>): Promise<T> =>
	write().catch((error: unknown) => {
		if (error instanceof MisconfiguredError) throw error;
		return write();
	});

const LOCATION = /^s3[an]?:\/\/([^/]+)\/(.+)$/;

function splitLocation(location: string) {
	const [, bucket_name, key] = LOCATION.exec(location) ?? [];
	if (bucket_name === undefined || key === undefined)
		throw new MisconfiguredError(
			`The table's files are at ${location.slice(0, location.indexOf(":") + 1)}, but exports only write to buckets with the API of S3 (s3://).`,
		);
	return { bucket_name, key };
}

/** The temporary credentials of the catalog for a location: those with the longest prefix. */
function vendedFor(location: string, { config, "storage-credentials": list }: LoadedTable) {
	const [best] = list
		.filter(({ prefix }) => location.startsWith(prefix))
		.toSorted((a, b) => b.prefix.length - a.prefix.length);
	return { ...config, ...best?.config };
}

/** Returns the bucket and its keys: one's own at one's own endpoint, or all of the catalog's. */
function bucketOf(location: string, { config, keys }: Connection, table: LoadedTable) {
	const vended = vendedFor(location, table);
	const { bucket_name } = splitLocation(location);
	const region = config.region ?? vended["s3.region"] ?? vended["client.region"] ?? "us-east-1";
	const own = hasOwnKeys(config);
	const endpoint_url = config.endpoint_url ?? (own ? undefined : vended["s3.endpoint"]);
	// It becomes part of a host, which the catalog must not choose.
	if (!endpoint_url && !isAwsRegion(region))
		throw new MisconfiguredError("The catalog gives no valid region: set region.");
	const settings = { bucket_name, region, prefix: "", endpoint_url };
	if (own) return { settings: { ...settings, role_arn: config.role_arn }, keys };
	if (!vended["s3.access-key-id"])
		throw new MisconfiguredError(
			"The catalog gives no credentials for the table's files: give aws_access_key_id and aws_secret_access_key, or let the catalog vend credentials.",
		);
	return {
		settings,
		keys: keysIn({
			aws_access_key_id: vended["s3.access-key-id"],
			aws_secret_access_key: vended["s3.secret-access-key"],
			aws_session_token: vended["s3.session-token"],
		}),
	};
}

/** Opens the bucket of a table. */
export function storageOf(connection: Connection, table: LoadedTable): Storage {
	const { location } = table.metadata;
	const { bucket_name } = splitLocation(location);
	const { settings, keys } = bucketOf(location, connection, table);
	const { bucket, get } = openSigned(connection, settings, keys);
	function keyOf(path: string) {
		const split = splitLocation(path);
		if (split.bucket_name !== bucket_name)
			throw new MisconfiguredError(
				`The table's files are in several buckets, of which exports only use ${bucket_name}.`,
			);
		return split.key;
	}
	return { bucket, keyOf, read: (path) => get(keyOf(path), MAX_MANIFEST_BYTES) };
}
