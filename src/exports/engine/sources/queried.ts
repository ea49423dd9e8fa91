import { v5 } from "uuid";
import type { Expression, Field } from "../../query/expression.ts";
import { copied, type Row } from "../../query/rows.ts";
import { columnsOf, type Evaluate, evaluator } from "../evaluate.ts";
import { weightsOf } from "./bounds.ts";
import { pushDown } from "./pushdown.ts";
import type { Position, Scan, Selection, Source, Table } from "./source.ts";

/** The namespace of derived person ids (RFC 9562, 5.5). */
const NAMESPACE = "4f3f0c5e-35c7-4a5d-9c0b-6ad1e1d7a2c9";

/** Returns the id of a person for whom no id was sent (docs/exports.md#events). */
export const derivePersonId = (team_id: number, distinct_id: string) =>
	v5(`${team_id}:${distinct_id}`, NAMESPACE);

/** Returns the scan for a selection, and the function that computes its rows from the result. */
function plan(
	{ fields, where, ...selection }: Selection,
	{ filters, rest }: ReturnType<typeof pushDown> = pushDown(where),
): { scan: Scan; evaluate: Evaluate } {
	const columns = columnsRead(fields, rest);
	const scan = { ...selection, columns, filters, weights: weightsOf(fields, columns) };
	const compute = evaluator(columns, fields, rest);
	const fill = personFiller(scan);
	return { scan, evaluate: (rows) => compute(fill(rows)) };
}

/** How many derived ids are kept for the next pages. A page adds at most a thousand. */
const MAX_DERIVED = 5000;

/** Returns the function that fills missing ids of persons (docs/exports.md#events). */
function personFiller({ team_id, columns }: Scan): (rows: Row[]) => Row[] {
	const [person, distinct] = [columns.indexOf("person_id"), columns.indexOf("distinct_id")];
	if (person < 0) return (rows) => rows;
	const derived = new Map<string, string>();
	return (rows) => {
		if (derived.size > MAX_DERIVED) derived.clear();
		for (const row of rows) {
			if (row[person]) continue;
			const distinct_id = String(row[distinct]);
			let person_id = derived.get(distinct_id);
			if (person_id === undefined) {
				person_id = derivePersonId(team_id, distinct_id);
				derived.set(copied(distinct_id), person_id);
			}
			row[person] = person_id;
		}
		return rows;
	};
}

function columnsRead(fields: Field[], where: Expression | null) {
	const columns = columnsOf([
		...fields.map(({ expression }) => expression),
		...(where ? [where] : []),
	]);
	if (columns.length === 0) return ["team_id"];
	// To derive missing person ids.
	return columns.includes("person_id") ? [...new Set([...columns, "distinct_id"])] : columns;
}

/**
 * Creates a source from a table. Expressions are evaluated here, so that all sources return the
 * same results. The table checks the filters of a query's condition. The rest of the condition is
 * checked here, so a page may be empty even if more pages follow.
 */
export function queried(table: Table): Source {
	// All pages of a selection use the same scan object, because tables use its identity to find
	// where to continue reading.
	const plans = new WeakMap<Selection, ReturnType<typeof plan>>();
	return {
		async count(selection) {
			const pushed = pushDown(selection.where);
			const { scan, evaluate } = plan({ ...selection, fields: [] }, pushed);
			if (pushed.rest === null) return table.count(scan);
			let count = 0;
			let after: Position | null = null;
			do {
				const page: Awaited<ReturnType<Table["page"]>> = await table.page(scan, after);
				count += evaluate(page.rows).rows.length;
				after = page.next;
			} while (after);
			return count;
		},

		async page(selection, after) {
			const planned = plans.get(selection) ?? plan(selection);
			plans.set(selection, planned);
			const { scan, evaluate } = planned;
			const { rows, next } = await table.page(scan, after);
			return { ...evaluate(rows), next };
		},

		release: () => table.release?.(),
	};
}
