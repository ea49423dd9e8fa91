import type { Destination } from "../../db/schema/batch_exports.ts";
import { invalid } from "../../http/errors.ts";
import { type Cipher, cipherOf } from "../../keys/secrets.ts";
import { parseConfig } from "./config.ts";
import { secretsOf, serverOf } from "./index.ts";

type Config = Destination["config"];

export const exportCipher = (env: Env, { id }: { id: string }) =>
	cipherOf(env, "batch_exports", id);

const fieldOf = (key: string) => `destination.${key}`;

/** Returns the destination for a response, without its secrets. */
export const shown = ({ type, config }: Destination): Destination => {
	const secret = secretsOf(type);
	return {
		type,
		config: Object.fromEntries(Object.entries(config).filter(([key]) => !secret.includes(key))),
	};
};

/** Replaces each secret of the config by the result of `change`. */
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

/** Returns the destination with decrypted secrets. */
export const opened = async (cipher: Cipher, destination: Destination) => ({
	type: destination.type,
	config: await eachSecret(destination, (sealed, key) => cipher.unseal(fieldOf(key), sealed)),
});

/** Returns the parsed config without nulls. Throws 400 if it is invalid. */
export const normalized = (type: string, config: Config): Config =>
	Object.fromEntries(
		Object.entries(parseConfig(type, config)).filter(([, value]) => value !== null),
	);

/** Returns a new destination with encrypted secrets. Throws 400 if the config is invalid. */
export async function sealed(cipher: Cipher, type: string, given: Config): Promise<Destination> {
	const config = normalized(type, given);
	return {
		type,
		config: await eachSecret({ type, config }, (secret, key) => cipher.seal(fieldOf(key), secret)),
	};
}

/**
 * Merges the config of a PATCH into the config of a stored destination. Null removes a key. Secrets
 * that don't change aren't encrypted again.
 * @throws 400 if the result is invalid, or if it would send stored secrets to another server
 */
export async function merged(
	cipher: Cipher,
	stored: Destination,
	patch: { type?: string | undefined; config?: Config | undefined },
): Promise<Destination> {
	const { type } = stored;
	if (patch.type !== undefined && patch.type !== type)
		throw invalid("destination__type", "The type of a destination can't be changed.");
	const { config: before } = await opened(cipher, stored);
	const config = normalized(
		type,
		Object.fromEntries(
			Object.entries({ ...before, ...patch.config }).filter(([, value]) => value !== null),
		),
	);
	// Otherwise, anyone who may change an export could have another person's secret sent to their own
	// server.
	const keepsSecret = secretsOf(type).some(
		(key) => before[key] !== undefined && patch.config?.[key] === undefined,
	);
	if (keepsSecret && serverOf({ type, config }) !== serverOf({ type, config: before }))
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
