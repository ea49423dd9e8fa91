import { and, eq, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { assertThat, rowId } from "../../db/client.ts";
import { deletedRows } from "../../db/schema/deletions.ts";
import { ADMIN, insufficientLevel } from "../../db/schema/levels.ts";
import { keepsSecrets, pluginConfigs } from "../../db/schema/plugins.ts";

/**
 * Whether any config of the plugin has secrets or storage, in any organization. A deleted one gives
 * them to the code once it is restored.
 */
const hasSecrets = (plugin_id: number) => sql<number>`(
	exists (select 1 from ${pluginConfigs} where ${and(eq(pluginConfigs.plugin_id, plugin_id), keepsSecrets)})
	or exists (select 1 from ${deletedRows} where ${eq(deletedRows.plugin_id, plugin_id)}))`;

/** Selects the parameter `code` of `authorizeCodeChange`. */
export const codeStatus = ({ db }: Tenant, id: string) =>
	db.select({ keeps_secrets: hasSecrets(rowId(id)).as("keeps_secrets") }).from(sql`(select 1)`);

/** @throws 403 if the code has secrets and the caller is no admin (docs/plugins.md#access) */
export function authorizeCodeChange(
	{ caller }: Tenant,
	code: { keeps_secrets: number } | undefined,
) {
	if (caller.level < ADMIN && code?.keeps_secrets) throw insufficientLevel();
}

/** A statement that makes its batch fail if a secret was stored since `authorizeCodeChange`. */
export const assertCodeAuthorized = ({ db, caller }: Tenant, plugin_id: number) =>
	assertThat(db, sql`${caller.level} >= ${ADMIN} or not ${hasSecrets(plugin_id)}`, "has_access");
