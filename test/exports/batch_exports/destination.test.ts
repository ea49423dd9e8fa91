import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../../src/http/errors.ts";
import {
	endpointOf,
	parseConfig,
	secretsOf,
	TYPES,
	type Type,
} from "../../../src/outbound/destinations/config.ts";

const S3 = { bucket_name: "exports", region: "eu-north-1", prefix: "events" };
const HTTP = { url: "https://example.com/batch" };
const POSTGRES = {
	user: "u",
	password: "p",
	host: "db.example.com",
	database: "d",
};
const AZURE = {
	container_name: "exports",
	prefix: "events",
	account_name: "account1",
	account_key: "c2VjcmV0",
};
const SAS = { ...AZURE, account_key: null, sas_token: "sv=1&sig=a%2Fb%3D" };
const GCS = { bucket_name: "exports", prefix: "events" };

const CLICKHOUSE = { url: "https://ch.example.com:8443", database: "d" };

const BIGQUERY = {
	project_id: "project-1",
	dataset_id: "exports",
	client_email: "exporter@project-1.iam.gserviceaccount.com",
	private_key: env.BIGQUERY_PRIVATE_KEY,
};

const NOT_A_KEY =
	"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.";

/** The error for a config: code, detail and attr; null if it is valid. */
function rejected(type: string, config: unknown) {
	try {
		parseConfig(type, config);
		return null;
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
		const { code, detail, attr } = error.body;
		return [code, detail, attr];
	}
}

test.each([
	["S3", S3],
	["S3", { ...S3, aws_access_key_id: "a", aws_secret_access_key: "b" }],
	["S3", { ...S3, prefix: "/{year}/{table}/", compression: "gzip" }],
	["S3", { ...S3, file_format: "Parquet", compression: "zstd" }],
	["S3", { ...S3, compression: "zstd" }],
	["S3", { ...S3, file_format: "CSV", compression: null }],
	["S3", { ...S3, file_format: "CSV", compression: "gzip" }],
	["R2", { prefix: "", file_format: "CSV", compression: "zstd" }],
	["S3", { ...S3, file_format: null, compression: null }],
	["S3", { ...S3, encryption: "aws:kms", kms_key_id: "k" }],
	["S3", { ...S3, use_virtual_style_addressing: "yes" }],
	["R2", { prefix: "" }],
	["R2", { prefix: "a", max_file_size_mb: 100, encryption: "AES256" }],
	["HTTP", { ...HTTP, token: "t", include_events: ["$pageview"] }],
	["Postgres", { ...POSTGRES, port: 5433, schema: "s", table_name: "t" }],
	["Postgres", { ...POSTGRES, schema: null, table_name: '"`\\' }],
	["ClickHouse", { ...CLICKHOUSE, database: '"`\\', table_name: '"`\\' }],
	["NoOp", {}],
	["ClickHouse", CLICKHOUSE],
	[
		"ClickHouse",
		{
			...CLICKHOUSE,
			user: "u",
			password: "p",
			table_name: "t",
			include_events: ["a"],
		},
	],
	["AzureBlob", AZURE],
	["AzureBlob", { ...AZURE, file_format: "Parquet", compression: "zstd" }],
	["AzureBlob", { ...AZURE, endpoint_url: "http://127.0.0.1:10000/account1" }],
	["AzureBlob", SAS],
	["AzureBlob", { ...SAS, sas_token: `?${SAS.sas_token}` }],
	["GCS", GCS],
	["GCS", { ...GCS, hmac_access_id: "GOOG1", hmac_secret: "s" }],
	["GCS", { ...GCS, max_file_size_mb: 5, endpoint_url: "https://g.example" }],
	["BigQuery", BIGQUERY],
	[
		"BigQuery",
		{
			...BIGQUERY,
			project_id: "example.com:project-1",
			private_key_id: "k",
			token_uri: "https://oauth2.googleapis.com/token",
			table_id: "Ereignisse – 2",
			use_json_type: "true",
			endpoint_url: "https://bigquery-exports.p.googleapis.com",
			exclude_events: ["$pageview"],
		},
	],
])("%s %j is valid", (type, config) => {
	expect(rejected(type, config)).toBeNull();
});

describe("is rejected", () => {
	const invalid = "invalid_input";
	const choice = "invalid_choice";
	const config = (key: string) => `destination__config__${key}`;
	test.each([
		["FTP", {}, choice, '"FTP" is not a valid choice.', "destination__type"],
		["toString", {}, choice, '"toString" is not a valid choice.', "destination__type"],
		["NoOp", [], invalid, "Expected a dictionary of items.", "destination__config"],
		["NoOp", { b: 1, a: 2 }, invalid, "Configuration has unknown field/s: 'a', 'b'", "destination"],
		[
			"R2",
			{ ...S3 },
			invalid,
			"Configuration has unknown field/s: 'bucket_name', 'region'",
			"destination",
		],
		["S3", {}, invalid, "Configuration missing required field: 'bucket_name'", "destination"],
		["R2", {}, invalid, "Configuration missing required field: 'prefix'", "destination"],
		[
			"S3",
			{ ...S3, aws_access_key_id: "a" },
			invalid,
			"Configuration missing required field: 'aws_secret_access_key'",
			"destination",
		],
		[
			"S3",
			{ ...S3, bucket_name: null },
			"null",
			"This field may not be null.",
			config("bucket_name"),
		],
		[
			"S3",
			{ ...S3, bucket_name: " " },
			"blank",
			"This field may not be blank.",
			config("bucket_name"),
		],
		["S3", { ...S3, bucket_name: ".." }, invalid, expect.any(String), config("bucket_name")],
		["S3", { ...S3, bucket_name: "a/b" }, invalid, expect.any(String), config("bucket_name")],
		["S3", { ...S3, region: "x.example.com/" }, invalid, expect.any(String), config("region")],
		["S3", { ...S3, prefix: 1 }, invalid, "Not a valid string.", config("prefix")],
		["S3", { ...S3, prefix: "{hours}" }, invalid, "Unknown variable {hours}.", config("prefix")],
		["S3", { ...S3, prefix: "a/../b" }, invalid, expect.any(String), config("prefix")],
		[
			"S3",
			{ ...S3, file_format: "XML" },
			choice,
			'"XML" is not a valid choice.',
			config("file_format"),
		],
		[
			"S3",
			{ ...S3, compression: "lz4" },
			choice,
			'"lz4" is not a valid choice.',
			config("compression"),
		],
		[
			"S3",
			{ ...S3, file_format: "CSV", compression: "snappy" },
			choice,
			'"snappy" is not a valid choice.',
			config("compression"),
		],
		[
			"R2",
			{ prefix: "", file_format: "JSONLines", compression: "snappy" },
			choice,
			'"snappy" is not a valid choice.',
			config("compression"),
		],
		[
			"S3",
			{ ...S3, max_file_size_mb: 0 },
			"min_value",
			"Ensure this value is greater than or equal to 1.",
			config("max_file_size_mb"),
		],
		[
			"S3",
			{ ...S3, max_file_size_mb: 1.5 },
			invalid,
			"A valid integer is required.",
			config("max_file_size_mb"),
		],
		["S3", { ...S3, kms_key_id: "k" }, invalid, expect.any(String), config("kms_key_id")],
		[
			"S3",
			{ ...S3, kms_key_id: "k", encryption: "AES256" },
			invalid,
			expect.any(String),
			config("kms_key_id"),
		],
		[
			"R2",
			{ prefix: "", encryption: "aws:kms" },
			choice,
			'"aws:kms" is not a valid choice.',
			config("encryption"),
		],
		[
			"S3",
			{ ...S3, endpoint_url: "ftp://example.com" },
			invalid,
			"Enter a valid URL.",
			config("endpoint_url"),
		],
		[
			"S3",
			{ ...S3, endpoint_url: "https://u:p@example.com" },
			invalid,
			expect.any(String),
			config("endpoint_url"),
		],
		[
			"S3",
			{ ...S3, endpoint_url: "https://example.com?a" },
			invalid,
			expect.any(String),
			config("endpoint_url"),
		],
		[
			"S3",
			{
				...S3,
				endpoint_url: "http://127.0.0.1",
				use_virtual_style_addressing: true,
			},
			invalid,
			expect.any(String),
			config("use_virtual_style_addressing"),
		],
		[
			"S3",
			{ ...S3, include_events: "a" },
			"not_a_list",
			'Expected a list of items but got type "str".',
			config("include_events"),
		],
		[
			"S3",
			{ ...S3, include_events: ["a", ""] },
			"blank",
			"This field may not be blank.",
			config("include_events__1"),
		],
		[
			"HTTP",
			{ ...HTTP, include_events: Array(1000).fill("x".repeat(33)) },
			"max_length",
			"Ensure this configuration has no more than 32768 characters.",
			"destination__config",
		],
		["HTTP", { url: "example.com" }, invalid, "Enter a valid URL.", config("url")],
		[
			"HTTP",
			{ ...HTTP, token: "a\nb" },
			invalid,
			"Only printable ASCII characters are allowed.",
			config("token"),
		],
		[
			"HTTP",
			{ ...HTTP, token: "tökén" },
			invalid,
			"Only printable ASCII characters are allowed.",
			config("token"),
		],
		[
			"S3",
			{ ...S3, aws_access_key_id: "a\nb", aws_secret_access_key: "b" },
			invalid,
			"Only printable ASCII characters are allowed.",
			config("aws_access_key_id"),
		],
		[
			"S3",
			{ ...S3, encryption: "aws:kms", kms_key_id: "a\nb" },
			invalid,
			"Only printable ASCII characters are allowed.",
			config("kms_key_id"),
		],
		["HTTP", { url: "https://u@example.com" }, invalid, expect.any(String), config("url")],
		[
			"Postgres",
			{ ...POSTGRES, port: "5e3" },
			invalid,
			"A valid integer is required.",
			config("port"),
		],
		[
			"Postgres",
			{ ...POSTGRES, port: 65536 },
			"max_value",
			"Ensure this value is less than or equal to 65535.",
			config("port"),
		],
		[
			"Postgres",
			{ ...POSTGRES, schema: "é".repeat(32) },
			invalid,
			"A name in PostgreSQL has at most 63 bytes.",
			config("schema"),
		],
		["Postgres", { ...POSTGRES, host: "a/b" }, invalid, "Enter a valid host.", config("host")],
		["Postgres", { ...POSTGRES, host: "a:5432" }, invalid, "Enter a valid host.", config("host")],
		["Postgres", { ...POSTGRES, host: "/tmp" }, invalid, "Enter a valid host.", config("host")],
		[
			"Postgres",
			{ ...POSTGRES, has_self_signed_cert: "maybe" },
			invalid,
			"Must be a valid boolean.",
			config("has_self_signed_cert"),
		],
		[
			"ClickHouse",
			{ url: CLICKHOUSE.url },
			invalid,
			"Configuration missing required field: 'database'",
			"destination",
		],
		["ClickHouse", { ...CLICKHOUSE, user: "a:b" }, invalid, expect.any(String), config("user")],
		[
			"ClickHouse",
			{ ...CLICKHOUSE, url: "https://ch.example.com/#a" },
			invalid,
			expect.any(String),
			config("url"),
		],
		[
			"AzureBlob",
			{},
			invalid,
			"Configuration missing required field: 'container_name'",
			"destination",
		],
		[
			"AzureBlob",
			{ ...AZURE, account_key: null },
			invalid,
			"Configuration missing required field: 'account_key' or 'sas_token'",
			"destination",
		],
		[
			"AzureBlob",
			{ ...SAS, account_key: AZURE.account_key },
			invalid,
			"Give account_key or sas_token, not both.",
			config("sas_token"),
		],
		...["x", "Exports", "a--b", "-a1", "a/b", "a".repeat(64)].map(
			(container_name): [string, object, string, unknown, string] => [
				"AzureBlob",
				{ ...AZURE, container_name },
				container_name.length > 63 ? "max_length" : invalid,
				expect.any(String),
				config("container_name"),
			],
		),
		...["ab", "Account", "a.b.c", "evil.example/"].map(
			(account_name): [string, object, string, unknown, string] => [
				"AzureBlob",
				{ ...AZURE, account_name },
				invalid,
				"The name of a storage account must have 3 to 24 lowercase letters and digits.",
				config("account_name"),
			],
		),
		[
			"AzureBlob",
			{ ...AZURE, account_key: "not base64!" },
			invalid,
			"An account key must be in Base64.",
			config("account_key"),
		],
		...[
			"https://account1.blob.core.windows.net/exports?sv=1&sig=x#",
			"sv=1",
			"sig=a\nb",
			"sig=ä",
		].map((sas_token): [string, object, string, unknown, string] => [
			"AzureBlob",
			{ ...SAS, sas_token },
			invalid,
			"A SAS token is the part of a SAS URL after the question mark.",
			config("sas_token"),
		]),
		[
			"AzureBlob",
			{ ...AZURE, compression: "lz4" },
			choice,
			'"lz4" is not a valid choice.',
			config("compression"),
		],
		[
			"AzureBlob",
			{ ...AZURE, endpoint_url: "https://example.com?sig=x" },
			invalid,
			"The URL of an endpoint can't have a query or a fragment.",
			config("endpoint_url"),
		],
		[
			"GCS",
			{ prefix: "" },
			invalid,
			"Configuration missing required field: 'bucket_name'",
			"destination",
		],
		[
			"GCS",
			{ ...GCS, hmac_secret: "s" },
			invalid,
			"Configuration missing required field: 'hmac_access_id'",
			"destination",
		],
		[
			"GCS",
			{ ...GCS, region: "eu" },
			invalid,
			"Configuration has unknown field/s: 'region'",
			"destination",
		],
		[
			"GCS",
			{ ...GCS, compression: "snappy" },
			choice,
			'"snappy" is not a valid choice.',
			config("compression"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, dataset_id: undefined },
			invalid,
			"Configuration missing required field: 'dataset_id'",
			"destination",
		],
		...["secret", "", BIGQUERY.private_key.slice(0, 900)].map(
			(private_key): [string, object, string, string, string] => [
				"BigQuery",
				{ ...BIGQUERY, private_key },
				...(private_key
					? ([invalid, NOT_A_KEY] as const)
					: (["blank", "This field may not be blank."] as const)),
				config("private_key"),
			],
		),
		[
			"BigQuery",
			{ ...BIGQUERY, project_id: "a/b" },
			invalid,
			"A project ID can only have letters, digits, hyphens, dots and colons.",
			config("project_id"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, dataset_id: "a-b" },
			invalid,
			"A dataset ID can only have letters, digits and underscores.",
			config("dataset_id"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, table_id: 'a"b' },
			invalid,
			"A table ID can only have letters, digits, underscores, hyphens and spaces.",
			config("table_id"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, table_id: "a`b" },
			invalid,
			"A table ID can only have letters, digits, underscores, hyphens and spaces.",
			config("table_id"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, client_email: "somebody" },
			invalid,
			"Enter a valid email address.",
			config("client_email"),
		],
		[
			"BigQuery",
			{ ...BIGQUERY, token_uri: "oauth2" },
			invalid,
			"Enter a valid URL.",
			config("token_uri"),
		],
	])("%s %j", (type, given, code, detail, attr) => {
		expect(rejected(type, given)).toEqual([code, detail, attr]);
	});
});

test("a private key's line breaks may be written as \\n", async () => {
	const { private_key } = BIGQUERY;
	const escaped = private_key.trim().replaceAll("\n", "\\n");
	expect(escaped).not.toContain("\n");
	expect(parseConfig("BigQuery", { ...BIGQUERY, private_key: escaped })).toMatchObject({
		private_key: private_key.trim(),
	});
});

test("names of events are kept as they are, like those of events that were sent", () => {
	const config = { ...HTTP, include_events: [" a "], exclude_events: ["a\n"] };
	expect(parseConfig("HTTP", config)).toMatchObject(config);
	expect(rejected("HTTP", { ...HTTP, include_events: [" "] })).toEqual([
		"blank",
		"This field may not be blank.",
		"destination__config__include_events__0",
	]);
});

test("a private key has to be an RSA key", async () => {
	const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
		"sign",
		"verify",
	]);
	if (!("privateKey" in pair)) throw new Error("No pair of keys.");
	const bytes = await crypto.subtle.exportKey("pkcs8", pair.privateKey);
	if (!(bytes instanceof ArrayBuffer)) throw new Error("No bytes.");
	const private_key = `-----BEGIN PRIVATE KEY-----\n${Buffer.from(bytes).toString("base64")}\n-----END PRIVATE KEY-----`;
	expect(rejected("BigQuery", { ...BIGQUERY, private_key })).toEqual([
		"invalid_input",
		NOT_A_KEY,
		"destination__config__private_key",
	]);
});

test("a host is normalised as in URLs", () => {
	const host = (host: string) => parseConfig("Postgres", { ...POSTGRES, host });
	expect(host("DB.example.com")).toMatchObject({ host: "db.example.com" });
	expect(host("127.1")).toMatchObject({ host: "127.0.0.1" });
	expect(host("::1")).toMatchObject({ host: "[::1]" });
	expect(host("[::1]")).toMatchObject({ host: "[::1]" });
});

test("each type lists its secret fields", () => {
	expect(secretsOf("Postgres")).toEqual(["user", "password"]);
	expect(secretsOf("ClickHouse")).toEqual(["password"]);
	expect(secretsOf("R2")).toEqual([]);
	expect(secretsOf("AzureBlob")).toEqual(["account_key", "sas_token"]);
	expect(secretsOf("GCS")).toEqual(["hmac_access_id", "hmac_secret"]);
	expect(secretsOf("BigQuery")).toEqual(["private_key"]);
});

/** For each type: configs that lead to different servers, as far as that decides on secrets. */
const SERVERS = {
	S3: [{}, { endpoint_url: "https://a.test" }, { endpoint_url: "https://b.test" }],
	R2: [{}],
	HTTP: [{ url: "https://a.test/x" }, { url: "https://a.test:8443/x" }, { url: "http://a.test/x" }],
	Postgres: [{ host: "a.test" }, { host: "b.test" }, { host: "a.test", port: 5433 }],
	NoOp: [{}],
	ClickHouse: [{ url: "https://a.test" }, { url: "https://b.test" }],
	AzureBlob: [
		{ account_name: "a" },
		{ account_name: "b" },
		{ account_name: "a", endpoint_url: "https://b.test" },
	],
	GCS: [{}, { endpoint_url: "https://a.test" }, { endpoint_url: "https://b.test" }],
	BigQuery: [
		{},
		{ endpoint_url: "https://a.test" },
		{ token_uri: "https://a.test" },
		{ token_uri: "https://b.test" },
		{ endpoint_url: "https://a.test", token_uri: "https://b.test" },
	],
} satisfies Record<Type, object[]>;

test.each(TYPES)("a stored secret of %s doesn't follow to another server", (type) => {
	const servers = SERVERS[type].map((config) => endpointOf({ type, config }));
	expect(new Set(servers).size).toBe(servers.length);
	expect(servers.length > 1).toBe(secretsOf(type).length > 0);
});

test.each(["not a url", "http://", ""])(
	"an endpoint that is not a URL is refused, with its bucket in the host name too: %j",
	(endpoint_url) => {
		for (const use_virtual_style_addressing of [true, false])
			expect(rejected("S3", { ...S3, endpoint_url, use_virtual_style_addressing })).toEqual([
				"invalid_input",
				"Enter a valid URL.",
				"destination__config__endpoint_url",
			]);
	},
);
