import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { issue, notAChoice } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import type { Registry } from "./definition.ts";

/** The maximum size of a config as JSON: a page of a list may have a thousand configs. */
const MAX_CONFIG_CHARACTERS = 2 ** 15;

const missingField = (key: string) =>
	invalid("destination", `Configuration missing required field: '${key}'`);

/** Parses a config (docs/exports.md#destinations). Throws 400 if it is invalid. */
export function parseConfig(
	{ find, types }: Registry,
	type: string,
	config: unknown,
): Record<string, unknown> {
	const definition = find(type);
	if (!definition) throw invalid("destination__type", notAChoice(type), "invalid_choice", types);
	const { config: shape, secrets, key = [], oneOf = [] } = definition;
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
	const half = key.find((name) => !keys[name]);
	if (half && secrets.some((name) => keys[name])) throw missingField(half);
	const [given, second] = oneOf.filter((name) => keys[name]);
	if (second !== undefined)
		throw invalid(`destination__config__${second}`, `Give ${oneOf.join(" or ")}, not both.`);
	if (oneOf.length > 0 && given === undefined) throw missingField(oneOf.join("' or '"));
	const parsed = shape.safeParse(config, { reportInput: true });
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
