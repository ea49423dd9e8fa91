/**
 * Which windows of an export are in a table. A property of the table says so, because snapshots
 * expire. It changes in the same commit as the rows.
 */
import type { Job } from "../destination.ts";

/** A window, and ranges of windows that follow each other: the start, and the end. */
type Range = { start: string; end: string };

/** More ranges make the metadata large. Beyond them, the smallest gaps count as exported. */
const MAX_RANGES = 100;

const seriesOf = ({ backfill }: Pick<Job, "backfill">) => (backfill ? "backfill" : "schedule");

/** The name of the property for an export's schedule or backfills. */
export const propertyOf = (job: Pick<Job, "export_id" | "backfill">) =>
	`tenantry.${job.export_id}.${seriesOf(job)}`;

/** The folder of a window's data files and manifests, below those of the table. */
export const folderOf = (job: Pick<Job, "export_id" | "backfill" | "start" | "end">) =>
	`tenantry/${job.export_id}/${seriesOf(job)}/${`${job.start}_${job.end}`.replaceAll(":", "")}`;

const read = (property: string | undefined): Range[] =>
	(property ?? "").split(",").flatMap((range) => {
		const [start, end] = range.split("/");
		return start && end ? [{ start, end }] : [];
	});

/** Whether the window is in the ranges of a property. */
export const isInTable = (property: string | undefined, { start, end }: Range) =>
	read(property).some((range) => range.start <= start && end <= range.end);

const gapAfter = (ranges: Range[], i: number) =>
	Date.parse(ranges[i + 1]?.start ?? "") - Date.parse(ranges[i]?.end ?? "");

/** Returns the property with one more window. */
export function withWindow(property: string | undefined, { start, end }: Range): string {
	const sorted = [...read(property), { start, end }].toSorted((a, b) =>
		a.start < b.start ? -1 : 1,
	);
	const merged: Range[] = [];
	for (const range of sorted) {
		const last = merged.at(-1);
		if (!last || last.end < range.start) merged.push({ ...range });
		else if (last.end < range.end) last.end = range.end;
	}
	while (merged.length > MAX_RANGES) {
		const gaps = merged.slice(1).map((_, i) => gapAfter(merged, i));
		const at = gaps.indexOf(Math.min(...gaps));
		const [, next] = merged.splice(at, 2, {
			start: merged[at]?.start ?? start,
			end: merged[at + 1]?.end ?? end,
		});
		if (!next) break;
	}
	return merged.map((range) => `${range.start}/${range.end}`).join(",");
}
