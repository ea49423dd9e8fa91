import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { issue, notAChoice } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import { MisconfiguredError } from "../errors.ts";
import { blobServiceOf, configs, KEY_HALVES, POSTGRES_PORT, SECRETS } from "./configs.ts";

/** Parses a stored config. Throws MisconfiguredError if it is no longer valid. */
export function parseStored<T extends Type>(type: T, config: unknown): Config<T>;
export function parseStored(type: Type, config: unknown): Config {
	const { success, data } = configs[type].safeParse(config);
	if (success) return data;
	throw new MisconfiguredError(
		"The destination's configuration is no longer valid: save it again.",
	);
}

/** The types that are databases. Their rows always include the key columns. */
const DATABASES = ["Postgres", "ClickHouse", "BigQuery"];

export const isDatabase = (type: string) => DATABASES.includes(type);

/** The maximum size of a config as JSON: a page of a list may have a thousand configs. */
const MAX_CONFIG_CHARACTERS = 2 ** 15;

export type Type = keyof typeof configs;

/** A destination's config, with decrypted secrets. */
export type Config<T extends Type = Type> = z.infer<(typeof configs)[T]>;

const isType = (type: string): type is Type => Object.hasOwn(configs, type);

const Endpoint = z.object({
	url: z.string().optional(),
	endpoint_url: z.string().optional(),
	account_name: z.string().optional(),
	token_uri: z.string().optional(),
	host: z.string().optional(),
	port: z.int().default(POSTGRES_PORT),
});

/**
 * Returns the server that gets a config's secrets: the origin of its URL, or its host and port. For
 * BigQuery, this includes the token server. Null for the default server of the type (such as
 * Amazon's for S3), or if there is no server.
 * @param config a valid config, without nulls
 */
export function endpointOf(config: unknown): string | null {
	const { url, endpoint_url, account_name, token_uri, host, port } = Endpoint.parse(config);
	if (host !== undefined) return `${host}:${port}`;
	if (account_name !== undefined) return blobServiceOf(account_name, endpoint_url).origin;
	const origin = URL.parse(url ?? endpoint_url ?? "")?.origin ?? null;
	const issuer = URL.parse(token_uri ?? "")?.origin;
	if (issuer === undefined) return origin;
	return `${origin ?? "the default endpoint"}, with tokens of ${issuer}`;
}

export const TYPES = Object.keys(configs).filter(isType);

export const secretsOf = (type: string) => (isType(type) && SECRETS[type]) || [];

const missingField = (key: string) =>
	invalid("destination", `Configuration missing required field: '${key}'`);

/** Parses a config (docs/exports.md#destinations). Throws 400 if it is invalid. */
export function parseConfig(type: string, config: unknown): Config {
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
	// Rejects a config with only one half of a key. If both are missing, tests and runs report it.
	const half = type === "S3" || type === "GCS" ? KEY_HALVES[type].find((key) => !keys[key]) : null;
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
