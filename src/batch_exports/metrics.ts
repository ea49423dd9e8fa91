import { eq } from "drizzle-orm";
import { paged } from "../db/list.ts";
import { batchExportDays } from "../db/schema.ts";
import { found } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { selectName } from "./queries.ts";
import { dayColumns } from "./shape.ts";

const keys = ({ day }: { day: string }) => [day];

/** What the runs of an export came to, by the day on which they ended, newest first. */
export async function list(tenant: Tenant, id: string, page: Page) {
	const { db } = tenant;
	const [rows, [counted], [exported]] = await tenant.read(
		...paged(db, page, db.select(dayColumns).from(batchExportDays).$dynamic(), {
			where: eq(batchExportDays.batch_export_id, id.toLowerCase()),
			by: [batchExportDays.day],
			keys,
		}),
		selectName(tenant, id),
	);
	found(exported);
	return envelope(page, rows, counted?.count ?? 0, keys);
}
