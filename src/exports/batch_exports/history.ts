import { and, desc, eq, gt, lt, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import {
	batchExportDays,
	batchExportRanges,
	batchExports,
	SELECTIONS,
} from "../../db/schema/batch_exports.ts";
import { projects } from "../../db/schema/organizations.ts";
import type { Page } from "../../http/page.ts";
import { DAY_MS, iso } from "../../lib/time.ts";
import { dayColumns, rangeColumns } from "./columns.ts";
import type { rangeFilters } from "./shape.ts";
import { listWithin, rowIdOf, visibleExports } from "./statements.ts";

/** Lists the totals of an export's runs for each day (UTC) on which runs ended, newest first. */
export const listMetrics = (tenant: Tenant, id: string, page: Page) =>
	listWithin(tenant, id, page, {
		select: () => tenant.db.select(dayColumns).from(batchExportDays).$dynamic(),
		where: eq(batchExportDays.batch_export_id, rowIdOf(tenant, id)),
		by: [batchExportDays.day],
		keys: ({ day }) => [day],
	});

/** The number of days that the totals of all exports have. */
const TOTAL_DAYS = 90;

/** Lists the totals of all exports that the caller can see, by day, newest first. */
export async function listTotals(tenant: Tenant) {
	const sums = batchExportDays;
	const totals = tenant.db
		.select({
			day: batchExportDays.day,
			runs: sumOf(sums.runs),
			rows: sumOf(sums.rows),
			bytes: sumOf(sums.bytes),
			failures: sumOf(sums.failures),
			seconds: sumOf(sums.seconds),
		})
		.from(batchExports)
		.innerJoin(projects, eq(projects.id, batchExports.project_id))
		.innerJoin(batchExportDays, eq(batchExportDays.batch_export_id, batchExports.id))
		.where(
			and(
				visibleExports(tenant),
				eq(batchExports.one_off, false),
				gt(batchExportDays.day, iso(Date.now() - TOTAL_DAYS * DAY_MS).slice(0, 10)),
			),
		)
		.groupBy(batchExportDays.day)
		.orderBy(desc(batchExportDays.day));
	const [days] = await tenant.read(totals);
	return { days };
}

const sumOf = (column: SQLiteColumn) => sql<number>`sum(${column})`.as(column.name);

/** Lists the ranges that old runs have delivered or missed, newest first. */
export function listRanges(
	tenant: Tenant,
	id: string,
	page: Page,
	{ after, starts_before }: z.infer<typeof rangeFilters>,
) {
	const { batch_export_id, by, start_at, end_at } = batchExportRanges;
	return listWithin(tenant, id, page, {
		select: () => tenant.db.select(rangeColumns).from(batchExportRanges).$dynamic(),
		where: and(
			eq(batch_export_id, rowIdOf(tenant, id)),
			after ? gt(end_at, after) : undefined,
			starts_before ? lt(start_at, starts_before) : undefined,
		),
		parts: SELECTIONS.map((one) => eq(by, one)),
		by: [start_at, by],
		keys: ({ start_at, by }) => [start_at, by],
	});
}
