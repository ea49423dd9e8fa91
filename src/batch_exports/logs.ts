import { and, eq, gt, inArray, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { inList } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { counter, countWhere, paged } from "../db/list.ts";
import { batchExportLogEntries, batchExportRuns, batchExports, LEVELS } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { entryColumns } from "./columns.ts";
import { selectOne as selectRun } from "./runs.ts";
import { type logFilters, toBatchExport } from "./shape.ts";
import { countOf, selectName, selectOne } from "./statements.ts";

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

const { timestamp, message, level, batch_export_id, run_id } = batchExportLogEntries;

/** The filters other than the level, as a condition. */
const conditionOf = ({ after, before, search }: Filters) =>
	and(
		after ? gt(timestamp, after) : undefined,
		before ? lt(timestamp, before) : undefined,
		search ? contains(message, search) : undefined,
	);

/** A list of entries, newest first. */
const newestFirst = ({ db }: Tenant) => ({
	select: () => db.select(entryColumns).from(batchExportLogEntries).$dynamic(),
	by: [timestamp, batchExportLogEntries.id],
	keys,
});

/** The export, and a page of its log entries, which include those of its runs. */
export async function list(tenant: Tenant, id: string, page: Page, filters: Filters) {
	const levels = filters.level?.length ? [...new Set(filters.level)] : LEVELS;
	const [first, ...others] = levels.map((one) => eq(level, one));
	const filter = conditionOf(filters);
	const where = and(eq(batch_export_id, id.toLowerCase()), filter);
	const { select, ...order } = newestFirst(tenant);
	const [rows, [counted], [row]] = await tenant.read(
		...paged(tenant.db, page, select, {
			...order,
			where,
			parts: [first, ...others],
			total: filter
				? countWhere(batchExportLogEntries, and(where, inArray(level, levels)))
				: countOf(id, ...levels.map((one) => COUNTERS[one])),
		}),
		selectOne(tenant, id),
	);
	return {
		...toBatchExport(found(row)),
		...envelope(page, rows, counted?.count ?? 0, keys),
	};
}

/** A page of a run's log entries. */
export async function listOfRun(
	tenant: Tenant,
	id: string,
	of: string,
	page: Page,
	filters: Filters,
) {
	const filter = and(
		conditionOf(filters),
		filters.level?.length ? inList(level, filters.level) : undefined,
	);
	const run = and(eq(run_id, of.toLowerCase()), sql`+${eq(batch_export_id, id.toLowerCase())}`);
	const { select, ...order } = newestFirst(tenant);
	const [rows, [counted], [parent], [row]] = await tenant.read(
		...paged(tenant.db, page, select, {
			...order,
			where: and(run, filter),
			total: filter
				? countWhere(batchExportLogEntries, and(run, filter))
				: counter(batchExportRuns.log_entries, of.toLowerCase()),
		}),
		selectName(tenant, id),
		selectRun(tenant, id, of),
	);
	found(parent && row);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
