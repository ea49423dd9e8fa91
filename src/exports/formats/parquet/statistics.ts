// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import type { Statistics } from "hyparquet";
import { unconvertMinMax } from "hyparquet-writer/src/unconvert.js";
import type { Kind } from "../../query/expression.ts";
import { TYPES, type Value } from "./values.ts";

/** The maximum size of a text bound, in bytes. All bounds stay in memory until the file ends. */
export const MAX_BOUND_BYTES = 64;

/** The code units whose order differs between UTF-16 (JavaScript) and UTF-8 (Parquet). */
const SORTED_DIFFERENTLY = /[\ud800-\uffff]/;

const precedes = (a: Value, b: Value) => a < b;

const precedesInUtf8 = (a: Value, b: Value) =>
	Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))) < 0;

const isSortedDifferently = (value: Value) =>
	typeof value === "string" && SORTED_DIFFERENTLY.test(value);

/** The smallest and the largest of a column's values. */
export type Bounds = { min: Value; max: Value };

/** Extends the bounds by these values; null if there are no values so far. */
export function boundsOf(values: Value[], before: Bounds | null): Bounds | null {
	const [first] = values;
	if (first === undefined) return before;
	let { min, max } = before ?? { min: first, max: first };
	const isLess = [min, max, ...values].some(isSortedDifferently) ? precedesInUtf8 : precedes;
	for (const value of values) {
		if (isLess(value, min)) min = value;
		if (isLess(max, value)) max = value;
	}
	return { min, max };
}

/** Shortens a text bound to whole characters; undefined if that isn't possible. */
function shortened(bound: Value, isMax: boolean) {
	const element = { name: "", ...TYPES.text };
	const bytes = unconvertMinMax(bound, element, isMax, MAX_BOUND_BYTES);
	return bytes && bytes.length <= MAX_BOUND_BYTES ? Buffer.from(bytes).toString() : undefined;
}

/** Returns the statistics of a column. A long lower bound is cut off, an upper one rounded up. */
export function statisticsOf(kind: Kind, bounds: Bounds | null, nulls: number): Statistics {
	const statistics: Statistics = { null_count: BigInt(nulls) };
	if (!bounds) return statistics;
	const { min, max } = bounds;
	const { type } = TYPES[kind];
	if (type === "INT64") return { ...statistics, min_value: BigInt(min), max_value: BigInt(max) };
	// The Parquet format requires -0 for a lower bound of zero, and 0 for an upper bound of zero.
	if (type !== "BYTE_ARRAY") return { ...statistics, min_value: min || -0, max_value: max || 0 };
	const [min_value, max_value] = [shortened(min, false), shortened(max, true)];
	return {
		...statistics,
		...(min_value !== undefined && { min_value, is_min_value_exact: min_value === min }),
		...(max_value !== undefined && { max_value, is_max_value_exact: max_value === max }),
	};
}
