import * as z from "zod";
import { invalid } from "../../http/errors.ts";
import { issue, notAChoice } from "../../http/fields.ts";
import { toApiError } from "../../http/valid.ts";
import type { Configurable, Registry } from "./definition.ts";

/** The maximum size of a config as JSON: a page of a list may have a thousand configs. */
const MAX_CONFIG_CHARACTERS = 2 ** 15;

const missingField = (key: string) =>
	invalid("destination", `Configuration missing required field: '${key}'`);

/** @throws 400 if a config has neither a key nor a role, parts of a key, or several of them */
function checkCredentials(definition: Configurable, keys: Record<string, unknown>) {
	const { secrets, key = [], oneOf = [], required = [], role } = definition;
	const isGiven = (name: string) => Boolean(keys[name]);
	if (role && isGiven(role.settings[0])) {
		const other = [...role.replaces, ...(role.excludes ?? [])].find(isGiven);
		if (other === undefined) return;
		throw invalid(
			`destination__config__${other}`,
			`Give ${role.settings[0]} or ${other}, not both.`,
		);
	}
	const missing = required.find((name) => keys[name] === undefined);
	if (missing) throw missingField(missing);
	// Rejects a config with only one half of a key. If both are missing, tests and runs report it.
	const half = key.find((name) => !isGiven(name));
	if (half && secrets.some(isGiven)) throw missingField(half);
	const [given, second] = oneOf.filter(isGiven);
	if (second !== undefined)
		throw invalid(`destination__config__${second}`, `Give ${oneOf.join(" or ")}, not both.`);
	if (oneOf.length > 0 && given === undefined) throw missingField(oneOf.join("' or '"));
}

/** Parses a config (docs/exports.md#destinations). Throws 400 if it is invalid. */
export function parseConfig(
	{ find, types }: Registry,
	type: string,
	config: unknown,
): Record<string, unknown> {
	const definition = find(type);
	if (!definition) throw invalid("destination__type", notAChoice(type), "invalid_choice", types);
	const { config: shape } = definition;
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
	checkCredentials(definition, keys);
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
