import { type Expression, type Field, partsOf } from "../query/query.ts";
import type { Scan, Weights } from "./source.ts";

/** What a page holds at most. A row that is larger by itself is a page. */
export const MAX_PAGE_ROWS = 1000;
export const MAX_PAGE_BYTES = 2 ** 19;

/** What a row weighs beside its texts. */
const ROW_OVERHEAD_BYTES = 100;

const TEXTS = new Set([
	"event",
	"distinct_id",
	"person_id",
	"properties",
	"person_properties",
	"elements_chain",
]);

/** The columns that a selection's rows are ordered by: when, and which. */
export const orderOf = ({ model, by }: Scan) => ({
	at: by === "ingestion" ? "_inserted_at" : model === "events" ? "timestamp" : "created_at",
	key: model === "events" ? "uuid" : "distinct_id",
});

type Leaf = Exclude<Expression, { type: "operation" | "comparison" | "predicate" | "call" }>;

/** What an expression is made of in the end. */
function leaves(expression: Expression): Leaf[] {
	switch (expression.type) {
		case "column":
		case "property":
		case "literal":
			return [expression];
		default:
			return partsOf(expression).flatMap(leaves);
	}
}

/** The text that a leaf reads, if it does: of a column, all of it or what is at a first key. */
const reads = (leaf: Leaf): { column: string; key?: string }[] => {
	if (leaf.type === "property") return [{ column: leaf.column, key: leaf.path[0] ?? "" }];
	return leaf.type === "column" && TEXTS.has(leaf.name) ? [{ column: leaf.name }] : [];
};

/**
 * How large a row's fields may be, so that a page is bounded whatever its rows hold: the names, which formats repeat in
 * each row, and each column as often as it is read, and at least once. Properties with different first keys lie beside
 * each other in their column, and count once together.
 */
export function weightsOf(fields: Field[], columns: string[]): Weights {
	const all = fields.flatMap(({ expression }) => leaves(expression));
	const fixed = all.reduce(
		(sum, leaf) => sum + (leaf.type === "literal" ? String(leaf.value).length : 0),
		ROW_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(fields.map(({ name }) => name))),
	);
	const read = Map.groupBy(all.flatMap(reads), ({ column }) => column);
	const copies = columns
		.filter((column) => TEXTS.has(column))
		.map((column) => {
			const keys = Map.groupBy(read.get(column) ?? [], ({ key }) => key);
			const whole = keys.get(undefined)?.length ?? 0;
			keys.delete(undefined);
			const parts = Array.from(keys.values(), ({ length }) => length);
			return [column, Math.max(1, whole + Math.max(0, ...parts))] as const;
		});
	return { copies: Object.fromEntries(copies), fixed };
}

/** SQL for what a row weighs. */
export const weight = ({ weights: { copies, fixed } }: Scan, length: (column: string) => string) =>
	[
		fixed,
		...Object.entries(copies).map(
			([column, times]) => `${times} * ${length(`coalesce(${column}, '')`)}`,
		),
	].join(" + ");
