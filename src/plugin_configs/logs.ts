import { and, eq, gt, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { inList, rowId } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { paged } from "../db/list.ts";
import { pluginConfigs, pluginLogEntries } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { byId } from "./queries.ts";
import type { logFilters } from "./shape.ts";

/**
 * The log of a config, newest first.
 * @throws 404 if the config doesn't exist
 */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ after, before, search, type_filter }: z.infer<typeof logFilters>,
) {
	const filter = and(
		after ? gt(pluginLogEntries.timestamp, after) : undefined,
		before ? lt(pluginLogEntries.timestamp, before) : undefined,
		search ? contains(pluginLogEntries.message, search) : undefined,
		type_filter?.length ? inList(pluginLogEntries.type, type_filter) : undefined,
	);
	const ofConfig = eq(pluginLogEntries.plugin_config_id, rowId(id));
	const keys = ({ timestamp, id }: { timestamp: string; id: string }) => [timestamp, id];
	const [rows, [counted], [config]] = await tenant.read(
		...paged(tenant.db, page, tenant.db.select().from(pluginLogEntries).$dynamic(), {
			where: and(ofConfig, filter),
			by: [pluginLogEntries.timestamp, pluginLogEntries.id],
			keys,
			...(filter
				? {}
				: {
						total: sql`(select ${pluginConfigs.log_entries} from ${pluginConfigs} where ${byId(tenant, id)})`,
					}),
		}),
		tenant.db.select({ id: pluginConfigs.id }).from(pluginConfigs).where(byId(tenant, id)),
	);
	found(config);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
