import type { Expression, Field } from "../../batch_exports/query.ts";
import type { Kind, Row } from "../rows.ts";
import type { Selection } from "./source.ts";

/** What a page holds at most. A row that is larger by itself is a page. */
export const MOST_ROWS = 1000;
export const MOST_BYTES = 2 ** 19;

/** What a row weighs beside its texts. */
const A_ROW = 100;

const TEXTS = new Set([
	"event",
	"distinct_id",
	"person_id",
	"properties",
	"person_properties",
	"elements_chain",
]);

/** The columns that a selection's rows are ordered by: when, and which. */
export const orderOf = ({ model, by }: Selection) => ({
	at:
		by === "ingestion"
			? "_inserted_at"
			: model === "events"
				? "timestamp"
				: "created_at",
	key: model === "events" ? "uuid" : "distinct_id",
});

type Leaf = Exclude<Expression, { type: "operation" | "call" }>;

/** What an expression is made of in the end. */
function leaves(expression: Expression): Leaf[] {
	switch (expression.type) {
		case "operation":
			return [expression.left, expression.right].flatMap(leaves);
		case "call":
			return expression.args.flatMap(leaves);
		default:
			return [expression];
	}
}

/** The text that a leaf reads, if it does: of a column, all of it or what is at a first key. */
const reads = (leaf: Leaf): { column: string; key?: string }[] => {
	if (leaf.type === "property")
		return [{ column: leaf.column, key: leaf.path[0] ?? "" }];
	return leaf.type === "column" && TEXTS.has(leaf.name)
		? [{ column: leaf.name }]
		: [];
};

/**
 * SQL for what a row's fields weigh at most, so that a page is bounded whatever its rows hold: the names, which formats
 * repeat in each row, and each column as often as it is read. Properties with different first keys lie beside each other in their column, and count once together.
 */
export function weight(fields: Field[], length: (column: string) => string) {
	const all = fields.flatMap(({ expression }) => leaves(expression));
	const fixed = all.reduce(
		(sum, leaf) =>
			sum + (leaf.type === "literal" ? String(leaf.value).length : 0),
		A_ROW + Buffer.byteLength(JSON.stringify(fields.map(({ name }) => name))),
	);
	const columns = Map.groupBy(all.flatMap(reads), ({ column }) => column);
	const texts = Array.from(columns, ([column, each]) => {
		const keys = Map.groupBy(each, ({ key }) => key);
		const whole = keys.get(undefined)?.length ?? 0;
		keys.delete(undefined);
		const parts = Math.max(0, ...Array.from(keys.values(), (of) => of.length));
		return `${whole + parts} * ${length(`coalesce(${column}, '')`)}`;
	});
	return [fixed, ...texts].join(" + ");
}

/** The first integers that 64 bits can't hold; doubles have no others near them. */
const INT64_LIMIT = 2 ** 63;

/** A value as its field's kind says; SQLite has numbers for booleans. undefined: the kind can't hold it. */
function typed(kind: Kind, value: unknown): Row[number] | undefined {
	if (value === null || value === undefined) return null;
	if (kind === "boolean") return value === true || value === 1;
	if (typeof value === "boolean") return value;
	if (typeof value !== "number") return String(value);
	const fits =
		Number.isFinite(value) &&
		(kind !== "integer" || Math.abs(value) < INT64_LIMIT);
	return fits ? value : undefined;
}

/**
 * Rows as their fields say. A value that its field can't hold, an integer beyond 64 bits or a number that is none, is
 * null; `unfit` says how many there were (behaviour 11.2).
 */
export function typedRows(fields: Field[], found: unknown[][]) {
	let unfit = 0;
	const rows = found.map((values) =>
		fields.map(({ kind }, i): Row[number] => {
			const value = typed(kind, values[i]);
			if (value === undefined) unfit += 1;
			return value ?? null;
		}),
	);
	return { rows, unfit };
}
