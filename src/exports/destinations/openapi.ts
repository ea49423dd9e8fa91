import * as z from "zod";
import { describe } from "../../http/openapi.ts";
import { TYPES } from "./config.ts";
import { configs } from "./configs.ts";

const FILTERS = {
	include_events: "Only events with these names are exported. An empty list means all.",
	exclude_events: "Events with these names aren't exported.",
};

const FILES = {
	...FILTERS,
	prefix:
		"The prefix of the files' keys. Can contain variables: `{year}`, `{month}`, `{day}`, `{hour}`, `{minute}` and `{second}` of the window's end, `{data_interval_start}`, `{data_interval_end}`, `{table}`, and `{window}`, the window without colons, which names the files if it follows the last slash.",
	file_format: [
		"The format of files; `JSONLines` by default.",
		{
			JSONLines: "one JSON object per line.",
			Parquet: "columns, with JSON as text.",
			CSV: "lines with a header (RFC 4180).",
		},
	],
	compression: [
		"How files are compressed; null for no compression.",
		{ gzip: "for all formats.", snappy: "for Parquet only.", zstd: "for all formats." },
	],
	max_file_size_mb:
		"The size, in millions of bytes, after which a new file starts; null for one file per run.",
} as const;

const ENDPOINT = "The URL of the storage's API; the provider's by default.";
const TABLE = "The table; `events` by default. It is created if it is missing.";

describe(configs.S3, {
	...FILES,
	bucket_name: "The bucket.",
	region: "The bucket's region.",
	encryption: [
		"How the storage encrypts objects; null for the bucket's default.",
		{
			AES256: "with a key of the storage service.",
			"aws:kms": "with a key of the key management service.",
		},
	],
	kms_key_id: "The key for `aws:kms`; null for the account's default.",
	aws_access_key_id: "The id of the access key. Secret: never returned.",
	aws_secret_access_key: "The secret of the access key. Secret: never returned.",
	aws_session_token: "The token of a temporary access key. Secret: never returned.",
	endpoint_url: ENDPOINT,
	use_virtual_style_addressing:
		"Whether the bucket is part of the host, not of the path; false by default.",
});

describe(configs.R2, {
	...FILES,
	encryption: ["R2 encrypts all objects.", { AES256: "with a key of the storage service." }],
});

describe(configs.HTTP, {
	...FILTERS,
	url: "The URL that batches of events are sent to, with POST.",
	token: "Sent as `Authorization: Bearer <token>`. Secret: never returned.",
});

describe(configs.Postgres, {
	...FILTERS,
	user: "The user to sign in as. Secret: never returned.",
	password: "The user's password. Secret: never returned.",
	host: "The server's host.",
	database: "The database.",
	port: "The server's port; 5432 by default.",
	schema: "The schema of the table; `public` by default.",
	table_name: TABLE,
	has_self_signed_cert:
		"Not supported: all certificates are verified, and self-signed ones are rejected.",
});

describe(configs.NoOp, {});

describe(configs.ClickHouse, {
	...FILTERS,
	url: "The URL of the server's HTTP interface.",
	database: "The database.",
	user: "The user to sign in as; `default` by default.",
	password: "The user's password. Secret: never returned.",
	table_name: TABLE,
});

describe(configs.AzureBlob, {
	...FILES,
	container_name: "The container.",
	account_name: "The storage account.",
	account_key: "The account's key; either this or `sas_token` is required. Secret: never returned.",
	sas_token:
		"A shared access signature: the part of its URL after the question mark. Secret: never returned.",
	endpoint_url: ENDPOINT,
});

describe(configs.GCS, {
	...FILES,
	bucket_name: "The bucket.",
	hmac_access_id: "The id of an HMAC key of a service account. Secret: never returned.",
	hmac_secret: "The secret of the HMAC key. Secret: never returned.",
	endpoint_url: ENDPOINT,
});

describe(configs.BigQuery, {
	...FILTERS,
	project_id: "The Google Cloud project.",
	dataset_id: "The dataset, which must exist.",
	client_email: "The service account's email address.",
	private_key:
		"The service account's private key, as in its JSON key file. Secret: never returned.",
	private_key_id: "The id of the private key.",
	token_uri: "Where access tokens are issued; Google's by default.",
	table_id: TABLE,
	use_json_type: "Whether columns of JSON have the type `JSON` instead of `STRING`.",
	endpoint_url: "The URL of the API; Google's by default.",
});

/** The config of each type of destination. Each has a name, which generators of clients need. */
export const Destination = z
	.union(
		TYPES.map((type) => {
			const config = z.strictObject(configs[type].shape).meta({ id: `${type}DestinationConfig` });
			return z
				.object({
					type: z.literal(type),
					config: config.safeParse({}).success ? config.optional() : config,
				})
				.meta({ id: `${type}Destination` });
		}),
	)
	.meta({ id: "BatchExportDestination" });

const orNull = (value: z.ZodType) => (value.safeParse(null).success ? value : value.nullable());

/** A destination in a PATCH. Null removes a key of the config. */
export const DestinationUpdate = z
	.union(
		TYPES.map((type) => {
			const keys = Object.entries<z.ZodType>(configs[type].shape).map(([key, value]) => [
				key,
				orNull(value).optional(),
			]);
			const config = z
				.strictObject(Object.fromEntries(keys))
				.meta({ id: `${type}DestinationConfigUpdate` });
			return z
				.object({ type: z.literal(type).optional(), config: config.optional() })
				.meta({ id: `${type}DestinationUpdate` });
		}),
	)
	.meta({ id: "BatchExportDestinationUpdate" });
