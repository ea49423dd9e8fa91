import { and, eq } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists, insertEach } from "../../db/client.ts";
import { batchExportRanges, batchExports } from "../../db/schema/batch_exports.ts";
import { doesNotExist, invalid, orNotFound } from "../../http/errors.ts";
import { pluralize, shorten } from "../../lib/text.ts";
import { beginBackfill, checkRunning } from "../engine/backfill_runs.ts";
import { logWhere } from "../engine/run_log.ts";
import { passedOver, selectFailed, selectMissing } from "../engine/undelivered.ts";
import { partsOf, resumeWithBackfill, type Window } from "../engine/windows.ts";
import { launchBackfill, selectRunningBeside } from "./backfills.ts";
import { type handOver as Body, toBatchExport } from "./shape.ts";
import {
	activityOf,
	launchWaiting,
	notDeleted,
	pausing,
	type Row,
	rowIdOf,
	scheduleUnchanged,
	selectOne,
} from "./statements.ts";
import { assertUndelivered, dismissing } from "./undelivered.ts";

/** The lengths of the parts of a name in notes and errors. */
const MAX_NAME = 200;
const MAX_ERROR = 300;

/**
 * Pauses an export, and unpauses another one that continues where it stopped: each window is
 * exported by one of them. Windows that the old one hasn't delivered become the other's.
 * @throws 400 if the other one can't continue, 429 if too many backfills are running
 */
export const handOver = (tenant: Tenant, id: string, body: z.infer<typeof Body>) =>
	retry(() => tryHandOver(tenant, id, body));

type Handed = {
	from: Row;
	to: Row;
	/** What the old export hasn't delivered. */
	failed: { id: string; start: string; end: string; latest_error: string | null }[];
	missing: (Window & { latest_error: string | null })[];
};

async function read(tenant: Tenant, id: string, to: string) {
	const [[from], [other], failed, missing, running] = await tenant.read(
		selectOne(tenant, id),
		selectOne(tenant, to),
		selectFailed(tenant.db, rowIdOf(tenant, id)),
		selectMissing(tenant.db, rowIdOf(tenant, id)),
		selectRunningBeside(tenant, id),
	);
	const handed = {
		from: orNotFound(from),
		to: other,
		// A backfill by event time has other rows in the same windows.
		failed: failed.filter(({ by }) => by === "arrival"),
		missing,
		running,
	};
	if (!other) throw doesNotExist("to", to);
	return { ...handed, to: other };
}

/** @throws 400 if an export can't continue what another one stops */
function checkPair({ from, to }: Pick<Handed, "from" | "to">) {
	if (to.row_id === from.row_id) throw invalid("to", "An export can't continue itself.");
	for (const field of ["team_id", "model", "interval"] as const)
		if (to[field] !== from[field])
			throw invalid("to", "The exports must have the same project, model and interval.");
	if (!to.paused) throw invalid("to", "The export that continues must be paused.");
	if (to.next_start_at > from.next_start_at)
		throw invalid(
			"to",
			`The export that continues has come to ${to.next_start_at}, further than this one. Duplicate this one again.`,
		);
}

/** Returns the ranges that become the other export's, of which neighbours are one. */
function rangesOf({ from, failed, missing }: Handed) {
	const ranges: (Window & { latest_error: string })[] = [];
	const why = (error: string | null) =>
		`Not delivered by “${shorten(from.name, MAX_NAME)}”${error ? `: ${shorten(error, MAX_ERROR)}` : "."}`;
	for (const one of [...failed, ...missing].sort((a, b) => (a.start < b.start ? -1 : 1))) {
		const last = ranges.at(-1);
		if (last && one.start <= last.end) last.end = one.end > last.end ? one.end : last.end;
		else ranges.push({ start: one.start, end: one.end, latest_error: why(one.latest_error) });
	}
	return ranges;
}

/** Returns the parts of the write that concern the export that is paused. */
function pauseOf({ db }: Tenant, { from, to, failed, missing }: Handed) {
	const note = `Moved to “${shorten(to.name, MAX_NAME)}”.`;
	const set = pausing(from.paused ? from.last_paused_at : null, note);
	const found = failed.length + missing.length > 0;
	return {
		checks: [
			assertExists(
				db,
				batchExports,
				and(notDeleted(from.row_id), eq(batchExports.paused, from.paused), scheduleUnchanged(from)),
			),
			...assertUndelivered(db, from.row_id, { failed, missing }),
		],
		changes: [
			db.update(batchExports).set(set).where(eq(batchExports.id, from.row_id)),
			...(found ? dismissing(db, from.row_id, { failed, missing }) : []),
			logWhere(db, {
				batch_export_id: from.row_id,
				level: "INFO",
				message: `The export was paused. “${shorten(to.name, MAX_NAME)}” (${to.id}) continues from ${from.next_start_at}.`,
			}),
		],
		entries: [
			{
				...activityOf(from),
				activity: "paused" as const,
				changes: changes(from, set),
				trigger: { continued_by: to.id },
			},
		],
	};
}

async function tryHandOver(tenant: Tenant, id: string, { to: other }: z.infer<typeof Body>) {
	const { running, ...handed } = await read(tenant, id, other);
	const { from, to } = handed;
	tenant.requireAccess("editor", "batch_export", to.id);
	checkPair(handed);
	const { db } = tenant;
	const { next_start_at, next_end_at } = from;
	const { range, columns } = resumeWithBackfill(
		{ ...to, next_start_at, next_end_at, last_paused_at: null },
		Date.now(),
	);
	const due = range.start < range.end ? { ...range, by: "arrival" as const } : undefined;
	if (due) checkRunning(to, due, running);
	const begin = due && beginBackfill(db, to, due, running);
	const ranges = rangesOf(handed);
	const windows = ranges.reduce((sum, one) => sum + partsOf(from.interval, one), 0);
	const set = { paused: false, pause_note: null };
	const old = pauseOf(tenant, handed);
	const isPaused = and(notDeleted(to.row_id), eq(batchExports.paused, true), scheduleUnchanged(to));
	const after = await tenant.write({
		checks: [...old.checks, assertExists(db, batchExports, isPaused), ...(begin?.checks ?? [])],
		changes: [
			...old.changes,
			insertEach(db, batchExportRanges, {
				rows: ranges.map((one) => ({
					batch_export_id: to.row_id,
					...passedOver(one, one.latest_error),
				})),
			}).onConflictDoNothing(),
			db
				.update(batchExports)
				.set({ ...set, ...columns })
				.where(eq(batchExports.id, to.row_id)),
			...(begin?.changes ?? []),
			logWhere(db, {
				batch_export_id: to.row_id,
				level: "INFO",
				message: `The export continues what “${shorten(from.name, MAX_NAME)}” (${from.id}) exported, from ${next_start_at}${windows > 0 ? `, and has ${pluralize(windows, "window")} that it hasn't delivered` : ""}.`,
			}),
		],
		entries: [
			...old.entries,
			{
				...activityOf(to),
				activity: "unpaused",
				changes: changes(to, set),
				trigger: { continues: from.id, windows, ...(begin && { backfill_id: begin.id }) },
			},
		],
		answer: selectOne(tenant, to.id),
	});
	if (begin) launchBackfill(tenant, to, begin.id);
	else launchWaiting(tenant, to);
	return { ...toBatchExport(after), ...(begin && { backfill_id: begin.id }) };
}
