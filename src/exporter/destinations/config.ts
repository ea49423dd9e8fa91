import * as z from "zod";
import { isRsaPrivateKey } from "../../auth/private_key.ts";
import { invalid } from "../../http/errors.ts";
import { boolean, choice, integer, issue, notAChoice, rawText, text } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";

const names = z.array(rawText(400).min(1)).max(1000).nullish();

/** Which events are exported. An empty `include_events` means all. */
const filters = { include_events: names, exclude_events: names };

const VARIABLES = [
	"year",
	"month",
	"day",
	"hour",
	"minute",
	"second",
	"data_interval_start",
	"data_interval_end",
	"table",
];

/** The prefix of keys. A URL must not change its segments. */
const prefix = text(512).check(({ value, issues }) => {
	const unknownVariable = [...value.matchAll(/\{([^}]*)\}/g)].find(
		([, name = ""]) => !VARIABLES.includes(name),
	);
	if (unknownVariable)
		issues.push(issue(value, "invalid_input", `Unknown variable ${unknownVariable[0]}.`));
	if (value.split("/").some((segment) => /^\.\.?$/.test(segment)))
		issues.push(issue(value, "invalid_input", "A prefix has no segments . and .. ."));
});

/** The value of a header. The runtime would send other characters, too, but logs such values. */
const header = (max: number) =>
	rawText(max).regex(/^[\x20-\x7e]*$/, "Only printable characters of ASCII can be sent.");

/** The fields that all file destinations have. */
const file = {
	prefix,
	file_format: choice(["JSONLines", "Parquet", "CSV"]).nullish(),
	compression: choice(["gzip", "snappy", "zstd"]).nullish(),
	max_file_size_mb: integer(1, 100_000).nullish(),
	...filters,
};

/** Only Parquet can be compressed with snappy. */
function compressible({
	value,
	issues,
}: z.core.ParsePayload<{
	file_format?: string | null | undefined;
	compression?: string | null | undefined;
}>) {
	const { file_format, compression } = value;
	if (file_format === "Parquet" || compression !== "snappy") return;
	issues.push({
		...issue(compression, "invalid_choice", notAChoice(compression), ["gzip", "zstd"]),
		path: ["compression"],
	});
}

/** An HTTP or HTTPS URL without credentials. */
const url = () =>
	text(2048)
		.pipe(z.url({ protocol: /^https?$/ }))
		.meta({ maxLength: 2048 })
		.refine(
			(value) => {
				const { username = "", password = "" } = URL.parse(value) ?? {};
				return username === "" && password === "";
			},
			{ error: "A URL may not hold a user or a password." },
		);

/** The URL of a file destination's server, without the bucket. */
const endpoint = () =>
	url()
		.refine((value) => !/[?#]/.test(value), {
			error: "An endpoint's URL has no query and no fragment.",
		})
		.nullish();

/** A bucket name that can be a segment of a URL. */
const bucketName = () =>
	text(255)
		.min(1)
		.regex(
			/^(?!\.+$)[\w.-]+$/,
			"A bucket's name has only letters, digits, dots, hyphens and underscores.",
		);

/** A host, normalised as in URLs. */
const host = text(255)
	.min(1)
	.transform((value, { issues }) => {
		const bare = value.includes(":") && !value.startsWith("[") ? `[${value}]` : value;
		const hostname = /[/?#@\\]/.test(value) ? "" : (URL.parse(`http://${bare}`)?.hostname ?? "");
		if (hostname === "") issues.push(issue(value, "invalid_input", "Enter a valid host."));
		return hostname;
	})
	.pipe(z.string().min(1))
	.meta({ maxLength: 255 });

/** The default port of PostgreSQL. */
export const POSTGRES_PORT = 5432;

/** The configs of destinations, by type (docs/exports.md#destinations). */
export const configs = {
	S3: z
		.object({
			bucket_name: bucketName(),
			region: text(100)
				.min(1)
				.regex(/^[\w-]+$/, "A region's name has only letters, digits and hyphens."),
			...file,
			encryption: choice(["AES256", "aws:kms"]).nullish(),
			kms_key_id: header(2048).min(1).nullish(),
			aws_access_key_id: header(255).min(1).nullish(),
			aws_secret_access_key: rawText(255).min(1).nullish(),
			/** For temporary keys. */
			aws_session_token: header(4096).min(1).nullish(),
			endpoint_url: endpoint(),
			use_virtual_style_addressing: boolean().nullish(),
		})
		.check(compressible, ({ value, issues }) => {
			const { encryption, kms_key_id, endpoint_url, bucket_name } = value;
			if (kms_key_id && encryption !== "aws:kms")
				issues.push({
					...issue(kms_key_id, "invalid_input", 'A KMS key requires the encryption "aws:kms".'),
					path: ["kms_key_id"],
				});
			// An endpoint that is not a URL has its own error.
			const endpoint = URL.parse(endpoint_url ?? "");
			if (
				value.use_virtual_style_addressing &&
				endpoint &&
				!URL.canParse(`http://${bucket_name}.${endpoint.host}`)
			)
				issues.push({
					...issue(
						true,
						"invalid_input",
						"The bucket's name and the endpoint don't form a valid host name.",
					),
					path: ["use_virtual_style_addressing"],
				});
		}),
	R2: z
		.object({
			...file,
			/** R2 encrypts all objects this way. */
			encryption: choice(["AES256"]).nullish(),
		})
		.check(compressible),
	HTTP: z.object({
		url: url(),
		token: header(4096).min(1).nullish(),
		...filters,
	}),
	Postgres: z.object({
		user: rawText(255).min(1),
		password: rawText(4096).min(1),
		host,
		database: text(255).min(1),
		port: integer(1, 65535).nullish(),
		schema: text(63).min(1).nullish(),
		table_name: text(63).min(1).nullish(),
		has_self_signed_cert: boolean().nullish(),
		...filters,
	}),
	NoOp: z.object({}),
	ClickHouse: z.object({
		url: url().refine((value) => !value.includes("#"), {
			error: "The URL of a server has no fragment.",
		}),
		database: text(255).min(1),
		user: rawText(255)
			.min(1)
			.regex(/^[^:]*$/, "A user name can't have a colon over HTTP.")
			.nullish(),
		password: rawText(4096).min(1).nullish(),
		table_name: text(255).min(1).nullish(),
		...filters,
	}),
	AzureBlob: z
		.object({
			container_name: text(63)
				.regex(
					/^[a-z0-9]+(-[a-z0-9]+)*$/,
					"A container's name has only lowercase letters, digits and single hyphens.",
				)
				.refine((value) => value.length >= 3, {
					error: "A container's name has at least 3 characters.",
				})
				.meta({ minLength: 3 }),
			...file,
			account_name: text(24).regex(
				/^[a-z0-9]{3,24}$/,
				"A storage account's name has 3 to 24 lowercase letters and digits.",
			),
			account_key: rawText(255)
				.min(1)
				.pipe(z.base64("An account key is written in Base64."))
				.meta({ maxLength: 255 })
				.nullish(),
			/** The query string of a URL with a shared access signature. */
			sas_token: rawText(4096)
				.min(1)
				.regex(
					/^\??([\w.~%!$&'()*+,;=:@/?-]*&)?sig=[\w.~%!$&'()*+,;=:@/?-]+$/,
					"A SAS token is the part of a SAS URL after the question mark.",
				)
				.nullish(),
			endpoint_url: endpoint(),
		})
		.check(compressible),
	GCS: z
		.object({
			bucket_name: bucketName(),
			...file,
			hmac_access_id: header(255).min(1).nullish(),
			hmac_secret: rawText(255).min(1).nullish(),
			endpoint_url: endpoint(),
		})
		.check(compressible),
	BigQuery: z.object({
		project_id: text(255)
			.min(1)
			.regex(/^[\w.:-]+$/, "A project's ID has only letters, digits, hyphens, dots and colons."),
		dataset_id: text(1024)
			.min(1)
			.regex(/^\w+$/, "A dataset's ID has only letters, digits and underscores."),
		client_email: text(255)
			.min(1)
			.regex(/^[^\s@]+@[^\s@]+$/, "Enter a valid email address."),
		/** Line breaks may be written as \n, as in the JSON file of a key. */
		private_key: rawText(8192)
			.min(1)
			.overwrite((value) => value.replaceAll("\\n", "\n"))
			.refine(isRsaPrivateKey, {
				error:
					"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.",
			}),
		private_key_id: text(255).min(1).nullish(),
		token_uri: url().nullish(),
		table_id: text(1024)
			.min(1)
			.refine((value) => /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]*$/u.test(value), {
				error: "A table's ID has only letters, digits, underscores, hyphens and spaces.",
			})
			.nullish(),
		use_json_type: boolean().nullish(),
		/** The URL of the API, for tests and private endpoints. */
		endpoint_url: endpoint(),
		...filters,
	}),
};

/** The types that are databases. Their rows always include the key columns. */
const DATABASES = ["Postgres", "ClickHouse", "BigQuery"];

export const isDatabase = (type: string) => DATABASES.includes(type);

/** The maximum size of a config as JSON: a page of a list may have a thousand configs. */
const MAX_CONFIG_CHARACTERS = 2 ** 15;

export type Type = keyof typeof configs;

/** A destination's config, with decrypted secrets. */
export type Config<T extends Type = Type> = z.infer<(typeof configs)[T]>;

const ACCESS_KEY = ["aws_access_key_id", "aws_secret_access_key"];
const HMAC_KEY = ["hmac_access_id", "hmac_secret"];

const SECRETS: Record<Type, string[]> = {
	S3: [...ACCESS_KEY, "aws_session_token"],
	R2: [],
	HTTP: ["token"],
	Postgres: ["user", "password"],
	NoOp: [],
	ClickHouse: ["password"],
	AzureBlob: ["account_key", "sas_token"],
	GCS: HMAC_KEY,
	BigQuery: ["private_key"],
};

/** The two fields of a key, which only work together. */
const KEY_HALVES: { [T in Type]?: string[] } = {
	S3: ACCESS_KEY,
	GCS: HMAC_KEY,
};

const isType = (type: string): type is Type => Object.hasOwn(configs, type);

const Endpoint = z.object({
	url: z.string().optional(),
	endpoint_url: z.string().optional(),
	account_name: z.string().optional(),
	token_uri: z.string().optional(),
	host: z.string().optional(),
	port: z.int().default(POSTGRES_PORT),
});

/** The URL of a storage account's blob service. */
export const azureEndpoint = ({
	account_name,
	endpoint_url,
}: {
	account_name: string;
	endpoint_url?: string | null | undefined;
}) => new URL(endpoint_url ?? `https://${account_name}.blob.core.windows.net`);

/**
 * The server that gets a config's secrets: the origin of its URL, or its host and port. For BigQuery it includes the token
 * server. Null if it is the default of the type (such as Amazon's for S3), or if there is none.
 * @param config a valid config, without nulls
 */
export function endpointOf(config: unknown): string | null {
	const { url, endpoint_url, account_name, token_uri, host, port } = Endpoint.parse(config);
	if (host !== undefined) return `${host}:${port}`;
	if (account_name !== undefined) return azureEndpoint({ account_name, endpoint_url }).origin;
	const origin = URL.parse(url ?? endpoint_url ?? "")?.origin ?? null;
	const issuer = URL.parse(token_uri ?? "")?.origin;
	if (issuer === undefined) return origin;
	return `${origin ?? "the default endpoint"}, with tokens of ${issuer}`;
}

export const TYPES = Object.keys(configs).filter(isType);

/** The secret fields of a type. */
export const secretsOf = (type: string) => (isType(type) ? SECRETS[type] : []);

const missingField = (key: string) =>
	invalid("destination", `Configuration missing required field: '${key}'`);

/**
 * Parses a config of the type (docs/exports.md#destinations).
 * @throws 400 if it is invalid
 */
export function check(type: string, config: unknown): Config {
	if (!isType(type)) throw invalid("destination__type", notAChoice(type), "invalid_choice", TYPES);
	const shape: z.ZodObject = configs[type];
	const keys = z.record(z.string(), z.unknown()).catch({}).parse(config);
	const unknownKeys = Object.keys(keys)
		.filter((key) => !Object.hasOwn(shape.shape, key))
		.sort();
	if (unknownKeys.length > 0)
		throw invalid(
			"destination",
			`Configuration has unknown field/s: ${unknownKeys.map((key) => `'${key}'`).join(", ")}`,
		);
	const missing = Object.entries(shape.shape).find(
		([key, field]) => keys[key] === undefined && !z.safeParse(field, undefined).success,
	);
	if (missing) throw missingField(missing[0]);
	// One half of a key is useless. If both are missing, tests and runs report it.
	const half = KEY_HALVES[type]?.find((key) => !keys[key]);
	if (half && secretsOf(type).some((key) => keys[key])) throw missingField(half);
	if (type === "AzureBlob" && !keys.account_key === !keys.sas_token)
		throw keys.account_key
			? invalid("destination__config__sas_token", "Give account_key or sas_token, not both.")
			: missingField("account_key' or 'sas_token");
	const parsed = configs[type].safeParse(config, { reportInput: true });
	if (parsed.success && JSON.stringify(parsed.data).length > MAX_CONFIG_CHARACTERS)
		throw invalid(
			"destination__config",
			`Ensure this configuration has no more than ${MAX_CONFIG_CHARACTERS} characters.`,
			"max_length",
		);
	if (parsed.success) return parsed.data;
	const [first = issue(config, "invalid_input", "Not a valid configuration.")] =
		parsed.error.issues;
	throw toApiError({
		...first,
		path: ["destination", "config", ...("path" in first ? first.path : [])],
	});
}
