import { eq } from "drizzle-orm";
import { paged } from "../db/list.ts";
import { batchExportDays } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { dayColumns } from "./columns.ts";
import { selectName } from "./statements.ts";

const keys = ({ day }: { day: string }) => [day];

/** Totals of an export's runs for each day (UTC) on which some ended, newest first. */
export async function list(tenant: Tenant, id: string, page: Page) {
	const { db } = tenant;
	const [rows, [counted], [parent]] = await tenant.read(
		...paged(db, page, db.select(dayColumns).from(batchExportDays).$dynamic(), {
			where: eq(batchExportDays.batch_export_id, id.toLowerCase()),
			by: [batchExportDays.day],
			keys,
		}),
		selectName(tenant, id),
	);
	found(parent);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
