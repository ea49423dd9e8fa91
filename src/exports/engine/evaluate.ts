import { type Expression, type Field, type Kind, leavesOf } from "../query/expression.ts";
import { copied, type Row } from "../query/rows.ts";
import { type Cells, toBoolean, toJson, toNumber, toText, type Value } from "../query/values.ts";
import { compile, compileAs } from "./evaluate/compile.ts";
import { isInt64, toInteger } from "./evaluate/numbers.ts";

export function columnsOf(expressions: Expression[]): string[] {
	const read = expressions.flatMap(leavesOf).flatMap((leaf) => {
		if (leaf.type === "literal") return [];
		return [leaf.type === "column" ? leaf.name : leaf.column];
	});
	return [...new Set(read)];
}

/** Converts a value for a column of this kind; undefined if it doesn't fit. */
function typed(kind: Kind, value: Value): Row[number] | undefined {
	if (value === null) return null;
	switch (kind) {
		case "integer": {
			const integer = toInteger(value);
			return integer === null || isInt64(integer) ? integer : undefined;
		}
		case "number": {
			const number = toNumber(value);
			return number === null || Number.isFinite(number) ? number : undefined;
		}
		case "boolean":
			return toBoolean(value);
		case "json":
			return copied(toJson(value));
		default:
			return copied(toText(value));
	}
}

/** Applies a query to rows. `unfit`: how many values don't fit their type, and became null. */
export type Evaluate = (rows: Row[]) => { rows: Row[]; unfit: number };

/**
 * Compiles a query, which filters rows by its condition and computes its fields. A value that
 * doesn't fit its field's type (an integer of more than 64 bits, an infinite number) becomes null
 * (docs/exports.md#runs).
 * @param columns the names of a row's values
 */
export function evaluator(columns: string[], fields: Field[], where: Expression | null): Evaluate {
	const isColumn = ({ expression }: Field, at: number) =>
		expression.type === "column" && expression.name === columns[at];
	if (where === null && fields.length === columns.length && fields.every(isColumn))
		return (rows) => ({ rows, unfit: 0 });
	const condition = where && compileAs(columns, where, toBoolean);
	const gets = fields.map(({ kind, expression }) => ({ kind, get: compile(columns, expression) }));
	return (rows) => {
		let unfit = 0;
		const taken: Row[] = [];
		for (const values of rows) {
			const cells: Cells = { values, parsed: [], exact: [] };
			if (condition && !condition(cells)) continue;
			taken.push(
				gets.map(({ kind, get }) => {
					const value = typed(kind, get(cells));
					if (value === undefined) unfit += 1;
					return value ?? null;
				}),
			);
		}
		return { rows: taken, unfit };
	};
}
