import { eq } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { batchExportDays } from "../../db/schema/batch_exports.ts";
import type { Page } from "../../http/page.ts";
import { dayColumns } from "./columns.ts";
import { listWithin, rowIdOf } from "./statements.ts";

/** Lists the totals of an export's runs for each day (UTC) on which runs ended, newest first. */
export const list = (tenant: Tenant, id: string, page: Page) =>
	listWithin(tenant, id, page, {
		select: () => tenant.db.select(dayColumns).from(batchExportDays).$dynamic(),
		where: eq(batchExportDays.batch_export_id, rowIdOf(tenant, id)),
		by: [batchExportDays.day],
		keys: ({ day }) => [day],
	});
