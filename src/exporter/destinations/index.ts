import type * as z from "zod";
import type { Model } from "../rows.ts";
import { azure, containerUrl } from "./azure.ts";
import { bigquery } from "./bigquery.ts";
import { clickhouse } from "./clickhouse.ts";
import { configs } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { filePattern } from "./files/keys.ts";
import { gcs, gcsBucketUrl } from "./gcs.ts";
import { http } from "./http.ts";
import { noop } from "./noop.ts";
import { postgres } from "./postgres.ts";
import { r2 } from "./r2.ts";
import { bucketUrl, s3 } from "./s3.ts";
import { TIMEOUT_MS } from "./send.ts";

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
 * The pattern of the keys that an export writes, to be compared with those of other exports. Null if it writes no objects,
 * or if its config isn't valid any more.
 * @param config without secrets
 */
export function keyPattern(
	{ type, config }: { type: string; config: unknown },
	model: Model,
): string | null {
	const s3 = configs.S3.safeParse(config).data;
	if (type === "S3") return s3 ? `${bucketUrl(s3).href} ${filePattern(s3, model)}` : null;
	const r2 = configs.R2.safeParse(config).data;
	if (type === "R2") return r2 ? filePattern(r2, model) : null;
	const azure = configs.AzureBlob.safeParse(config).data;
	if (type === "AzureBlob")
		return azure ? `${containerUrl(azure).href} ${filePattern(azure, model)}` : null;
	const gcs = configs.GCS.safeParse(config).data;
	return type === "GCS" && gcs ? `${gcsBucketUrl(gcs).href} ${filePattern(gcs, model)}` : null;
}

/**
 * The destination of a type.
 * @param config with decrypted secrets
 * @param timeoutMs how long the server may be silent, in milliseconds
 * @throws Misconfigured if the type or the config isn't valid any more
 */
export function destinationOf(
	env: Env,
	type: string,
	config: unknown,
	timeoutMs = TIMEOUT_MS,
): Destination {
	switch (type) {
		case "S3":
			return s3(env, parse(configs.S3, config), timeoutMs);
		case "R2":
			return r2(env, parse(configs.R2, config));
		case "HTTP":
			return http(env, parse(configs.HTTP, config), timeoutMs);
		case "Postgres":
			return postgres(env, parse(configs.Postgres, config), timeoutMs);
		case "NoOp":
			return noop;
		case "ClickHouse":
			return clickhouse(env, parse(configs.ClickHouse, config), timeoutMs);
		case "AzureBlob":
			return azure(env, parse(configs.AzureBlob, config), timeoutMs);
		case "GCS":
			return gcs(env, parse(configs.GCS, config), timeoutMs);
		case "BigQuery":
			return bigquery(env, parse(configs.BigQuery, config), timeoutMs);
		default:
			throw new Misconfigured(`There is no destination "${type}".`);
	}
}
