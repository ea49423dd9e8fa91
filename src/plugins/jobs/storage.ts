import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, inList } from "../../db/client.ts";
import { pluginStorage } from "../../db/schema/plugins.ts";
import { cipherOf, digests } from "../../keys/secrets.ts";
import type { Storage } from "./storage_calls.ts";

const MAX_KEYS = 1000;
/** The maximum size of all keys and JSON values of a config together. */
const MAX_BYTES = 2 ** 20;

/**
 * Returns a plugin's key-value storage for one config. Values may be tokens and keys may be
 * personal data, so values are encrypted and only a keyed digest of each key is stored.
 */
export function storage(env: Env, db: Database, plugin_config_id: number): Storage {
	const { key: column, value } = pluginStorage;
	const cipher = cipherOf(env, "plugin_storage", plugin_config_id);
	/** Returns the possible values of `key`: digests with all SECRETS_KEY, newest first. */
	const storedKeysOf = (key: string) =>
		digests(env, "plugin_storage", `${plugin_config_id}:${key}`);
	const stored = (aggregate: string) =>
		sql`(select ${sql.raw(aggregate)} from ${pluginStorage} where plugin_config_id = ${plugin_config_id})`;
	const where = (condition: SQL) =>
		and(eq(pluginStorage.plugin_config_id, plugin_config_id), condition);
	return {
		async get(key) {
			const names = await storedKeysOf(key);
			const [row] = await db
				.select({ value })
				.from(pluginStorage)
				.where(where(inList(column, names)))
				.orderBy(desc(eq(column, names[0] ?? "")))
				.limit(1);
			if (!row) return null;
			return cipher.unseal(key, row.value);
		},
		async set(key, json) {
			const sealed = await cipher.seal(key, json);
			const [name = "", ...older] = await storedKeysOf(key);
			const bytes = new TextEncoder().encode(key + json).length;
			const [, written] = await db.batch([
				// Changes an older digest to the newest one. A key has two rows only if two versions of
				// SECRETS_KEY were in use at the same time.
				db
					.update(pluginStorage)
					.set({ key: name })
					.where(
						where(sql`${column} <> ${name} and ${column} = (select max(key) from plugin_storage
							where plugin_config_id = ${plugin_config_id}
								and key in (select value from json_each(${JSON.stringify([name, ...older])}))
							having count(*) = 1)`),
					),
				db
					.insert(pluginStorage)
					.select(
						sql`select c.id, ${name}, ${bytes}, ${sealed} from plugin_configs as c
						left join plugin_storage as old on old.plugin_config_id = c.id and old.key = ${name}
						where c.id = ${plugin_config_id} and ${stored("count(*)")} + (old.key is null) <= ${MAX_KEYS}
							and ${stored("coalesce(sum(bytes), 0)")} - coalesce(old.bytes, 0) + ${bytes} <= ${MAX_BYTES}`,
					)
					.onConflictDoUpdate({
						target: [pluginStorage.plugin_config_id, column],
						set: { value: sql`excluded.value`, bytes: sql`excluded.bytes` },
					})
					.returning({ key: column }),
			]);
			return written.length > 0;
		},
		async del(key) {
			await db.delete(pluginStorage).where(where(inList(column, await storedKeysOf(key))));
		},
	};
}
