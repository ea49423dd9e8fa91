import { and, eq, gt, or, sql } from "drizzle-orm";
import { rowId } from "../db/client.ts";
import { ADMIN, insufficientLevel } from "../db/levels.ts";
import { assertions, pluginConfigs } from "../db/schema.ts";
import type { Tenant } from "../tenant/tenant.ts";

/**
 * Whether a config of the plugin, in any organization, keeps secrets: sealed fields, or anything in its storage, all of
 * which is sealed. Code of the plugin reads them when it runs.
 */
const keepsSecrets = (plugin_id: number) => {
	const sealed = sql`exists (select 1 from json_each(${pluginConfigs.config}) as field where field.value glob 'sealed*:*')`;
	const secret = and(
		eq(pluginConfigs.plugin_id, plugin_id),
		or(gt(pluginConfigs.storage_keys, 0), sealed),
	);
	return sql<number>`exists (select 1 from ${pluginConfigs} where ${secret})`;
};

/** The statement that says what `authorizeCodeChange` needs to know. */
export const codeStatus = ({ db }: Tenant, id: string) =>
	db.select({ keeps_secrets: keepsSecrets(rowId(id)).as("keeps_secrets") }).from(sql`(select 1)`);

type CodeStatus = { keeps_secrets: number } | undefined;

/** @throws 403 where the plugin's code runs with secrets and the caller is no admin (docs/plugins.md#access) */
export function authorizeCodeChange({ caller }: Tenant, code: CodeStatus) {
	if (caller.level < ADMIN && code?.keeps_secrets) throw insufficientLevel();
}

/** The statement that fails, and the rest of its batch with it, where a secret was stored after the check. */
export const assertCodeAuthorized = ({ db, caller }: Tenant, plugin_id: number) =>
	db
		.insert(assertions)
		.select(sql`select 0 where ${caller.level} < ${ADMIN} and ${keepsSecrets(plugin_id)}`);
