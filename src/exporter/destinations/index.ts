import type * as z from "zod";
import type { OpenBucket } from "../../outbound/buckets/bucket.ts";
import { configs } from "../../outbound/destinations/config.ts";
import { TIMEOUT_MS } from "../../outbound/send.ts";
import { type Destination, Misconfigured } from "./destination.ts";

/**
 * Parses a stored config.
 * @throws Misconfigured if it was stored under older rules and is no longer valid
 */
function parse<S extends z.ZodType>(shape: S, config: unknown): z.output<S> {
	const { success, data } = shape.safeParse(config);
	if (success) return data;
	throw new Misconfigured("The destination's configuration is no longer valid: save it again.");
}

/**
 * Returns the destination of a type. Its code is loaded when it is first used.
 * @param config with decrypted secrets
 * @param timeoutMs how long the server may send no data, in milliseconds
 * @throws Misconfigured if the type or the config isn't valid any more
 */
export async function destinationOf(
	env: Env,
	type: string,
	config: unknown,
	timeoutMs = TIMEOUT_MS,
): Promise<Destination> {
	switch (type) {
		case "S3":
			return (await import("../../outbound/buckets/s3.ts")).s3(
				env,
				parse(configs.S3, config),
				timeoutMs,
			);
		case "R2":
			return (await import("../../outbound/buckets/r2.ts")).r2(env, parse(configs.R2, config));
		case "HTTP":
			return (await import("./http.ts")).http(env, parse(configs.HTTP, config), timeoutMs);
		case "Postgres":
			return (await import("./postgres.ts")).postgres(
				env,
				parse(configs.Postgres, config),
				timeoutMs,
			);
		case "NoOp":
			return (await import("./noop.ts")).noop;
		case "ClickHouse":
			return (await import("./clickhouse.ts")).clickhouse(
				env,
				parse(configs.ClickHouse, config),
				timeoutMs,
			);
		case "AzureBlob":
			return (await import("../../outbound/buckets/azure.ts")).azure(
				env,
				parse(configs.AzureBlob, config),
				timeoutMs,
			);
		case "GCS":
			return (await import("../../outbound/buckets/gcs.ts")).gcs(
				env,
				parse(configs.GCS, config),
				timeoutMs,
			);
		case "BigQuery":
			return (await import("./bigquery.ts")).bigquery(
				env,
				parse(configs.BigQuery, config),
				timeoutMs,
			);
		default:
			throw new Misconfigured(`There is no destination "${type}".`);
	}
}

/**
 * Returns the bucket of an S3 or R2 destination, for files that aren't exports.
 * @param config with decrypted secrets
 * @throws Misconfigured if the type or the config isn't valid any more
 */
export async function openBucket(
	env: Env,
	{ type, config }: { type: string; config: unknown },
	timeoutMs: number,
): Promise<OpenBucket> {
	if (type === "S3")
		return (await import("../../outbound/buckets/s3.ts")).openBucket(
			env,
			parse(configs.S3, config),
			timeoutMs,
		);
	if (type === "R2")
		return { bucket: (await import("../../outbound/buckets/r2.ts")).r2Bucket(env), steps: {} };
	throw new Misconfigured(`${type} is not a bucket.`);
}
