/** The settings of the destinations of exports. */
import { cipherOf } from "../../keys/secrets.ts";
import { definitionOf, TYPES } from "./index.ts";
import { settingsOf } from "./settings.ts";

export const exportCipher = (env: Env, { id }: { id: string }) =>
	cipherOf(env, "batch_exports", id);

export const {
	parse: parseConfig,
	secretsOf,
	serverOf,
	shown,
	opened,
	normalized,
	removedSecrets,
	sealed,
	merged,
} = settingsOf({ types: TYPES, find: definitionOf });
