import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { issue, notAChoice } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import { MisconfiguredError } from "../../outbound/errors.ts";
import { type Config, configs, RULES, type Type } from "./configs.ts";

export type { Config, Type };

/** Parses a stored config. Throws MisconfiguredError if it is no longer valid. */
export function parseStored<T extends Type>(type: T, config: unknown): Config<T>;
export function parseStored(type: Type, config: unknown): Config {
	const { success, data } = configs[type].safeParse(config);
	if (success) return data;
	throw new MisconfiguredError(
		"The destination's configuration is no longer valid: save it again.",
	);
}

/** The maximum size of a config as JSON: a page of a list may have a thousand configs. */
const MAX_CONFIG_CHARACTERS = 2 ** 15;

const isType = (type: string): type is Type => Object.hasOwn(configs, type);

export const isDatabase = (type: string) => isType(type) && RULES[type].isDatabase;

/**
 * Returns the servers that get a config's secrets: the origin of its URL, or its host and port. For
 * BigQuery, this includes the token server. Null for the default server of the type (such as
 * Amazon's for S3), or if there is no server.
 * @param config a valid config, without nulls
 */
export function endpointOf({
	type,
	config,
}: {
	type: string;
	config: Record<string, unknown>;
}): string | null {
	if (!isType(type)) return null;
	return RULES[type].endpoint((field) => {
		const value = config[field];
		return value === undefined ? undefined : String(value);
	});
}

export const TYPES = Object.keys(configs).filter(isType);

export const secretsOf = (type: string): string[] => (isType(type) ? RULES[type].secrets : []);

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
	const { secrets, key, oneOf }: Record<"secrets" | "key" | "oneOf", string[]> = RULES[type];
	// Rejects a config with only one half of a key. If both are missing, tests and runs report it.
	const half = key.find((name) => !keys[name]);
	if (half && secrets.some((name) => keys[name])) throw missingField(half);
	const [given, second] = oneOf.filter((name) => keys[name]);
	if (second !== undefined)
		throw invalid(`destination__config__${second}`, `Give ${oneOf.join(" or ")}, not both.`);
	if (oneOf.length > 0 && given === undefined) throw missingField(oneOf.join("' or '"));
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
