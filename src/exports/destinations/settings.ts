/** The settings of destinations, of which some are secrets. */
import type { Destination } from "../../db/schema/batch_exports.ts";
import { invalid } from "../../http/errors.ts";
import type { Cipher } from "../../keys/secrets.ts";
import { parseConfig } from "./config.ts";
import type { Configurable, Registry } from "./definition.ts";

type Config = Destination["config"];

const fieldOf = (key: string) => `destination.${key}`;

/** Replaces each of these settings by the result of `change`. */
async function eachSecret(
	secrets: string[],
	config: Config,
	change: (secret: string, key: string) => Promise<string>,
): Promise<Config> {
	const changed = { ...config };
	for (const key of secrets) {
		const value = config[key];
		if (typeof value === "string") changed[key] = await change(value, key);
	}
	return changed;
}

/**
 * Returns the server that gets the secrets of a stored destination; null for the provider's, such
 * as Amazon's for S3, or if there is no server.
 */
function serverIn(
	registry: Registry,
	{ type, config }: { type: string; config: Record<string, unknown> },
) {
	const given = Object.entries(config).filter(([, value]) => value !== undefined);
	const texts = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
	return registry.find(type)?.server?.(texts) ?? null;
}

/** Returns the functions that read settings of these types. */
function readersOf(registry: Registry) {
	const parse = (type: string, config: unknown) => parseConfig(registry, type, config);

	const secretsOf = (type: string) => registry.find(type)?.secrets ?? [];

	const serverOf = (destination: Parameters<typeof serverIn>[1]) => serverIn(registry, destination);

	/** Returns the destination for a response, without its secrets. */
	const shown = ({ type, config }: Destination): Destination => {
		const secret = secretsOf(type);
		return {
			type,
			config: Object.fromEntries(Object.entries(config).filter(([key]) => !secret.includes(key))),
		};
	};

	/** Returns the destination with decrypted secrets. */
	const opened = async (cipher: Cipher, { type, config }: Destination) => ({
		type,
		config: await eachSecret(secretsOf(type), config, (sealed, key) =>
			cipher.unseal(fieldOf(key), sealed),
		),
	});

	/** Returns the parsed config without nulls. Throws 400 if it is invalid. */
	const normalized = (type: string, config: Config): Config =>
		Object.fromEntries(Object.entries(parse(type, config)).filter(([, value]) => value !== null));

	/** Returns the `trigger` of a change that removes stored secrets, such as for a role. */
	function removedSecrets(before: Destination, after: Destination | undefined) {
		const removed = secretsOf(before.type).filter(
			(key) => before.config[key] !== undefined && after && after.config[key] === undefined,
		);
		return removed.length > 0 && { trigger: { removed_secrets: removed } };
	}

	return { parse, secretsOf, serverOf, shown, opened, normalized, removedSecrets };
}

/**
 * Returns the settings that a PATCH replaces without naming them: those of a stored key by a role, and
 * of a role by a key.
 */
function replacedBy(
	{ role, secrets }: Configurable,
	{ before, changes = {} }: { before: Config; changes: Config | undefined },
) {
	const isGiven = (name: string) => Boolean(changes[name]);
	const isLeft = (name: string) => before[name] !== undefined && !(name in changes);
	if (!role) return [];
	if (isGiven(role.settings[0])) return role.replaces.filter(isLeft);
	const isKey = role.replaces.some((name) => secrets.includes(name) && isGiven(name));
	return isKey ? role.settings.filter(isLeft) : [];
}

const without = (config: Config, names: string[]): Config =>
	Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name)));

/** Returns a config with the changes of a PATCH, where null removes a key. */
const patched = (before: Config, changes: Config = {}): Config =>
	Object.fromEntries(
		Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null),
	);

/** Returns the functions for the settings of these types. */
export function settingsOf(registry: Registry) {
	const readers = readersOf(registry);
	const { secretsOf, serverOf, opened, normalized } = readers;

	/** Returns a new destination with encrypted secrets. Throws 400 if the config is invalid. */
	async function sealed(cipher: Cipher, type: string, given: Config): Promise<Destination> {
		const config = normalized(type, given);
		return {
			type,
			config: await eachSecret(secretsOf(type), config, (secret, key) =>
				cipher.seal(fieldOf(key), secret),
			),
		};
	}

	/**
	 * Merges the config of a PATCH into the config of a stored destination. Null removes a key. Secrets
	 * that don't change aren't encrypted again.
	 * @throws 400 if the result is invalid, or if it would send stored secrets to another server
	 */
	async function merged(
		cipher: Cipher,
		stored: Destination,
		patch: { type?: string | undefined; config?: Config | undefined },
	): Promise<Destination> {
		const { type } = stored;
		if (patch.type !== undefined && patch.type !== type)
			throw invalid("destination__type", "The type of a destination can't be changed.");
		const { config: before } = await opened(cipher, stored);
		const definition = registry.find(type);
		const changes = patch.config;
		const replaced = definition ? replacedBy(definition, { before, changes }) : [];
		const config = normalized(type, patched(without(before, replaced), patch.config));
		// Otherwise, anyone who may change an export could have another person's secret sent to their own
		// server.
		const keepsSecret = secretsOf(type).some(
			(key) => config[key] !== undefined && patch.config?.[key] === undefined,
		);
		if (keepsSecret && serverOf({ type, config }) !== serverOf({ type, config: before }))
			throw invalid(
				"destination",
				"Give the secret fields again: the destination leads elsewhere.",
			);
		return {
			type,
			config: await eachSecret(secretsOf(type), config, async (secret, key) => {
				const old = stored.config[key];
				return secret === before[key] && typeof old === "string"
					? old
					: cipher.seal(fieldOf(key), secret);
			}),
		};
	}

	return { ...readers, sealed, merged };
}
