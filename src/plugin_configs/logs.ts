import { and, eq, gt, inArray, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { rowId } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { counter, countWhere, paged } from "../db/list.ts";
import { pluginConfigs, pluginLogEntries } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { byId } from "./queries.ts";
import { type logFilters, TYPES } from "./shape.ts";

/** The counters of a config's log entries by type. */
const COUNTERS = {
	DEBUG: pluginConfigs.debug_entries,
	LOG: pluginConfigs.log_type_entries,
	INFO: pluginConfigs.info_entries,
	WARN: pluginConfigs.warn_entries,
	ERROR: pluginConfigs.error_entries,
} satisfies Record<(typeof TYPES)[number], unknown>;

const { timestamp, message, type, plugin_config_id } = pluginLogEntries;

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
	const types = type_filter?.length ? [...new Set(type_filter)] : TYPES;
	const [first, ...others] = types.map((one) => eq(type, one));
	const counters = types.map((one) => counter(COUNTERS[one], rowId(id)));
	const filter = and(
		after ? gt(timestamp, after) : undefined,
		before ? lt(timestamp, before) : undefined,
		search ? contains(message, search) : undefined,
	);
	const where = and(eq(plugin_config_id, rowId(id)), filter);
	const keys = ({ timestamp, id }: { timestamp: string; id: string }) => [timestamp, id];
	const [rows, [counted], [config]] = await tenant.read(
		...paged(tenant.db, page, () => tenant.db.select().from(pluginLogEntries).$dynamic(), {
			where,
			parts: [first, ...others],
			by: [timestamp, pluginLogEntries.id],
			keys,
			total: filter
				? countWhere(pluginLogEntries, and(where, inArray(type, types)))
				: sql.join(counters, sql` + `),
		}),
		tenant.db.select({ id: pluginConfigs.id }).from(pluginConfigs).where(byId(tenant, id)),
	);
	found(config);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
