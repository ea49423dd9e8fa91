import { and, eq, isNull } from "drizzle-orm";
import { paged } from "../db/list.ts";
import { batchExportBackfills, batchExportRuns, now } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { note } from "../exporter/log.ts";
import { found, invalid } from "../http/errors.ts";
import { envelope, type Page } from "../http/page.ts";
import { selectName, told } from "./queries.ts";
import { backfillColumns } from "./shape.ts";

const select = ({ db }: Tenant) =>
	db.select(backfillColumns).from(batchExportBackfills);

const of = (id: string) =>
	eq(batchExportBackfills.batch_export_id, id.toLowerCase());

/** Newest first. */
export async function list(tenant: Tenant, id: string, page: Page) {
	const keys = ({ id }: { id: string }) => [id];
	const [rows, [counted], [there]] = await tenant.read(
		...paged(tenant.db, page, select(tenant).$dynamic(), {
			where: of(id),
			by: [batchExportBackfills.id],
			keys,
		}),
		selectName(tenant, id),
	);
	found(there);
	return envelope(page, rows, counted?.count ?? 0, keys);
}

/** The run under way ends with it. */
export async function cancel(tenant: Tenant, id: string, backfill_id: string) {
	const selectOne = () =>
		select(tenant).where(
			and(of(id), eq(batchExportBackfills.id, backfill_id.toLowerCase())),
		);
	const [[there], [row]] = await tenant.read(
		selectName(tenant, id),
		selectOne(),
	);
	const [exported, backfill] = [found(there), found(row)];
	if (backfill.status !== "Running")
		throw invalid(null, "Only a running backfill can be cancelled.");
	const { db } = tenant;
	const at = now();
	const [after] = await tenant.write(
		{
			...told(exported),
			activity: "backfill_cancelled",
			trigger: { backfill_id: backfill.id },
		},
		db
			.update(batchExportRuns)
			.set({ status: "Cancelled", finished_at: at, last_updated_at: at })
			.where(
				and(
					eq(batchExportRuns.batch_export_id, exported.id),
					eq(batchExportRuns.backfill_id, backfill.id),
					isNull(batchExportRuns.finished_at),
				),
			),
		db
			.update(batchExportBackfills)
			.set({ status: "Cancelled", finished_at: at })
			.where(
				and(
					eq(batchExportBackfills.id, backfill.id),
					eq(batchExportBackfills.status, "Running"),
				),
			),
		note(db, {
			batch_export_id: exported.id,
			level: "WARNING",
			message: `The backfill from ${backfill.start_at} to ${backfill.end_at} was cancelled.`,
		}),
		selectOne(),
	);
	return found(after);
}
