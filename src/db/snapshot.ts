import { is, type SQL, sql } from "drizzle-orm";
import { SQLiteSelectBase } from "drizzle-orm/sqlite-core";
import type { Statement } from "./client.ts";
import { columnNames } from "./rows.ts";

/** The maximum number of columns in a `json_array`: D1 limits arguments. */
const MAX_ARGUMENTS = 32;

/**
 * SQL for the rows of a select as JSON: a list of rows, each a list of lists of values.
 * @throws if the statement isn't a select
 */
export function jsonOf(statement: Statement): SQL<string> {
	if (!is(statement, SQLiteSelectBase)) throw new Error("Only the rows of a select have JSON.");
	const names = columnNames(statement._.selectedFields).map((_, i) => sql.raw(`c${i}`));
	const listed = (terms: SQL[]) => sql.join(terms, sql`, `);
	const lists = Array.from({ length: Math.ceil(names.length / MAX_ARGUMENTS) }, (_, i) => {
		const part = names.slice(i * MAX_ARGUMENTS, (i + 1) * MAX_ARGUMENTS);
		return sql`json_array(${listed(part)})`;
	});
	return sql`(with selected (${listed(names)}) as (${statement.getSQL()})
		select json_group_array(json_array(${listed(lists)})) from selected)`;
}
