import { and, asc, eq, gt, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { changes } from "../../db/changes.ts";
import type { Database } from "../../db/client.ts";
import { pluginConfigs } from "../../db/schema/plugins.ts";
import { configCipher, fieldsOf, sealed } from "./config.ts";
import type { Row } from "./rows.ts";

const BATCH_SIZE = 100;

/**
 * Encrypts plain values in a plugin's configs that its new schema makes secret. Skips a config that
 * another request changes in the meantime, because that write encrypts them.
 */
async function reseal(
	env: Env,
	db: Database,
	plugin_id: number,
	schema: Parameters<typeof fieldsOf>[0],
) {
	const fields = fieldsOf(schema);
	const secretKeys = fields.flatMap(({ key, secret }) => (secret ? [key] : []));
	const { id, uuid, config, updated_at } = pluginConfigs;
	const hasUnsealed = sql`exists (select 1 from json_each(${config}) as field
		where field.key in (select value from json_each(${JSON.stringify(secretKeys)}))
			and field.value <> '' and field.value not glob 'sealed:*')`;
	for (let last = 0; ; ) {
		const rows = await db
			.select({ id, uuid, config })
			.from(pluginConfigs)
			.where(and(eq(pluginConfigs.plugin_id, plugin_id), gt(id, last), hasUnsealed))
			.orderBy(asc(id))
			.limit(BATCH_SIZE);
		const sealedConfigs = await Promise.all(
			rows.map((row) => sealed(configCipher(env, row), fields, row.config)),
		);
		const [first, ...rest] = rows.map((row, i) =>
			db
				.update(pluginConfigs)
				.set({ config: sealedConfigs[i], updated_at: sql`${updated_at}` })
				.where(and(eq(id, row.id), eq(config, row.config))),
		);
		if (!first) return;
		await db.batch([first, ...rest]);
		last = rows.at(-1)?.id ?? last;
	}
}

/** If the schema changed, calls `reseal` after the response. */
export function resealIfSchemaChanged(
	tenant: Tenant,
	before: Pick<Row, "config_schema">,
	{ id, config_schema }: Pick<Row, "id" | "config_schema">,
) {
	if (changes(before, { config_schema }).length > 0)
		tenant.later((db) => reseal(tenant.env, db, id, config_schema));
}
