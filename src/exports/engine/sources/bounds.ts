import { type Field, type Leaf, leavesOf } from "../../query/expression.ts";
import type { Scan, Weights } from "./source.ts";

/** The limits of a page. A single row may be larger. */
export const MAX_PAGE_ROWS = 1000;
export const MAX_PAGE_BYTES = 2 ** 19;

/** The assumed size of a row without its texts. */
const ROW_OVERHEAD_BYTES = 100;

const TEXT_COLUMNS = new Set([
	"event",
	"distinct_id",
	"person_id",
	"properties",
	"person_properties",
	"elements_chain",
]);

/** Returns the columns that a selection is ordered by: its time, then its key. */
export const orderOf = ({ model, by }: Scan) => ({
	at: by === "arrival" ? "_inserted_at" : model === "events" ? "timestamp" : "created_at",
	key: model === "events" ? "uuid" : "distinct_id",
});

/** Returns the text that a leaf reads: a whole column, or the value at a top-level key of it. */
const textsRead = (leaf: Leaf): { column: string; key?: string }[] => {
	if (leaf.type === "property") return [{ column: leaf.column, key: leaf.path[0] ?? "" }];
	return leaf.type === "column" && TEXT_COLUMNS.has(leaf.name) ? [{ column: leaf.name }] : [];
};

/**
 * Computes an upper bound for the size of a row's fields, and so of a page. It counts the field
 * names, which some formats repeat in each row, and each column as often as it is read, at least
 * once. Properties with different top-level keys don't overlap in their column, so together they
 * count once.
 */
export function weightsOf(fields: Field[], columns: string[]): Weights {
	const all = fields.flatMap(({ expression }) => leavesOf(expression));
	const fixed = all.reduce(
		(sum, leaf) => sum + (leaf.type === "literal" ? String(leaf.value).length : 0),
		ROW_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(fields.map(({ name }) => name))),
	);
	const read = Map.groupBy(all.flatMap(textsRead), ({ column }) => column);
	const copies = columns
		.filter((column) => TEXT_COLUMNS.has(column))
		.map((column) => {
			const keys = Map.groupBy(read.get(column) ?? [], ({ key }) => key);
			const whole = keys.get(undefined)?.length ?? 0;
			keys.delete(undefined);
			const parts = Array.from(keys.values(), ({ length }) => length);
			return [column, Math.max(1, whole + Math.max(0, ...parts))] as const;
		});
	return { copies: Object.fromEntries(copies), fixed };
}

/** SQL for a row's size in bytes, with the `length` of a column's text. */
export const weight = ({ weights: { copies, fixed } }: Scan, length: (column: string) => string) =>
	[fixed, ...Object.entries(copies).map(([column, times]) => `${times} * ${length(column)}`)].join(
		" + ",
	);
