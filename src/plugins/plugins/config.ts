import * as z from "zod";
import type { ErrorCode } from "../../http/codes.ts";
import { invalid } from "../../http/errors.ts";
import { notAChoice } from "../../http/fields.ts";
import { type Cipher, cipherOf, isSealed, MASK } from "../../keys/secrets.ts";

type Config = Record<string, unknown>;

/** The cipher of a config. It uses the row's uuid: the id isn't known before the insert. */
export const configCipher = (env: Env, { uuid }: { uuid: string }) =>
	cipherOf(env, "plugin_configs", uuid);

const fieldOf = (key: string) => `config.${key}`;

const Field = z.object({
	key: z.union([z.string(), z.number().transform(String)]),
	type: z.string().catch("string"),
	required: z.coerce.boolean().default(false),
	secret: z.coerce.boolean().default(false),
	choices: z.array(z.coerce.string()).catch([]),
});
type Field = z.infer<typeof Field>;

const TYPES = ["string", "choice", "json", "attachment"];

/** Parses the fields of a `config_schema`: a list, or a map by key. Ignores invalid entries. */
export function fieldsOf(schema: unknown[] | Config): Field[] {
	const entries = Array.isArray(schema)
		? schema
		: Object.entries(schema).map(([key, field]) => ({ ...Object(field), key }));
	return entries.flatMap((entry) => Field.safeParse(entry).data ?? []);
}

const isEmpty = (value: unknown) => value === undefined || value === null || value === "";

const secretsOf = (fields: Field[]) =>
	new Set(fields.flatMap(({ key, secret }) => (secret ? [key] : [])));

/** Whether the value is encrypted, or the schema now makes it secret. */
const isHidden = (secrets: Set<string>, key: string, value: unknown) =>
	isSealed(value) || (secrets.has(key) && !isEmpty(value));

/** Returns the config for a response, with masked secrets. */
export function masked(fields: Field[], config: Config): Config {
	const secrets = secretsOf(fields);
	return Object.fromEntries(
		Object.entries(config).map(([key, value]) => [
			key,
			isHidden(secrets, key, value) ? MASK : value,
		]),
	);
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns the stored config with all values encrypted that the schema now makes secret. */
export async function sealed(cipher: Cipher, fields: Field[], config: Config): Promise<Config> {
	const secrets = secretsOf(fields);
	const entries = Object.entries(config).map(async ([key, value]) =>
		isHidden(secrets, key, value) && !isSealed(value)
			? [key, await cipher.seal(fieldOf(key), textOf(value))]
			: [key, value],
	);
	return Object.fromEntries(await Promise.all(entries));
}

/**
 * Decrypts a stored config. `secrets` are its secret values as text, which must not appear in logs.
 * @throws if an encrypted value can't be decrypted
 */
export async function opened(cipher: Cipher, fields: Field[], stored: Config) {
	const secrets = secretsOf(fields);
	const entries = await Promise.all(
		Object.entries(stored).map(
			async ([key, value]) =>
				[key, isSealed(value) ? await cipher.unseal(fieldOf(key), value) : value] as const,
		),
	);
	const hidden = entries.filter(([key]) => isHidden(secrets, key, stored[key]));
	return {
		config: Object.fromEntries(entries),
		secrets: hidden.map(([, value]) => textOf(value)),
	};
}

type Problem = { detail: string; code: ErrorCode; choices?: string[] };

/** Returns the problem with a value; undefined if the value is valid. */
function problemOf({ type, choices }: Field, value: unknown): Problem | undefined {
	if (!TYPES.includes(type)) return { detail: `Unknown type "${type}".`, code: "invalid_input" };
	if (isEmpty(value)) return undefined;
	if (typeof value !== "string" && type !== "json")
		return { detail: "Not a valid string.", code: "invalid_input" };
	if (type === "choice" && !choices.includes(String(value)))
		return { detail: notAChoice(value), code: "invalid_choice", choices };
	return undefined;
}

/**
 * Returns the config to store, with encrypted secrets. `given` replaces `stored`, except that
 * secrets that are masked, null or missing in `given` keep their stored value. An empty string
 * clears a secret (docs/plugins.md#plugin-configs).
 * @throws 400 for the first invalid value
 */
export async function merge(
	cipher: Cipher,
	fields: Field[],
	stored: Config,
	input: Config,
): Promise<Config> {
	const storedValues = new Map(Object.entries(stored));
	const givenValues = new Map(Object.entries(input));
	const secrets = secretsOf(fields);
	/** Whether the given value means "keep the stored one". */
	const keepsStored = (key: string) =>
		secrets.has(key)
			? [undefined, null, MASK].some((mask) => mask === givenValues.get(key))
			: givenValues.get(key) === MASK && isSealed(storedValues.get(key));
	for (const field of fields) {
		const problem = problemOf(field, keepsStored(field.key) ? null : givenValues.get(field.key));
		if (problem)
			throw invalid(`config__${field.key}`, problem.detail, problem.code, problem.choices);
	}
	const merged = [...new Set([...givenValues.keys(), ...secrets])].map(async (key) => {
		if (keepsStored(key)) return [key, storedValues.get(key)];
		const value = givenValues.get(key);
		return [key, isSealed(value) ? await cipher.seal(fieldOf(key), value) : value];
	});
	const entries = (await Promise.all(merged)).filter(([, value]) => value !== undefined);
	return sealed(cipher, fields, Object.fromEntries(entries));
}

/** @throws 400 for the first required field that is empty or missing */
export function assertComplete(fields: Field[], config: Config) {
	for (const { key, required } of fields)
		if (required && isEmpty(Object.hasOwn(config, key) ? config[key] : null))
			throw invalid(`config__${key}`, "This field is required.", "required");
}
