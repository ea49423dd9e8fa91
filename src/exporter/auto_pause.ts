import { and, eq, isNull, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { batchExports, now } from "../db/schema.ts";
import { mailAdmins } from "../mail/admins.ts";
import { withLogEntry } from "./run_log.ts";

const DAY = 86_400_000;

const MAX_RUNS_EXAMINED = 24;
const MAX_FAILURES_IN_A_ROW = 3;

/**
 * Pauses an export if its last three runs failed, and mails the organization's admins at most once a day. Cancelled runs
 * and runs before the last pause don't count (docs/exports.md#runs).
 */
export async function pauseIfFailing(
	env: Env,
	{ id, organization_id }: Pick<typeof batchExports.$inferSelect, "id" | "organization_id">,
) {
	const db = drizzle(env.DB);
	const failing = sql`(select count(*) = ${MAX_FAILURES_IN_A_ROW} and min(status = 'Failed') from (
		select status from (
			select id, status, finished_at from batch_export_runs where batch_export_id = ${id} order by id desc limit ${MAX_RUNS_EXAMINED})
		where finished_at > coalesce(${batchExports.last_paused_at}, '') and status <> 'Cancelled'
		order by finished_at desc, id desc limit ${MAX_FAILURES_IN_A_ROW}))`;
	const at = now();
	const yesterday = new Date(Date.now() - DAY).toISOString();
	const { mailed_at } = batchExports;
	const [, , [toMail]] = await db.batch([
		...withLogEntry(
			db,
			db
				.update(batchExports)
				.set({ paused: true, last_paused_at: at })
				.where(
					and(
						eq(batchExports.id, id),
						eq(batchExports.paused, false),
						eq(batchExports.deleted, false),
						failing,
					),
				),
			{
				batch_export_id: id,
				level: "ERROR",
				message: `The export was paused: its last ${MAX_FAILURES_IN_A_ROW} runs failed. Fix the errors in the log, then unpause the export.`,
			},
		),
		db
			.update(batchExports)
			.set({ mailed_at: at, last_updated_at: at })
			.where(
				and(
					eq(batchExports.id, id),
					eq(batchExports.last_paused_at, at),
					or(isNull(mailed_at), lt(mailed_at, yesterday)),
				),
			)
			.returning({ name: batchExports.name }),
	]);
	if (!toMail) return;
	const { name } = toMail;
	await mailAdmins(env, organization_id, (organization) => ({
		subject: `The batch export ${name} of ${organization} was paused`,
		paragraphs: [
			`The last ${MAX_FAILURES_IN_A_ROW} runs of the batch export ${name} failed, so it was paused. The errors are in its log.`,
			"Fix them, then unpause the export. You can also have it export the windows that it missed.",
		],
	}));
}
