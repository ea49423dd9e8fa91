import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { rowId } from "../../db/client.ts";
import { entryOf, readLog } from "../../db/log_page.ts";
import type { StoredEntry } from "../../db/schema/log.ts";
import { pluginConfigs } from "../../db/schema/plugins.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { type Entry, PLUGIN_LOGS } from "../jobs/run_log.ts";
import { byId } from "./queries.ts";
import type { logFilters } from "./shape.ts";

/** Lists the entries of a config, newest first. Throws 404 if it doesn't exist. */
export async function list(
	tenant: Tenant,
	id: string,
	page: Page,
	{ type_filter: levels, ...filters }: z.infer<typeof logFilters>,
) {
	const { db } = tenant;
	const log = readLog<StoredEntry<Entry["level"], [Entry["source"]]>>(db, PLUGIN_LOGS, {
		of: rowId(id),
		page,
		filters: { levels, ...filters },
	});
	const [rows, unread, counted, [config]] = await tenant.read(
		...log.statements,
		db
			.select({
				team_id: pluginConfigs.project_id,
				plugin_id: pluginConfigs.plugin_id,
				plugin_config_id: pluginConfigs.id,
			})
			.from(pluginConfigs)
			.where(byId(tenant, id)),
	);
	const ref = orNotFound(config);
	return log.envelopeOf([rows, unread, counted], (row) => {
		const { id, timestamp, message } = entryOf(row);
		const [, type, , source] = row.entry;
		return { id, ...ref, timestamp, source, type, message, instance_id: row.id };
	});
}
