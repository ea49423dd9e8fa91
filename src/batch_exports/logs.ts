import { and, eq, getTableColumns, sql } from "drizzle-orm";
import type * as z from "zod";
import { paged } from "../db/list.ts";
import { inLog } from "../db/log.ts";
import {
	batchExportLogEntries,
	batchExportRuns,
	batchExports,
	LEVELS,
} from "../db/schema/batch_exports.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { entryColumns } from "./columns.ts";
import { isRun, selectOne as selectRun } from "./runs.ts";
import { type logFilters, toBatchExport } from "./shape.ts";
import { countOf, rowIdOf, selectName, selectOne } from "./statements.ts";

type Filters = z.infer<typeof logFilters>;

type Level = (typeof LEVELS)[number];

const keys = ({ timestamp, id }: { timestamp: string; id: string }) => [timestamp, id];

/** The counters of an export's log entries by level. */
const COUNTERS = {
	DEBUG: batchExports.debug_entries,
	INFO: batchExports.info_entries,
	WARNING: batchExports.warning_entries,
	ERROR: batchExports.error_entries,
} satisfies Record<Level, unknown>;

const columns = getTableColumns(batchExportLogEntries);

const LOG = { table: batchExportLogEntries, columns };

const select = ({ db }: Tenant) => db.select(entryColumns).from(batchExportLogEntries).$dynamic();

/** Returns the export and a page of its log entries, which include those of its runs. */
export async function list(tenant: Tenant, id: string, page: Page, { level, ...filters }: Filters) {
	const levels = level?.length ? [...new Set(level)] : LEVELS;
	const log = {
		...LOG,
		where: eq(columns.batch_export_id, rowIdOf(tenant, id)),
		levels,
		counter: countOf(tenant, id, ...levels.map((one) => COUNTERS[one])),
	};
	const [rows, [counted], [row]] = await tenant.read(
		...paged(tenant.db, page, () => select(tenant), { ...inLog(log, filters), keys }),
		selectOne(tenant, id),
	);
	return {
		...toBatchExport(found(row)),
		...envelope(page, rows, counted?.count ?? 0, keys),
	};
}

/** Returns a page of a run's log entries. */
export async function listOfRun(
	tenant: Tenant,
	id: string,
	of: string,
	page: Page,
	{ level, ...filters }: Filters,
) {
	const run = of.toLowerCase();
	const log = {
		...LOG,
		where: and(eq(columns.run_id, run), sql`+${eq(columns.batch_export_id, rowIdOf(tenant, id))}`),
		levels: level?.length ? [...new Set(level)] : LEVELS,
		counter: level?.length
			? undefined
			: sql`coalesce((select ${batchExportRuns.log_entries} from ${batchExportRuns} where ${isRun(tenant, id, run)}), 0)`,
	};
	const [rows, [counted], [parent], [row]] = await tenant.read(
		...paged(tenant.db, page, () => select(tenant), { ...inLog(log, filters), keys }),
		selectName(tenant, id),
		selectRun(tenant, id, of),
	);
	found(parent && row);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
