import { and, eq, gt, lt } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { batchExportDays, batchExportRanges, SELECTIONS } from "../../db/schema/batch_exports.ts";
import type { Page } from "../../http/page.ts";
import { dayColumns, rangeColumns } from "./columns.ts";
import type { rangeFilters } from "./shape.ts";
import { listWithin, rowIdOf } from "./statements.ts";

/** Lists the totals of an export's runs for each day (UTC) on which runs ended, newest first. */
export const listMetrics = (tenant: Tenant, id: string, page: Page) =>
	listWithin(tenant, id, page, {
		select: () => tenant.db.select(dayColumns).from(batchExportDays).$dynamic(),
		where: eq(batchExportDays.batch_export_id, rowIdOf(tenant, id)),
		by: [batchExportDays.day],
		keys: ({ day }) => [day],
	});

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
