/** Texts about runs and gaps. */
import type { BatchExport, BatchExportRun } from "tenantry-client";
import { duration, sayRange, sayWindow, windows, wordsOfRun } from "./states.tsx";
import { type Entry, type GapEntry, isRetried, lateness } from "./timeline_lanes.ts";

const NUMBER = new Intl.NumberFormat();

export const rows = (n: number) => (n === 1 ? "1 row" : `${NUMBER.format(n)} rows`);

/** Returns remarks about a run: several attempts, lateness. */
export function remarks(run: BatchExportRun, of: BatchExport, now: number) {
	const late = lateness(run, of.interval, now);
	return [
		...(isRetried(run) ? [`attempt ${run.attempt}`] : []),
		...(late > 0 ? [`${duration(late)} late`] : []),
	];
}

/** Describes a gap: the number of windows, the reason if it is known, and whether backfills exported them. */
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

/** Returns the label of the link to a backfill of the gap. */
export const actionOf = ({ windows: count, exported }: GapEntry) =>
	exported === count ? "Export again" : "Backfill this gap";

/** Describes an entry for screen readers. */
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

/** Returns the link of an entry: the page of the run, or a backfill of the windows of the gap. */
export const linkOf = (entry: Entry, path: string) =>
	entry.kind === "run"
		? `${path}/runs/${entry.run.id}`
		: `${path}/backfills?${new URLSearchParams({ from: iso(entry.start), until: iso(entry.end) })}`;
