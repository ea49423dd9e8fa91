import { and, eq, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes } from "../../db/changes.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import {
	type batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../../db/schema/batch_exports.ts";
import { doesNotExist, invalid, orNotFound } from "../../http/errors.ts";
import { pluralize, shorten } from "../../lib/text.ts";
import { now } from "../../lib/time.ts";
import { beginBackfill, checkRunning } from "../engine/backfill_runs.ts";
import { GRID } from "../engine/grid.ts";
import { movedWindows, readMoved } from "../engine/moved.ts";
import { changesOf, without } from "../engine/ranges.ts";
import { logWhere } from "../engine/run_log.ts";
import { replaceRanges } from "../engine/undelivered.ts";
import { partsOf, resumeWithBackfill, type Window } from "../engine/windows.ts";
import { launchBackfill, selectRunningBeside } from "./backfills.ts";
import { type handOver as Body, toBatchExport } from "./shape.ts";
import {
	activityOf,
	CANCELLED,
	launchWaiting,
	notDeleted,
	ofOrganization,
	pausing,
	type Row,
	scheduleUnchanged,
	selectOne,
	selectOther,
} from "./statements.ts";
import { dismissing, inRuns } from "./undelivered.ts";

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

type Backfill = typeof batchExportBackfills.$inferSelect;

type Handed = { from: Row; to: Row } & ReturnType<typeof readMoved>;

/** Selects the windows that one export of the organization hands over to another. */
function selectMoved(tenant: Tenant, id: string, other: string) {
	const to = alias(batchExports, "other");
	// Not `rowIdOf`: `@current` in the path would be deeper there than SQLite allows.
	const pair = { from: sql`${batchExports.id}`, to: sql`${to.id}` };
	return tenant.db
		.select({ windows: movedWindows(tenant.db, pair).as("windows") })
		.from(batchExports)
		.innerJoin(to, eq(to.organization_id, batchExports.organization_id))
		.where(
			and(
				ofOrganization(tenant),
				eq(batchExports.uuid, id.toLowerCase()),
				sql`not ${to.deleted}`,
				eq(to.uuid, other.toLowerCase()),
			),
		);
}

async function read(tenant: Tenant, id: string, to: string) {
	const [[from], [other], [known], running] = await tenant.read(
		selectOne(tenant, id),
		selectOther(tenant, to),
		selectMoved(tenant, id, to),
		selectRunningBeside(tenant, id),
	);
	const found = orNotFound(from);
	if (!other) throw doesNotExist("to", to);
	const { windows } = orNotFound(known);
	return { ...readMoved(windows), windows, from: found, to: other, running };
}

/** @throws 400 if an export can't continue what another one stops */
function checkPair({ from, to }: Pick<Handed, "from" | "to">) {
	if (to.row_id === from.row_id) throw invalid("to", "An export can't continue itself.");
	for (const field of ["team_id", "model", "interval"] as const)
		if (to[field] !== from[field])
			throw invalid("to", "The exports must have the same project, model and interval.");
	if (GRID.some((field) => to[field] !== from[field]))
		throw invalid("to", "The exports must have the same time zone, hour and weekday.");
	if (!to.paused) throw invalid("to", "The export that continues must be paused.");
	if (to.next_start_at > from.next_start_at)
		throw invalid(
			"to",
			`The export that continues has come to ${to.next_start_at}, further than this one. Duplicate this one again.`,
		);
}

/** Returns the error of windows that `from` hasn't delivered, with its own error for them. */
const why = (from: Row, error: string | null) =>
	`Not delivered by “${shorten(from.name, MAX_NAME)}”${error ? `: ${shorten(error, MAX_ERROR)}` : "."}`;

/** Returns the windows that `from` hasn't delivered, of which neighbours are one range. */
function rangesOf({ from, moved }: Pick<Handed, "from" | "moved">) {
	const ranges: (Window & { latest_error: string })[] = [];
	for (const { start, end, latest_error } of moved) {
		const last = ranges.at(-1);
		if (last && start <= last.end) last.end = end > last.end ? end : last.end;
		else ranges.push({ start, end, latest_error: why(from, latest_error) });
	}
	return ranges;
}

/**
 * Returns the parts of the write that make windows those of `to`. It may have handed them over
 * earlier: then its own runs count again, because one can't run beside them. What it has delivered,
 * or is about to, isn't exported again.
 * @throws 400 if windows cross those of its own runs
 */
function taking({ db }: Tenant, { from, to, moved, runs, ranges }: Handed, running: Backfill[]) {
	const taken = rangesOf({ from, moved });
	const again = runs.flatMap(({ idle: id, ...run }) => (id === null ? [] : [{ ...run, id }]));
	const crossing = again.find(
		(run) => !taken.some(({ start, end }) => start <= run.start && run.end <= end),
	);
	if (crossing)
		throw invalid(
			"to",
			`The export that continues had a run from ${crossing.start} to ${crossing.end}, with other windows than this one. Duplicate this one again.`,
		);
	const backfilled = running
		.filter(({ batch_export_id, by }) => batch_export_id === to.row_id && by === "arrival")
		.map(({ next_start_at, end_at }): Window => ({ start: next_start_at, end: end_at }));
	const known = [...runs, ...backfilled].sort((a, b) => (a.start < b.start ? -1 : 1));
	const series = { batch_export_id: to.row_id, by: "arrival" as const };
	const none = { dismissed: false, runs: 0, rows: 0, bytes: 0 };
	const added = taken.flatMap((range) => without(range, known));
	const { removed, written } = changesOf(
		ranges.map((range) => ({ ...range, ...series })),
		added.map((range) => ({ ...range, ...series, ...none })),
	);
	return {
		windows: again.length + added.reduce((sum, one) => sum + partsOf(from, one), 0),
		changes: [
			db
				.update(batchExportRuns)
				.set({
					dismissed: false,
					status: sql`iif(status = 'Cancelled', 'FailedRetryable', status)`,
					latest_error: sql`iif(status = 'Cancelled', ${why(from, null)}, latest_error)`,
					last_updated_at: sql`${batchExportRuns.last_updated_at}`,
				})
				.where(inRuns(to.row_id, again)),
			...replaceRanges(db, removed, written),
		],
	};
}

/** Returns the parts of the write that concern the export that is paused. */
function pauseOf({ db }: Tenant, { from, to, moved }: Handed) {
	const note = `Moved to “${shorten(to.name, MAX_NAME)}”.`;
	const set = pausing(from.paused ? from.last_paused_at : null, note);
	const runsOf = (kind: "failed" | "queued") =>
		moved.flatMap((one) => (one.kind === kind && one.id !== null ? [{ id: one.id }] : []));
	const failed = runsOf("failed");
	const missing = moved.filter(({ kind }) => kind === "missing");
	return {
		checks: [
			assertExists(
				db,
				batchExports,
				and(notDeleted(from.row_id), eq(batchExports.paused, from.paused), scheduleUnchanged(from)),
			),
		],
		changes: [
			db.update(batchExports).set(set).where(eq(batchExports.id, from.row_id)),
			...(moved.length > 0 ? dismissing(db, from.row_id, { failed, missing }) : []),
			// The pause would delay them for ever.
			db
				.update(batchExportRuns)
				.set({ ...CANCELLED, finished_at: now(), last_updated_at: now() })
				.where(inRuns(from.row_id, runsOf("queued"))),
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
	const { running, windows: before, ...handed } = await read(tenant, id, other);
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
	const { windows, changes: taken } = taking(tenant, handed, running);
	const areSame = sql`${movedWindows(db, { from: from.row_id, to: to.row_id })} = ${before}`;
	const set = { paused: false, pause_note: null };
	const old = pauseOf(tenant, handed);
	const isPaused = and(notDeleted(to.row_id), eq(batchExports.paused, true), scheduleUnchanged(to));
	const after = await tenant.write({
		checks: [
			...old.checks,
			assertExists(db, batchExports, isPaused),
			assertThat(db, areSame, "is_current"),
			...(begin?.checks ?? []),
		],
		changes: [
			...old.changes,
			...taken,
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
