import { and, eq, sql } from "drizzle-orm";
import { isSealed, seal, unseal } from "../auth/secrets.ts";
import type { Database } from "../db/client.ts";
import { pluginStorage } from "../db/schema.ts";
import type { Run } from "./sandbox.ts";

const MOST_KEYS = 1000;
/** Of a config's keys and their JSON together. */
const MOST_BYTES = 2 ** 20;

/** What a plugin keeps for a config: it may well be a token, so it is sealed. */
export function storage(
	env: Env,
	db: Database,
	plugin_config_id: number,
): Run["storage"] {
	const at = (key: string) =>
		and(
			eq(pluginStorage.plugin_config_id, plugin_config_id),
			eq(pluginStorage.key, key),
		);
	return {
		async get(key) {
			const { value } = pluginStorage;
			const [row] = await db
				.select({ value })
				.from(pluginStorage)
				.where(at(key));
			if (!row) return null;
			// What was kept before values were sealed is JSON, which never looks sealed.
			return isSealed(row.value) ? unseal(env, row.value) : row.value;
		},
		async set(key, json) {
			const value = await seal(env, json);
			const bytes = new TextEncoder().encode(key + json).length;
			const written =
				await db.all(sql`insert into plugin_storage (plugin_config_id, key, value, bytes)
				select c.id, ${key}, ${value}, ${bytes} from plugin_configs as c
				left join plugin_storage as old on old.plugin_config_id = c.id and old.key = ${key}
				where c.id = ${plugin_config_id} and c.storage_keys + (old.key is null) <= ${MOST_KEYS}
					and c.storage_bytes - coalesce(old.bytes, 0) + ${bytes} <= ${MOST_BYTES}
				on conflict do update set value = excluded.value, bytes = excluded.bytes returning key`);
			return written.length > 0;
		},
		async del(key) {
			await db.delete(pluginStorage).where(at(key));
		},
	};
}
