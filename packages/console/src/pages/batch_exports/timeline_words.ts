/** Texts about runs and gaps. */
import type { BatchExport, BatchExportRun } from "tenantry-client";
import { duration, sayRange, sayWindow, windows, wordsOfRun } from "./states.tsx";
import {
	type Entry,
	type GapEntry,
	isRetried,
	lateness,
	type RangeEntry,
} from "./timeline_lanes.ts";

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

/**
 * Describes a gap: the number of windows, the reason if it is known, and whether backfills exported
 * them.
 */
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

/** Describes a range that old runs delivered. */
export const whatRange = ({ whole: { runs, rows: written } }: RangeEntry) =>
	`${runs === 1 ? "1 run" : `${NUMBER.format(runs)} runs`}, ${rows(written)}`;

/** Returns the range that old runs delivered, of which the timeline may show a part. */
export const wholeOf = ({ whole: { start_at, end_at } }: RangeEntry) => ({
	start: Date.parse(start_at),
	end: Date.parse(end_at),
});

export const actionOf = ({ windows: count, exported }: GapEntry) =>
	exported === count ? "Export again" : "Backfill this gap";

/** Describes an entry for screen readers. */
export function sayEntry(entry: Entry, of: BatchExport, now: number) {
	if (entry.kind === "gap")
		return `No run, ${sayRange(entry)}, ${whyGap(entry)}. ${actionOf(entry)}`;
	if (entry.kind === "range")
		return `Delivered, ${sayRange(wholeOf(entry))}, ${whatRange(entry)}, which are no longer listed`;
	const { run } = entry;
	return [
		`${run.backfill_id === null ? "Run" : "Backfill run"} of ${sayWindow(run)}`,
		wordsOfRun(run.status).toLowerCase(),
		rows(run.records_completed),
		...remarks(run, of, now),
	].join(", ");
}

const iso = (at: number) => new Date(at).toISOString();

/**
 * Returns the link of an entry: the page of the run, the totals by day, or a backfill of the
 * windows of the gap.
 */
export function linkOf(entry: Entry, path: string) {
	switch (entry.kind) {
		case "run":
			return `${path}/runs/${entry.run.id}`;
		case "range":
			return `${path}/metrics`;
		case "gap":
			return `${path}/backfills?${new URLSearchParams({ from: iso(entry.start), until: iso(entry.end) })}`;
	}
}
