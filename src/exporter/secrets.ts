import { type Cipher, cipherOf } from "../auth/secrets.ts";
import type { Destination } from "../db/schema.ts";
import { invalid } from "../http/errors.ts";
import { check, endpointOf, secretsOf } from "./destinations/config.ts";

type Config = Destination["config"];

/** Seals the secrets of an export's destination. */
export const exportCipher = (env: Env, { id }: { id: string }) =>
	cipherOf(env, "batch_exports", id);

const fieldOf = (key: string) => `destination.${key}`;

/** The destination as it is shown: without its secrets. */
export const shown = ({ type, config }: Destination): Destination => {
	const secret = secretsOf(type);
	return {
		type,
		config: Object.fromEntries(Object.entries(config).filter(([key]) => !secret.includes(key))),
	};
};

/** `config` with each of its secrets as `change` makes it. */
async function eachSecret(
	{ type, config }: Destination,
	change: (secret: string, key: string) => Promise<string>,
): Promise<Config> {
	const changed = { ...config };
	for (const key of secretsOf(type)) {
		const value = config[key];
		if (typeof value === "string") changed[key] = await change(value, key);
	}
	return changed;
}

/** The destination with its secrets in the clear. */
export const opened = async (cipher: Cipher, destination: Destination) => ({
	type: destination.type,
	config: await eachSecret(destination, (sealed, key) => cipher.unseal(fieldOf(key), sealed)),
});

/**
 * The config as it is stored: each field as the rules read it, without those that are null.
 * @throws the refusal of a config that breaks the rules
 */
export const normalized = (type: string, config: Config): Config =>
	Object.fromEntries(Object.entries(check(type, config)).filter(([, value]) => value !== null));

/** A new destination as it is stored: its secrets sealed. */
export async function sealed(cipher: Cipher, type: string, given: Config): Promise<Destination> {
	const config = normalized(type, given);
	return {
		type,
		config: await eachSecret({ type, config }, (secret, key) => cipher.seal(fieldOf(key), secret)),
	};
}

/**
 * What a PATCH makes of a stored destination: `given` merged over its config, where null removes a key. The rules are
 * checked on the result; a secret that stays is not sealed again.
 */
export async function merged(
	cipher: Cipher,
	stored: Destination,
	given: { type?: string | undefined; config?: Config | undefined },
): Promise<Destination> {
	const { type } = stored;
	if (given.type !== undefined && given.type !== type)
		throw invalid("destination__type", "The type of a destination can't be changed.");
	const { config: before } = await opened(cipher, stored);
	const config = normalized(
		type,
		Object.fromEntries(
			Object.entries({ ...before, ...given.config }).filter(([, value]) => value !== null),
		),
	);
	// Whoever may change an export may not thereby learn a secret that somebody else entered.
	const keepsSecret = secretsOf(type).some(
		(key) => before[key] !== undefined && given.config?.[key] === undefined,
	);
	if (keepsSecret && endpointOf(config) !== endpointOf(before))
		throw invalid("destination", "Give the secret fields again: the destination leads elsewhere.");
	return {
		type,
		config: await eachSecret({ type, config }, async (secret, key) => {
			const old = stored.config[key];
			return secret === before[key] && typeof old === "string"
				? old
				: cipher.seal(fieldOf(key), secret);
		}),
	};
}
