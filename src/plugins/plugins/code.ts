import { and, eq, or, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { assertThat, rowId } from "../../db/client.ts";
import { ADMIN, insufficientLevel } from "../../db/schema/levels.ts";
import { pluginConfigs, pluginStorage } from "../../db/schema/plugins.ts";

/** Whether any config of the plugin has secrets or storage, in any organization. */
const keepsSecrets = (plugin_id: number) => {
	const sealed = sql`exists (select 1 from json_each(${pluginConfigs.config}) as field where field.value glob 'sealed:*')`;
	const stores = sql`exists (select 1 from ${pluginStorage} where ${pluginStorage.plugin_config_id} = ${pluginConfigs.id})`;
	const secret = and(eq(pluginConfigs.plugin_id, plugin_id), or(stores, sealed));
	return sql<number>`exists (select 1 from ${pluginConfigs} where ${secret})`;
};

/** Selects the parameter `code` of `authorizeCodeChange`. */
export const codeStatus = ({ db }: Tenant, id: string) =>
	db.select({ keeps_secrets: keepsSecrets(rowId(id)).as("keeps_secrets") }).from(sql`(select 1)`);

/** @throws 403 if the code has secrets and the caller is no admin (docs/plugins.md#access) */
export function authorizeCodeChange(
	{ caller }: Tenant,
	code: { keeps_secrets: number } | undefined,
) {
	if (caller.level < ADMIN && code?.keeps_secrets) throw insufficientLevel();
}

/** A statement that makes its batch fail if a secret was stored since `authorizeCodeChange`. */
export const assertCodeAuthorized = ({ db, caller }: Tenant, plugin_id: number) =>
	assertThat(db, sql`${caller.level} >= ${ADMIN} or not ${keepsSecrets(plugin_id)}`, "has_access");
