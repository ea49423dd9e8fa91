import * as z from "zod";
import { seal } from "../auth/secrets.ts";
import { invalid } from "../http/errors.ts";

/** What stands for a secret wherever a config is read. */
export const MASK = "**************** SECRET ****************";

type Config = Record<string, unknown>;

const Field = z.object({
	key: z.string(),
	type: z.string().catch("string"),
	required: z.coerce.boolean().default(false),
	secret: z.coerce.boolean().default(false),
	choices: z.array(z.coerce.string()).catch([]),
});
type Field = z.infer<typeof Field>;

const TYPES = ["string", "choice", "json", "attachment"];

/** The fields that a plugin's config_schema speaks of: a list of them, or a map by key. What is no field is passed over. */
export function fieldsOf(schema: unknown[] | Config): Field[] {
	const entries = Array.isArray(schema)
		? schema
		: Object.entries(schema).map(([key, field]) => ({ key, ...Object(field) }));
	return entries.flatMap((entry) => Field.safeParse(entry).data ?? []);
}

const empty = (value: unknown) =>
	value === undefined || value === null || value === "";

/** The config as it is shown. */
export function masked(fields: Field[], config: Config): Config {
	const secret = new Set(
		fields.flatMap(({ key, secret }) => (secret ? [key] : [])),
	);
	return Object.fromEntries(
		Object.entries(config).map(([key, value]) => [
			key,
			secret.has(key) && !empty(value) ? MASK : value,
		]),
	);
}

/** What is wrong with a field's value in the words of an answer; undefined: nothing. */
function wrong({ type, choices }: Field, value: unknown) {
	if (!TYPES.includes(type))
		return { why: `Unknown type "${type}".`, code: "invalid_input" };
	if (empty(value)) return undefined;
	if (typeof value !== "string" && type !== "json")
		return { why: "Not a valid string.", code: "invalid_input" };
	if (type === "choice" && !choices.includes(String(value)))
		return { why: `"${value}" is not a valid choice.`, code: "invalid_choice" };
	return undefined;
}

/**
 * The config to store, with its secrets sealed: `given` in place of `stored`, but that a secret which is masked, null or
 * missing stays what it is, and "" clears it (behaviour 10).
 */
export async function merge(
	env: Env,
	fields: Field[],
	stored: Config,
	given: Config,
): Promise<Config> {
	const merged = { ...given };
	for (const field of fields) {
		const value = Object.hasOwn(given, field.key)
			? given[field.key]
			: undefined;
		const problem = wrong(field, value);
		if (problem)
			throw invalid(`config__${field.key}`, problem.why, problem.code);
		if (!field.secret) continue;
		if (value === undefined || value === null || value === MASK) {
			if (Object.hasOwn(stored, field.key))
				merged[field.key] = stored[field.key];
			else delete merged[field.key];
		} else if (value !== "")
			merged[field.key] = await seal(
				env,
				typeof value === "string" ? value : JSON.stringify(value),
			);
	}
	return merged;
}

/** Throws for the first required field that an enabled config lacks. */
export function complete(fields: Field[], config: Config) {
	for (const { key, required } of fields)
		if (required && empty(Object.hasOwn(config, key) ? config[key] : null))
			throw invalid(`config__${key}`, "This field is required.", "required");
}
