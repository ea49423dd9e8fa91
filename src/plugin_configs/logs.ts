import { eq, getTableColumns, sql } from "drizzle-orm";
import type * as z from "zod";
import { rowId } from "../db/client.ts";
import { counter, paged } from "../db/list.ts";
import { inLog } from "../db/log.ts";
import { pluginConfigs, pluginLogEntries } from "../db/schema/plugin_configs.ts";
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

const { position, ...columns } = getTableColumns(pluginLogEntries);

/**
 * Lists the log entries of a config, newest first.
 * @throws 404 if the config doesn't exist
 */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ type_filter, ...filters }: z.infer<typeof logFilters>,
) {
	const types = type_filter?.length ? [...new Set(type_filter)] : TYPES;
	const counters = types.map((one) => counter(COUNTERS[one], rowId(id)));
	const log = {
		table: pluginLogEntries,
		columns: { ...columns, level: columns.type },
		where: eq(columns.plugin_config_id, rowId(id)),
		levels: types,
		counter: sql.join(counters, sql` + `),
	};
	const select = () => tenant.db.select(columns).from(pluginLogEntries).$dynamic();
	const keys = ({ timestamp, id }: { timestamp: string; id: string }) => [timestamp, id];
	const [rows, [counted], [config]] = await tenant.read(
		...paged(tenant.db, page, select, { ...inLog(log, filters), keys }),
		tenant.db.select({ id: pluginConfigs.id }).from(pluginConfigs).where(byId(tenant, id)),
	);
	found(config);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
