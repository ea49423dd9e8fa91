/** What the timeline says of runs and gaps. */
import type { BatchExport, BatchExportRun } from "tenantry-client";
import { duration, sayRange, sayWindow, windows, wordsOfRun } from "./states.tsx";
import { type Entry, type GapEntry, isRetried, lateness } from "./timeline_lanes.ts";

const NUMBER = new Intl.NumberFormat();

export const rows = (n: number) => (n === 1 ? "1 row" : `${NUMBER.format(n)} rows`);

/** What is unusual about a run. */
export function remarks(run: BatchExportRun, of: BatchExport, now: number) {
	const late = lateness(run, of.interval, now);
	return [
		...(isRetried(run) ? [`attempt ${run.attempt}`] : []),
		...(late > 0 ? [`${duration(late)} late`] : []),
	];
}

/** How many windows had no run, why if that is known, and whether they were exported all the same. */
export function whyGap({ windows: count, isPaused, exported }: GapEntry) {
	const why = isPaused ? ", the export was paused" : "";
	const how =
		exported === 0
			? ""
			: exported === count
				? ", exported by a backfill"
				: `, ${exported} of them exported by a backfill`;
	return `${windows(count)}${why}${how}`;
}

/** What the backfill that a gap leads to does. */
export const actionOf = ({ windows: count, exported }: GapEntry) =>
	exported === count ? "Export again" : "Backfill this gap";

/** An entry in one sentence, for screen readers. */
export function sayEntry(entry: Entry, of: BatchExport, now: number) {
	if (entry.kind === "gap")
		return `No run, ${sayRange(entry)}, ${whyGap(entry)}. ${actionOf(entry)}`;
	const { run } = entry;
	return [
		`${run.backfill_id === null ? "Run" : "Backfill run"} of ${sayWindow(run)}`,
		wordsOfRun(run.status).toLowerCase(),
		rows(run.records_completed),
		...remarks(run, of, now),
	].join(", ");
}

const iso = (at: number) => new Date(at).toISOString();

/** Where an entry leads: a run to itself and its log, a gap to a backfill of exactly its windows. */
export const linkOf = (entry: Entry, path: string) =>
	entry.kind === "run"
		? `${path}/runs/${entry.run.id}`
		: `${path}/backfills?${new URLSearchParams({ from: iso(entry.start), until: iso(entry.end) })}`;
