// The global of this name is slow to look up in workerd.
import { Buffer } from "node:buffer";
import type { Statistics } from "hyparquet";
import { unconvertMinMax } from "hyparquet-writer/src/unconvert.js";
import type { Kind } from "../../query/expression.ts";
import { TYPES, type Value } from "./values.ts";

/** The longest bound of a text column, in bytes. All bounds stay in memory until the file ends. */
export const MAX_BOUND_BYTES = 64;

/** Code units that JavaScript, which compares UTF-16, sorts differently from UTF-8, which Parquet compares. */
const SORTED_DIFFERENTLY = /[\ud800-\uffff]/;

const precedes = (a: Value, b: Value) => a < b;

const precedesInUtf8 = (a: Value, b: Value) =>
	Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))) < 0;

const isSortedDifferently = (value: Value) =>
	typeof value === "string" && SORTED_DIFFERENTLY.test(value);

/** The smallest and the largest of a column's values. */
export type Bounds = { min: Value; max: Value };

/** The bounds of values, and of those before; null if there are none. */
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

/** The bound of a text column as it is, or a shorter one, in whole characters; undefined: it can't be shortened. */
function shortened(bound: Value, isMax: boolean) {
	const element = { name: "", ...TYPES.text };
	const bytes = unconvertMinMax(bound, element, isMax, MAX_BOUND_BYTES);
	return bytes && bytes.length <= MAX_BOUND_BYTES ? Buffer.from(bytes).toString() : undefined;
}

/** The statistics of a column. The bounds of texts are short: a long lower one is cut off, a long upper one rounded up. */
export function statisticsOf(kind: Kind, bounds: Bounds | null, nulls: number): Statistics {
	const statistics: Statistics = { null_count: BigInt(nulls) };
	if (!bounds) return statistics;
	const { min, max } = bounds;
	const { type } = TYPES[kind];
	if (type === "INT64") return { ...statistics, min_value: BigInt(min), max_value: BigInt(max) };
	// Zero is -0 as a lower bound, and 0 as an upper one.
	if (type !== "BYTE_ARRAY") return { ...statistics, min_value: min || -0, max_value: max || 0 };
	const [min_value, max_value] = [shortened(min, false), shortened(max, true)];
	return {
		...statistics,
		...(min_value !== undefined && { min_value, is_min_value_exact: min_value === min }),
		...(max_value !== undefined && { max_value, is_max_value_exact: max_value === max }),
	};
}
