/** The configs of destinations (docs/exports.md#destinations). */
import * as z from "zod";
import { boolean, choice, integer, issue, rawText, text, url } from "../../http/fields.ts";
import { isRsaPrivateKey } from "../../keys/private_key.ts";
import { bucketName, compressible, endpoint, file, filters, header, host } from "./fields.ts";

const S3 = z
	.object({
		bucket_name: bucketName(),
		region: text(100)
			.min(1)
			.regex(/^[\w-]+$/, "The name of a region can only have letters, digits and hyphens."),
		...file,
		encryption: choice(["AES256", "aws:kms"]).nullish(),
		kms_key_id: header(2048).min(1).nullish(),
		aws_access_key_id: header(255).min(1).nullish(),
		aws_secret_access_key: rawText(255).min(1).nullish(),
		aws_session_token: header(4096).min(1).nullish(),
		endpoint_url: endpoint(),
		use_virtual_style_addressing: boolean().nullish(),
	})
	.check(compressible, ({ value, issues }) => {
		const { encryption, kms_key_id, endpoint_url, bucket_name } = value;
		const reject = (key: keyof typeof value, message: string) =>
			issues.push({ ...issue(value[key], "invalid_input", message), path: [key] });
		if (kms_key_id && encryption !== "aws:kms")
			reject("kms_key_id", 'A KMS key requires the encryption "aws:kms".');
		// An endpoint that isn't a URL has its own error.
		const endpoint = URL.parse(endpoint_url ?? "");
		if (
			value.use_virtual_style_addressing &&
			endpoint &&
			!URL.canParse(`http://${bucket_name}.${endpoint.host}`)
		)
			reject(
				"use_virtual_style_addressing",
				"The bucket's name and the endpoint don't form a valid host name.",
			);
	});

/** R2 encrypts all objects with AES256. */
const R2 = z.object({ ...file, encryption: choice(["AES256"]).nullish() }).check(compressible);

const HTTP = z.object({ url: url(), token: header(4096).min(1).nullish(), ...filters });

/** The maximum length of an identifier. PostgreSQL cuts off the rest. */
const MAX_IDENTIFIER_BYTES = 63;

const identifier = () =>
	text(MAX_IDENTIFIER_BYTES)
		.min(1)
		.refine((value) => Buffer.byteLength(value) <= MAX_IDENTIFIER_BYTES, {
			error: `A name in PostgreSQL has at most ${MAX_IDENTIFIER_BYTES} bytes.`,
		});

export const POSTGRES_PORT = 5432;

const Postgres = z.object({
	user: rawText(255).min(1),
	password: rawText(4096).min(1),
	host,
	database: text(255).min(1),
	port: integer(1, 65535).nullish(),
	schema: identifier().nullish(),
	table_name: identifier().nullish(),
	has_self_signed_cert: boolean().nullish(),
	...filters,
});

const ClickHouse = z.object({
	url: url().refine((value) => !value.includes("#"), {
		error: "The URL of a server can't have a fragment.",
	}),
	database: text(255).min(1),
	user: rawText(255)
		.min(1)
		.regex(/^[^:]*$/, "A user name can't have a colon over HTTP.")
		.nullish(),
	password: rawText(4096).min(1).nullish(),
	table_name: text(255).min(1).nullish(),
	...filters,
});

const NOT_A_TOKEN = "A SAS token is the part of a SAS URL after the question mark.";

const AzureBlob = z
	.object({
		container_name: text(63)
			.regex(
				/^[a-z0-9]+(-[a-z0-9]+)*$/,
				"The name of a container can only have lowercase letters, digits and single hyphens.",
			)
			.refine((value) => value.length >= 3, {
				error: "The name of a container must have at least 3 characters.",
			})
			.meta({ minLength: 3 }),
		...file,
		account_name: text(24).regex(
			/^[a-z0-9]{3,24}$/,
			"The name of a storage account must have 3 to 24 lowercase letters and digits.",
		),
		account_key: rawText(255)
			.min(1)
			.pipe(z.base64("An account key must be in Base64."))
			.meta({ maxLength: 255 })
			.nullish(),
		/** The query string of a URL with a shared access signature. */
		sas_token: rawText(4096)
			.min(1)
			.regex(/^[\w.~%!$&'()*+,;=:@/?-]+$/, NOT_A_TOKEN)
			.refine((token) => /(?:^\??|&)sig=./.test(token), NOT_A_TOKEN)
			.nullish(),
		endpoint_url: endpoint(),
	})
	.check(compressible);

export const blobServiceOf = (account_name: string, endpoint_url?: string | null) =>
	new URL(endpoint_url ?? `https://${account_name}.blob.core.windows.net`);

const GCS = z
	.object({
		bucket_name: bucketName(),
		...file,
		hmac_access_id: header(255).min(1).nullish(),
		hmac_secret: rawText(255).min(1).nullish(),
		endpoint_url: endpoint(),
	})
	.check(compressible);

const BigQuery = z.object({
	project_id: text(255)
		.min(1)
		.regex(/^[\w.:-]+$/, "A project ID can only have letters, digits, hyphens, dots and colons."),
	dataset_id: text(1024)
		.min(1)
		.regex(/^\w+$/, "A dataset ID can only have letters, digits and underscores."),
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
			error: "A table ID can only have letters, digits, underscores, hyphens and spaces.",
		})
		.nullish(),
	use_json_type: boolean().nullish(),
	endpoint_url: endpoint(),
	...filters,
});

export const configs = {
	S3,
	R2,
	HTTP,
	Postgres,
	NoOp: z.object({}),
	ClickHouse,
	AzureBlob,
	GCS,
	BigQuery,
};

export type Type = keyof typeof configs;

/** A destination's config, with decrypted secrets. */
export type Config<T extends Type = Type> = z.infer<(typeof configs)[T]>;

type Field<T extends Type> = Extract<keyof Config<T>, string>;

/** Returns the text of a field; undefined if there is none. */
type Read<T extends Type> = (field: Field<T>) => string | undefined;

type Rules<T extends Type> = {
	/** Whether it is a database. Rows of databases always include the key columns. */
	isDatabase: boolean;
	/** The fields that are encrypted, and never returned. */
	secrets: Field<T>[];
	/** The fields of a key, which are required together. */
	key: Field<T>[];
	/** The secrets of which exactly one is required. */
	oneOf: Field<T>[];
	/**
	 * Returns the servers that get the config's secrets. Null for the default server of the type
	 * (such as Amazon's for S3), or if there is no server.
	 */
	endpoint: (read: Read<T>) => string | null;
};

const originOf = (url: string | undefined) => URL.parse(url ?? "")?.origin ?? null;

const NONE = { isDatabase: false, secrets: [], key: [], oneOf: [], endpoint: () => null };

/** What differs between the types. The compiler asks for each type, and for fields that exist. */
export const RULES: { [T in Type]: Rules<T> } = {
	S3: {
		...NONE,
		secrets: ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"],
		key: ["aws_access_key_id", "aws_secret_access_key"],
		endpoint: (read) => originOf(read("endpoint_url")),
	},
	R2: NONE,
	HTTP: { ...NONE, secrets: ["token"], endpoint: (read) => originOf(read("url")) },
	Postgres: {
		...NONE,
		isDatabase: true,
		secrets: ["user", "password"],
		endpoint: (read) => `${read("host")}:${read("port") ?? POSTGRES_PORT}`,
	},
	NoOp: NONE,
	ClickHouse: {
		...NONE,
		isDatabase: true,
		secrets: ["password"],
		endpoint: (read) => originOf(read("url")),
	},
	AzureBlob: {
		...NONE,
		secrets: ["account_key", "sas_token"],
		oneOf: ["account_key", "sas_token"],
		endpoint: (read) => blobServiceOf(read("account_name") ?? "", read("endpoint_url")).origin,
	},
	GCS: {
		...NONE,
		secrets: ["hmac_access_id", "hmac_secret"],
		key: ["hmac_access_id", "hmac_secret"],
		endpoint: (read) => originOf(read("endpoint_url")),
	},
	BigQuery: {
		...NONE,
		isDatabase: true,
		secrets: ["private_key"],
		// The token server gets a signature of the key.
		endpoint(read) {
			const origin = originOf(read("endpoint_url"));
			const issuer = originOf(read("token_uri"));
			if (issuer === null) return origin;
			return `${origin ?? "the default endpoint"}, with tokens of ${issuer}`;
		},
	},
};
