import { is, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { SQLiteSelectBase } from "drizzle-orm/sqlite-core";
import { Bound } from "./cached_statements.ts";
import { columnNames } from "./rows.ts";

/**
 * The maximum number of columns in a `json_array`, because D1 limits the arguments of functions.
 */
const MAX_ARGUMENTS = 32;

/** @throws if the statement isn't a select */
function selectOf(statement: BatchItem<"sqlite">) {
	const select = statement instanceof Bound ? statement.anew?.() : statement;
	if (!is(select, SQLiteSelectBase)) throw new Error("Only the rows of a select can be stored.");
	return select;
}

/** SQL for the rows of a select as JSON: a list of rows, each a list of lists of values. */
export function jsonOf(statement: BatchItem<"sqlite">): SQL<string> {
	const select = selectOf(statement);
	const names = columnNames(select._.selectedFields).map((_, i) => `c${i}`);
	// Appending an empty string prevents json_array from embedding the text as JSON.
	const values = names.map((name) =>
		sql.raw(`iif(typeof(${name}) = 'text', ${name} || '', ${name})`),
	);
	const lists = Array.from({ length: Math.ceil(values.length / MAX_ARGUMENTS) }, (_, i) => {
		const part = values.slice(i * MAX_ARGUMENTS, (i + 1) * MAX_ARGUMENTS);
		return sql`json_array(${sql.join(part, sql`, `)})`;
	});
	return sql`(with selected (${sql.raw(names.join(", "))}) as (${select.getSQL()})
		select json_group_array(json_array(${sql.join(lists, sql`, `)})) from selected)`;
}
