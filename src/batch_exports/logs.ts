import { and, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type * as z from "zod";
import { inList } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { paged } from "../db/list.ts";
import { batchExportLogEntries, batchExports } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { entryColumns } from "./columns.ts";
import { selectOne as selectRun } from "./runs.ts";
import { type logFilters, toBatchExport } from "./shape.ts";
import { countOf, selectName, selectOne } from "./statements.ts";

type Filters = z.infer<typeof logFilters>;

const keys = ({ timestamp, id }: { timestamp: string; id: string }) => [timestamp, id];

/**
 * The statements of a page of entries, newest first.
 * @param total how many entries there are without filters; counted if it is left out
 */
function selectPage(
	{ db }: Tenant,
	page: Page,
	parent: SQL,
	{ after, before, search, level }: Filters,
	total?: SQL,
) {
	const { timestamp, message } = batchExportLogEntries;
	const filter = and(
		after ? gt(timestamp, after) : undefined,
		before ? lt(timestamp, before) : undefined,
		search ? contains(message, search) : undefined,
		level?.length ? inList(batchExportLogEntries.level, level) : undefined,
	);
	return paged(db, page, db.select(entryColumns).from(batchExportLogEntries).$dynamic(), {
		where: and(parent, filter),
		by: [timestamp, batchExportLogEntries.id],
		keys,
		...(!filter && total && { total }),
	});
}

/** The export, and a page of its log entries, which include those of its runs. */
export async function list(tenant: Tenant, id: string, page: Page, filters: Filters) {
	const ofExport = eq(batchExportLogEntries.batch_export_id, id.toLowerCase());
	const total = countOf(batchExports.log_entries, id);
	const [rows, [counted], [row]] = await tenant.read(
		...selectPage(tenant, page, ofExport, filters, total),
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
	run_id: string,
	page: Page,
	filters: Filters,
) {
	const ofRun = sql`${eq(batchExportLogEntries.run_id, run_id.toLowerCase())}
		and ${eq(batchExportLogEntries.batch_export_id, id.toLowerCase())}`;
	const [rows, [counted], [parent], [run]] = await tenant.read(
		...selectPage(tenant, page, ofRun, filters),
		selectName(tenant, id),
		selectRun(tenant, id, run_id),
	);
	found(parent && run);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
