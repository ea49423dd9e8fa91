/** The known windows of folded runs (decision 7). */
import type { Window } from "./windows.ts";

/** An unbroken range of windows that were all delivered, or all not. */
export type Range = Window & {
	/** null: it was delivered. Otherwise the latest error of its runs, because of which it wasn't. */
	latest_error: string | null;
	/** Whether a range that wasn't delivered needn't be. */
	dismissed: boolean;
	runs: number;
	rows: number;
	bytes: number;
};

const byStart = (a: Window, b: Window) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0);

/** Joins ranges that overlap or touch. Of two that end together, the last has the error. */
function union<R extends Range>(ranges: R[]) {
	const joined: R[] = [];
	for (const range of ranges.toSorted(byStart)) {
		const last = joined.at(-1);
		if (!last || last.end < range.start) {
			joined.push({ ...range });
			continue;
		}
		if (range.end >= last.end)
			Object.assign(last, { end: range.end, latest_error: range.latest_error });
		last.runs += range.runs;
		last.rows += range.rows;
		last.bytes += range.bytes;
	}
	return joined;
}

/** Returns the parts of a range that none of the windows covers. They must be sorted. */
export function without<R extends Window>(range: R, windows: Window[]) {
	const parts: R[] = [];
	let at = range.start;
	for (const { start, end } of windows) {
		if (end <= at || start >= range.end) continue;
		if (start > at) parts.push({ ...range, start: at, end: start });
		at = end;
	}
	return at < range.end ? [...parts, { ...range, start: at }] : parts;
}

/** The kinds of ranges, which stay apart. Where two overlap, the first of them wins. */
const KINDS = ["delivered", "missing", "dismissed"] as const;

const kindOf = ({ latest_error, dismissed }: Range) =>
	latest_error === null ? "delivered" : dismissed ? "dismissed" : "missing";

/** Merges ranges, oldest first, so that none overlaps another. */
export function merge<R extends Range>(ranges: R[]): R[] {
	let merged: R[] = [];
	for (const kind of KINDS) {
		const others = union(ranges.filter((range) => kindOf(range) === kind));
		const uncovered = others.flatMap((range) => without(range, merged));
		merged = merged.concat(uncovered).toSorted(byStart);
	}
	return merged;
}

/** Merges ranges into stored ones. Returns the stored ones that disappear, and those to write. */
export function changesOf<R extends Range>(stored: R[], others: R[]) {
	const merged = merge([...stored, ...others]);
	const texts = new Map(stored.map((range) => [range.start, JSON.stringify(range)]));
	const starts = new Set(merged.map(({ start }) => start));
	return {
		removed: stored.filter(({ start }) => !starts.has(start)),
		written: merged.filter((range) => texts.get(range.start) !== JSON.stringify(range)),
	};
}
