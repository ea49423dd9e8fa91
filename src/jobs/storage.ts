import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import { cipherOf, digests, isDigest, isSealed } from "../auth/secrets.ts";
import { type Database, inList } from "../db/client.ts";
import { pluginStorage } from "../db/schema.ts";
import type { Run } from "./sandbox.ts";

const MAX_KEYS = 1000;
/** Of a config's keys and their JSON together. */
const MAX_BYTES = 2 ** 20;

/**
 * What a plugin keeps for a config. A value may well be a token and a key somebody's address, so values are sealed, and
 * of a key only a digest is stored.
 */
export function storage(env: Env, db: Database, plugin_config_id: number): Run["storage"] {
	const { key: stored, value } = pluginStorage;
	const cipher = cipherOf(env, "plugin_storage", plugin_config_id);
	/**
	 * What the row of a key may be called: by the newest key's digest, by that of an older one, or, from before there
	 * were digests, as it is.
	 */
	const namesOf = async (key: string) => [
		...(await digests(env, "plugin_storage", `${plugin_config_id}:${key}`)),
		...(isDigest(key) ? [] : [key]),
	];
	const where = (condition: SQL) =>
		and(eq(pluginStorage.plugin_config_id, plugin_config_id), condition);
	return {
		async get(key) {
			const names = await namesOf(key);
			const [row] = await db
				.select({ value })
				.from(pluginStorage)
				.where(where(inList(stored, names)))
				.orderBy(desc(eq(stored, names[0] ?? "")))
				.limit(1);
			if (!row) return null;
			// What was kept before values were sealed is JSON, which never looks sealed.
			return isSealed(row.value) ? cipher.unseal(key, row.value) : row.value;
		},
		async set(key, json) {
			const sealed = await cipher.seal(key, json);
			const [name = "", ...older] = await namesOf(key);
			const bytes = new TextEncoder().encode(key + json).length;
			const [, written] = await db.batch([
				// Two rows stand for one key only where two versions of SECRETS_KEY were in use at once.
				db
					.update(pluginStorage)
					.set({ key: name })
					.where(
						where(sql`${stored} <> ${name} and ${stored} = (select max(key) from plugin_storage
							where plugin_config_id = ${plugin_config_id}
								and key in (select value from json_each(${JSON.stringify([name, ...older])}))
							having count(*) = 1)`),
					),
				db
					.insert(pluginStorage)
					.select(
						sql`select c.id, ${name}, ${sealed}, ${bytes} from plugin_configs as c
						left join plugin_storage as old on old.plugin_config_id = c.id and old.key = ${name}
						where c.id = ${plugin_config_id} and c.storage_keys + (old.key is null) <= ${MAX_KEYS}
							and c.storage_bytes - coalesce(old.bytes, 0) + ${bytes} <= ${MAX_BYTES}`,
					)
					.onConflictDoUpdate({
						target: [pluginStorage.plugin_config_id, stored],
						set: { value: sql`excluded.value`, bytes: sql`excluded.bytes` },
					})
					.returning({ key: stored }),
			]);
			return written.length > 0;
		},
		async del(key) {
			await db.delete(pluginStorage).where(where(inList(stored, await namesOf(key))));
		},
	};
}
