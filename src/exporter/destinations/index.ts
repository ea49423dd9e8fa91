import type * as z from "zod";
import type { Model } from "../rows.ts";
import { azure, containerUrl } from "./azure.ts";
import { bigquery } from "./bigquery.ts";
import { clickhouse } from "./clickhouse.ts";
import { configs } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { filePattern } from "./files.ts";
import { gcs, gcsBucketUrl } from "./gcs.ts";
import { http } from "./http.ts";
import { noop } from "./noop.ts";
import { postgres } from "./postgres.ts";
import { r2 } from "./r2.ts";
import { bucketUrl, s3 } from "./s3.ts";
import { TIMEOUT_MS } from "./send.ts";

/** A config that was checked when it was stored, maybe by older rules. */
function parsed<S extends z.ZodType>(shape: S, config: unknown): z.output<S> {
	const { success, data } = shape.safeParse(config);
	if (success) return data;
	throw new Misconfigured("The destination's configuration isn't valid any more: save it again.");
}

/**
 * Which objects an export writes, whatever the window, to be compared with another's; null: none, or it can't be told.
 * @param config without its secrets
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
 * @param config in the clear
 * @param patience how long it may be silent, in milliseconds
 */
export function destinationOf(
	env: Env,
	type: string,
	config: unknown,
	patience = TIMEOUT_MS,
): Destination {
	switch (type) {
		case "S3":
			return s3(env, parsed(configs.S3, config), patience);
		case "R2":
			return r2(env, parsed(configs.R2, config));
		case "HTTP":
			return http(env, parsed(configs.HTTP, config), patience);
		case "Postgres":
			return postgres(env, parsed(configs.Postgres, config), patience);
		case "NoOp":
			return noop;
		case "ClickHouse":
			return clickhouse(env, parsed(configs.ClickHouse, config), patience);
		case "AzureBlob":
			return azure(env, parsed(configs.AzureBlob, config), patience);
		case "GCS":
			return gcs(env, parsed(configs.GCS, config), patience);
		case "BigQuery":
			return bigquery(env, parsed(configs.BigQuery, config), patience);
		default:
			throw new Misconfigured(`There is no destination "${type}".`);
	}
}
