import { and, eq, isNull, lt, or, sql } from "drizzle-orm";
import { type DrizzleD1Database, drizzle } from "drizzle-orm/d1";
import { batchExports } from "../db/schema.ts";
import { mailAdmins } from "../mail/admins.ts";
import { configured } from "../mail/mail.ts";
import { pluralize } from "./run_log.ts";

const DAY_MS = 86_400_000;

/** How many exports one tick sends mail about. */
const MAX_EXPORTS = 50;

type Undelivered = Pick<
	typeof batchExports.$inferSelect,
	"id" | "undelivered_windows" | "undelivered_mailed_at"
>;

/** Subtracts windows that a mail reports from the unreported ones. False if another tick was faster. */
async function markReported(
	db: DrizzleD1Database,
	{ id, undelivered_windows: n, undelivered_mailed_at: last_mailed_at }: Undelivered,
	undelivered_mailed_at: string | null,
) {
	const { undelivered_windows, last_updated_at } = batchExports;
	const { meta } = await db
		.update(batchExports)
		.set({
			undelivered_windows: sql`${undelivered_windows} - ${n}`,
			undelivered_mailed_at,
			last_updated_at: sql`${last_updated_at}`,
		})
		.where(
			and(eq(batchExports.id, id), sql`${batchExports.undelivered_mailed_at} is ${last_mailed_at}`),
		);
	return meta.changes > 0;
}

/**
 * Mails the admins how many windows of an export failed or were skipped: at once, then at most once a day. Each window is
 * reported once (docs/exports.md#runs).
 */
export async function mailUndelivered(env: Env, at: number) {
	if (!configured(env)) return;
	const db = drizzle(env.DB);
	const { undelivered_mailed_at } = batchExports;
	const yesterday = new Date(at - DAY_MS).toISOString();
	const exports = await db
		.select()
		.from(batchExports)
		.where(
			and(
				sql`${batchExports.undelivered_windows} > 0`,
				or(isNull(undelivered_mailed_at), lt(undelivered_mailed_at, yesterday)),
				eq(batchExports.deleted, false),
			),
		)
		.orderBy(undelivered_mailed_at)
		.limit(MAX_EXPORTS);
	const mailed_at = new Date(at).toISOString();
	for (const row of exports) {
		const { name, organization_id, undelivered_windows: n } = row;
		if (!(await markReported(db, row, mailed_at))) continue;
		const isReported = await mailAdmins(env, organization_id, (organization) => ({
			subject: `The batch export ${name} of ${organization} did not deliver ${pluralize(n, "window")}`,
			paragraphs: [
				`${pluralize(n, "window")} of the batch export ${name} failed or were skipped since the last mail about this export. Some or all of their rows are missing from its destination.`,
				"The log of the export says which windows they are, and why. Retry the failed runs, and export the skipped windows with a backfill.",
			],
		}));
		if (isReported) continue;
		// Takes the mark back, so that a later tick tries again.
		await markReported(
			db,
			{ ...row, undelivered_windows: -n, undelivered_mailed_at: mailed_at },
			row.undelivered_mailed_at,
		);
	}
}
