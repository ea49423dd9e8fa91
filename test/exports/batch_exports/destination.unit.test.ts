import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { TYPES, type Type } from "../../../src/exports/destinations/index.ts";
import { parseConfig, secretsOf, serverOf } from "../../../src/exports/destinations/secrets.ts";
import { ApiError } from "../../../src/http/errors.ts";

/** A private key in PEM, as in a service account's JSON key. */
const pemOf = ({ privateKey }: Pick<ReturnType<typeof generateKeyPairSync>, "privateKey">) =>
	privateKey.export({ type: "pkcs8", format: "pem" }).toString();

const AZURE = { container_name: "exports", prefix: "events", account_name: "account1" };
const SAS = { account_key: null, sas_token: "sv=1&sig=a%2Fb%3D" };

const AWS = { aws_access_key_id: "a", aws_secret_access_key: "b" };

/** A valid configuration of each type. */
const VALID = {
	S3: { bucket_name: "exports", region: "eu-north-1", prefix: "events" },
	R2: { prefix: "" },
	HTTP: { url: "https://example.com/batch" },
	Postgres: { user: "u", password: "p", host: "db.example.com", database: "d" },
	NoOp: {},
	ClickHouse: { url: "https://ch.example.com:8443", database: "d" },
	AzureBlob: { ...AZURE, account_key: "c2VjcmV0" },
	GCS: { bucket_name: "exports", prefix: "events" },
	BigQuery: {
		project_id: "project-1",
		dataset_id: "exports",
		client_email: "exporter@project-1.iam.gserviceaccount.com",
		private_key: pemOf(generateKeyPairSync("rsa", { modulusLength: 2048 })),
	},
	Iceberg: { catalog_uri: "https://catalog.example.com/api/catalog", namespace: "exports" },
} satisfies Record<Type, object>;

/** The error for a config: code, detail and attr; null if it is valid. */
function errorOf(type: string, config: unknown) {
	try {
		parseConfig(type, config);
		return null;
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
		const { code, detail, attr } = error.body;
		return [code, detail, attr];
	}
}

/** The error for a type's valid config with a change. */
const changed = (type: Type, change: object) => errorOf(type, { ...VALID[type], ...change });

test.each<[Type, object]>([
	["S3", {}],
	["S3", { aws_access_key_id: "a", aws_secret_access_key: "b" }],
	["S3", { prefix: "/{year}/{table}/", compression: "gzip" }],
	["S3", { file_format: "Parquet", compression: "zstd" }],
	["S3", { compression: "zstd" }],
	["S3", { file_format: "CSV", compression: null }],
	["S3", { file_format: "CSV", compression: "gzip" }],
	["S3", { file_format: null, compression: null }],
	["S3", { encryption: "aws:kms", kms_key_id: "k" }],
	["S3", { use_virtual_style_addressing: "yes" }],
	["R2", {}],
	["R2", { file_format: "CSV", compression: "zstd" }],
	["R2", { prefix: "a", max_file_size_mb: 100, encryption: "AES256" }],
	["HTTP", { token: "t", include_events: ["$pageview"] }],
	["Postgres", { port: 5433, schema: "s", table_name: "t" }],
	["Postgres", { schema: null, table_name: '"`\\' }],
	["NoOp", {}],
	["ClickHouse", {}],
	["ClickHouse", { database: '"`\\', table_name: '"`\\' }],
	["ClickHouse", { user: "u", password: "p", table_name: "t", include_events: ["a"] }],
	["AzureBlob", {}],
	["AzureBlob", { file_format: "Parquet", compression: "zstd" }],
	["AzureBlob", { endpoint_url: "http://127.0.0.1:10000/account1" }],
	["AzureBlob", SAS],
	["AzureBlob", { ...SAS, sas_token: `?${SAS.sas_token}` }],
	["GCS", {}],
	["GCS", { hmac_access_id: "GOOG1", hmac_secret: "s" }],
	["GCS", { max_file_size_mb: 5, endpoint_url: "https://g.example" }],
	["BigQuery", {}],
	["BigQuery", { project_id: "example.com:project-1", private_key_id: "k" }],
	["BigQuery", { token_uri: "https://oauth2.googleapis.com/token", use_json_type: "true" }],
	["Iceberg", {}],
	["Iceberg", { namespace: "a.b.c", table_name: "événements", warehouse: "w", token: "t" }],
	["Iceberg", { client_id: "c", client_secret: "s", scope: "PRINCIPAL_ROLE:ALL" }],
	["Iceberg", { ...AWS, signing_name: "s3tables", region: "eu-north-1" }],
	["BigQuery", { table_id: "Ereignisse – 2", exclude_events: ["$pageview"] }],
	["BigQuery", { endpoint_url: "https://bigquery-exports.p.googleapis.com" }],
])("%s %j is valid", (type, change) => {
	expect(changed(type, change)).toBeNull();
});

const NO_KEY =
	"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.";
const NO_URL = "Enter a valid URL.";
const NO_REGION = "AWS has no such region. Its regions are named like eu-central-1.";
const ROLE = "arn:aws:iam::123456789012:role/exports";
const NO_HOST = "Enter a valid host.";
const NO_INTEGER = "A valid integer is required.";
const NOT_PRINTABLE = "Only printable ASCII characters are allowed.";
const NO_ACCOUNT = "The name of a storage account must have 3 to 24 lowercase letters and digits.";
const NO_SAS = "A SAS token is the part of a SAS URL after the question mark.";
const NO_TABLE = "A table ID can only have letters, digits, underscores, hyphens and spaces.";
const LARGE = Array(1000).fill("x".repeat(33));
const ANY = expect.any(String);

describe("is rejected", () => {
	test.each([
		["FTP", {}, "invalid_choice", '"FTP" is not a valid choice.', "destination__type"],
		["toString", {}, "invalid_choice", '"toString" is not a valid choice.', "destination__type"],
		["NoOp", [], "invalid_input", "Expected a dictionary of items.", "destination__config"],
		[
			"HTTP",
			{ ...VALID.HTTP, include_events: LARGE },
			"max_length",
			"Ensure this configuration has no more than 32768 characters.",
			"destination__config",
		],
	])("%s %j", (type, config, ...error) => {
		expect(errorOf(type, config)).toEqual(error);
	});

	test.each<[Type, object, string]>([
		["NoOp", { b: 1, a: 2 }, "has unknown field/s: 'a', 'b'"],
		["R2", VALID.S3, "has unknown field/s: 'bucket_name', 'region'"],
		["GCS", { region: "eu" }, "has unknown field/s: 'region'"],
		["S3", { bucket_name: undefined }, "missing required field: 'bucket_name'"],
		["S3", { aws_access_key_id: "a" }, "missing required field: 'aws_secret_access_key'"],
		["R2", { prefix: undefined }, "missing required field: 'prefix'"],
		["ClickHouse", { database: undefined }, "missing required field: 'database'"],
		["AzureBlob", { container_name: undefined }, "missing required field: 'container_name'"],
		["AzureBlob", { account_key: null }, "missing required field: 'account_key' or 'sas_token'"],
		["GCS", { bucket_name: undefined }, "missing required field: 'bucket_name'"],
		["GCS", { hmac_secret: "s" }, "missing required field: 'hmac_access_id'"],
		["BigQuery", { dataset_id: undefined }, "missing required field: 'dataset_id'"],
	])("%s %j: configuration %s", (type, change, why) => {
		const error = ["invalid_input", `Configuration ${why}`, "destination"];
		expect(changed(type, change)).toEqual(error);
	});

	test.each<[Type, object]>([
		["S3", { file_format: "XML" }],
		["S3", { compression: "lz4" }],
		["S3", { file_format: "CSV", compression: "snappy" }],
		["R2", { file_format: "JSONLines", compression: "snappy" }],
		["R2", { encryption: "aws:kms" }],
		["AzureBlob", { compression: "lz4" }],
		["GCS", { compression: "snappy" }],
	])("%s %j, which is no choice", (type, change) => {
		const [key, value] = Object.entries(change).at(-1) ?? [];
		const detail = `"${value}" is not a valid choice.`;
		expect(changed(type, change)).toEqual([
			"invalid_choice",
			detail,
			`destination__config__${key}`,
		]);
	});

	// The last field of the change is the one that is wrong.
	test.each<[type: Type, change: object, detail: unknown, code?: string]>([
		["S3", { bucket_name: null }, "This field may not be null.", "null"],
		["S3", { bucket_name: " " }, "This field may not be blank.", "blank"],
		["S3", { bucket_name: ".." }, ANY],
		["S3", { bucket_name: "a/b" }, ANY],
		["S3", { region: "x.example.com/" }, ANY],
		["S3", { role_arn: ROLE, region: "s3" }, NO_REGION],
		["S3", { role_arn: ROLE, endpoint_url: "https://s3.example.com", region: "auto" }, NO_REGION],
		["S3", { prefix: 1 }, "Not a valid string."],
		["S3", { prefix: "{hours}" }, "Unknown variable {hours}."],
		["S3", { prefix: "a/../b" }, ANY],
		[
			"S3",
			{ max_file_size_mb: 0 },
			"Ensure this value is greater than or equal to 1.",
			"min_value",
		],
		["S3", { max_file_size_mb: 1.5 }, NO_INTEGER],
		["S3", { kms_key_id: "k" }, ANY],
		["S3", { encryption: "AES256", kms_key_id: "k" }, ANY],
		["S3", { endpoint_url: "ftp://example.com" }, NO_URL],
		["S3", { endpoint_url: "not a url" }, NO_URL],
		["S3", { endpoint_url: "http://" }, NO_URL],
		["S3", { endpoint_url: "" }, NO_URL],
		["S3", { use_virtual_style_addressing: true, endpoint_url: "not a url" }, NO_URL],
		["S3", { use_virtual_style_addressing: true, endpoint_url: "http://" }, NO_URL],
		["S3", { use_virtual_style_addressing: true, endpoint_url: "" }, NO_URL],
		["S3", { endpoint_url: "https://u:p@example.com" }, ANY],
		["S3", { endpoint_url: "https://example.com?a" }, ANY],
		["S3", { endpoint_url: "http://127.0.0.1", use_virtual_style_addressing: true }, ANY],
		["S3", { include_events: "a" }, 'Expected a list of items but got type "str".', "not_a_list"],
		["S3", { aws_secret_access_key: "b", aws_access_key_id: "a\nb" }, NOT_PRINTABLE],
		["S3", { encryption: "aws:kms", kms_key_id: "a\nb" }, NOT_PRINTABLE],
		["HTTP", { url: "example.com" }, NO_URL],
		["HTTP", { url: "https://u@example.com" }, ANY],
		["HTTP", { token: "a\nb" }, NOT_PRINTABLE],
		["HTTP", { token: "tökén" }, NOT_PRINTABLE],
		["Postgres", { port: "5e3" }, NO_INTEGER],
		["Postgres", { port: 65536 }, "Ensure this value is less than or equal to 65535.", "max_value"],
		["Postgres", { schema: "é".repeat(32) }, "A name in PostgreSQL has at most 63 bytes."],
		["Postgres", { host: "a/b" }, NO_HOST],
		["Postgres", { host: "a:5432" }, NO_HOST],
		["Postgres", { host: "/tmp" }, NO_HOST],
		["Postgres", { has_self_signed_cert: "maybe" }, "Must be a valid boolean."],
		["ClickHouse", { user: "a:b" }, ANY],
		["ClickHouse", { url: "https://ch.example.com/#a" }, ANY],
		["AzureBlob", { sas_token: SAS.sas_token }, "Give account_key or sas_token, not both."],
		["AzureBlob", { container_name: "x" }, ANY],
		["AzureBlob", { container_name: "Exports" }, ANY],
		["AzureBlob", { container_name: "a--b" }, ANY],
		["AzureBlob", { container_name: "-a1" }, ANY],
		["AzureBlob", { container_name: "a/b" }, ANY],
		["AzureBlob", { container_name: "a".repeat(64) }, ANY, "max_length"],
		["AzureBlob", { account_name: "ab" }, NO_ACCOUNT],
		["AzureBlob", { account_name: "Account" }, NO_ACCOUNT],
		["AzureBlob", { account_name: "a.b.c" }, NO_ACCOUNT],
		["AzureBlob", { account_name: "evil.example/" }, NO_ACCOUNT],
		["AzureBlob", { account_key: "not base64!" }, "An account key must be in Base64."],
		["AzureBlob", { ...SAS, sas_token: "https://a.blob.core.windows.net/x?sv=1&sig=x#" }, NO_SAS],
		["AzureBlob", { ...SAS, sas_token: "sv=1" }, NO_SAS],
		["AzureBlob", { ...SAS, sas_token: "sig=a\nb" }, NO_SAS],
		["AzureBlob", { ...SAS, sas_token: "sig=ä" }, NO_SAS],
		[
			"AzureBlob",
			{ endpoint_url: "https://example.com?sig=x" },
			"The URL of an endpoint can't have a query or a fragment.",
		],
		["BigQuery", { private_key: "secret" }, NO_KEY],
		["BigQuery", { private_key: "" }, "This field may not be blank.", "blank"],
		["BigQuery", { private_key: VALID.BigQuery.private_key.slice(0, 900) }, NO_KEY],
		[
			"BigQuery",
			{ private_key: pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" })) },
			NO_KEY,
		],
		[
			"BigQuery",
			{ project_id: "a/b" },
			"A project ID can only have letters, digits, hyphens, dots and colons.",
		],
		[
			"BigQuery",
			{ dataset_id: "a-b" },
			"A dataset ID can only have letters, digits and underscores.",
		],
		["BigQuery", { table_id: 'a"b' }, NO_TABLE],
		["BigQuery", { table_id: "a`b" }, NO_TABLE],
		["BigQuery", { client_email: "somebody" }, "Enter a valid email address."],
		["BigQuery", { token_uri: "oauth2" }, NO_URL],
		["Iceberg", { namespace: "a..b" }, "The levels of a namespace are separated by single dots."],
		[
			"Iceberg",
			{ catalog_uri: "https://example.com/?x" },
			"The URL of a catalog can't have a query or a fragment.",
		],
		[
			"Iceberg",
			{ client_secret: "s", client_id: null },
			"The secret of a client requires its client_id.",
		],
		["Iceberg", { client_id: "c", client_secret: null }, "A client requires its client_secret."],
		[
			"Iceberg",
			{ client_id: "c", client_secret: "s", token: "t" },
			"Give token or client_secret, not both.",
		],
		[
			"Iceberg",
			{ aws_access_key_id: "a", aws_secret_access_key: null },
			"An access key has an id and a secret.",
		],
		[
			"Iceberg",
			{ aws_session_token: "a", aws_access_key_id: null },
			"An access key has an id and a secret.",
		],
		["Iceberg", { role_arn: ROLE, region: "s3" }, NO_REGION],
		["Iceberg", { ...AWS, region: "s3-website-eu-west-1.x" }, ANY],
		["Iceberg", { ...AWS, region: "auto" }, NO_REGION],
		[
			"Iceberg",
			{ region: "eu-west-1", signing_name: "glue" },
			"Signed requests require aws_access_key_id or role_arn.",
		],
		[
			"Iceberg",
			{ ...AWS, signing_name: "glue", region: null },
			"Signed requests require the region.",
		],
		[
			"Iceberg",
			{ ...AWS, region: "eu-west-1", token: "t", signing_name: "glue" },
			"Requests are either signed, or have a token.",
		],
	])("%s %j", (type, change, detail, code = "invalid_input") => {
		const attr = `destination__config__${Object.keys(change).at(-1)}`;
		expect(changed(type, change)).toEqual([code, detail, attr]);
	});

	test.each([["a", ""], [" "]])("a blank name of an event, of %j", (...include_events) => {
		expect(changed("HTTP", { include_events })).toEqual([
			"blank",
			"This field may not be blank.",
			`destination__config__include_events__${include_events.length - 1}`,
		]);
	});
});

test("a private key's line breaks may be written as \\n", () => {
	const { private_key } = VALID.BigQuery;
	const escaped = private_key.trim().replaceAll("\n", "\\n");
	expect(escaped).not.toContain("\n");
	expect(parseConfig("BigQuery", { ...VALID.BigQuery, private_key: escaped })).toMatchObject({
		private_key: private_key.trim(),
	});
});

test("names of events are kept as they are, like those of events that were sent", () => {
	const config = { ...VALID.HTTP, include_events: [" a "], exclude_events: ["a\n"] };
	expect(parseConfig("HTTP", config)).toMatchObject(config);
});

test("a host is normalised as in URLs", () => {
	const host = (host: string) => parseConfig("Postgres", { ...VALID.Postgres, host });
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
	Iceberg: [
		{ catalog_uri: "https://a.test" },
		{ catalog_uri: "https://b.test" },
		{ catalog_uri: "https://a.test", oauth2_server_uri: "https://b.test" },
		{ catalog_uri: "https://a.test", endpoint_url: "https://b.test" },
	],
} satisfies Record<Type, object[]>;

test.each(TYPES)("a stored secret of %s doesn't follow to another server", (type) => {
	const servers = SERVERS[type].map((config) => serverOf({ type, config }));
	expect(new Set(servers).size).toBe(servers.length);
	expect(servers.length > 1).toBe(secretsOf(type).length > 0);
});
