import { MisconfiguredError } from "../../../outbound/errors.ts";
import { parseStored } from "../config.ts";
import type { OpenBucket } from "./bucket.ts";

const BUCKETS = ["S3", "R2", "AzureBlob", "GCS"] as const;

export const isBucket = (type: string): type is (typeof BUCKETS)[number] =>
	BUCKETS.some((bucket) => bucket === type);

/**
 * Opens the bucket of a destination. The code of each kind is loaded when it is first used.
 * @param config with decrypted secrets
 * @param timeoutMs how long the server may send no data, in milliseconds
 * @throws MisconfiguredError if the destination isn't a bucket, or its config isn't valid any more
 */
export async function openBucket(
	env: Env,
	{ type, config }: { type: string; config: unknown },
	timeoutMs: number,
): Promise<OpenBucket> {
	switch (type) {
		case "S3":
			return (await import("../s3/bucket.ts")).s3(env, parseStored("S3", config), timeoutMs);
		case "R2":
			return { bucket: (await import("../r2/bucket.ts")).r2(env), steps: {} };
		case "AzureBlob":
			return (await import("../azure/bucket.ts")).azure(
				env,
				parseStored("AzureBlob", config),
				timeoutMs,
			);
		case "GCS":
			return (await import("../gcs/bucket.ts")).gcs(env, parseStored("GCS", config), timeoutMs);
		default:
			throw new MisconfiguredError(`${type} is not a bucket.`);
	}
}
