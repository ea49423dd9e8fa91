import * as z from "zod";
import { type Cipher, cipherOf, isSealed } from "../auth/secrets.ts";
import { invalid } from "../http/errors.ts";
import { notAChoice } from "../http/fields.ts";

/** What stands for a secret wherever a config is read. */
export const MASK = "**************** SECRET ****************";

type Config = Record<string, unknown>;

/** Seals the config's secrets. They are bound to the row's uuid: its id isn't known yet when the row is inserted. */
export const configCipher = (env: Env, { uuid }: { uuid: string }) =>
	cipherOf(env, "plugin_configs", uuid);

const fieldOf = (key: string) => `config.${key}`;

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

const empty = (value: unknown) => value === undefined || value === null || value === "";

const secretsOf = (fields: Field[]) =>
	new Set(fields.flatMap(({ key, secret }) => (secret ? [key] : [])));

/** The config as it is shown: what is secret by now is masked, and what was when it was stored. */
export function masked(fields: Field[], config: Config): Config {
	const secret = secretsOf(fields);
	return Object.fromEntries(
		Object.entries(config).map(([key, value]) => [
			key,
			isSealed(value) || (secret.has(key) && !empty(value)) ? MASK : value,
		]),
	);
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** The stored config with all sealed that is secret by now. */
export async function sealed(cipher: Cipher, fields: Field[], config: Config): Promise<Config> {
	const secret = secretsOf(fields);
	const entries = Object.entries(config).map(async ([key, value]) =>
		secret.has(key) && !empty(value) && !isSealed(value)
			? [key, await cipher.seal(fieldOf(key), textOf(value))]
			: [key, value],
	);
	return Object.fromEntries(await Promise.all(entries));
}

/** The stored config in the clear, and the texts in it that nobody may see. */
export async function opened(cipher: Cipher, fields: Field[], stored: Config) {
	const secret = secretsOf(fields);
	const entries = await Promise.all(
		Object.entries(stored).map(async ([key, value]) => ({
			key,
			value: isSealed(value) ? await cipher.unseal(fieldOf(key), value) : value,
			hidden: isSealed(value) || (secret.has(key) && !empty(value)),
		})),
	);
	return {
		config: Object.fromEntries(entries.map(({ key, value }) => [key, value])),
		secrets: entries.flatMap(({ value, hidden }) => (hidden ? [textOf(value)] : [])),
	};
}

/** What is wrong with a field's value in the words of an answer; undefined: nothing. */
function wrong({ type, choices }: Field, value: unknown) {
	if (!TYPES.includes(type)) return { why: `Unknown type "${type}".`, code: "invalid_input" };
	if (empty(value)) return undefined;
	if (typeof value !== "string" && type !== "json")
		return { why: "Not a valid string.", code: "invalid_input" };
	if (type === "choice" && !choices.includes(String(value)))
		return { why: notAChoice(value), code: "invalid_choice" };
	return undefined;
}

/**
 * The config to store, with its secrets sealed: `given` in place of `stored`, but that a secret which is masked, null or
 * missing stays what it is, and "" clears it (docs/plugins.md#plugin-configs).
 */
export async function merge(
	cipher: Cipher,
	fields: Field[],
	stored: Config,
	given: Config,
): Promise<Config> {
	const was = new Map(Object.entries(stored));
	const is = new Map(Object.entries(given));
	const secret = secretsOf(fields);
	/** Whether the value that is read stands for the stored one. */
	const stays = (key: string) =>
		secret.has(key)
			? [undefined, null, MASK].some((mask) => mask === is.get(key))
			: is.get(key) === MASK && isSealed(was.get(key));
	for (const field of fields) {
		const problem = wrong(field, stays(field.key) ? null : is.get(field.key));
		if (problem) throw invalid(`config__${field.key}`, problem.why, problem.code);
	}
	const merged = [...new Set([...is.keys(), ...secret])].map(async (key) => {
		if (stays(key)) return [key, was.get(key)];
		const value = is.get(key);
		return [key, isSealed(value) ? await cipher.seal(fieldOf(key), value) : value];
	});
	const chosen = (await Promise.all(merged)).filter(([, value]) => value !== undefined);
	return sealed(cipher, fields, Object.fromEntries(chosen));
}

/** Throws for the first required field that an enabled config lacks. */
export function complete(fields: Field[], config: Config) {
	for (const { key, required } of fields)
		if (required && empty(Object.hasOwn(config, key) ? config[key] : null))
			throw invalid(`config__${key}`, "This field is required.", "required");
}
