/** Pages of log entries of an export, a run or a plugin config. */
import { and, eq, gt, inArray, lt, type SQL } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { contains } from "./contains.ts";
import { countWhere } from "./list.ts";

type Log = {
	table: SQLiteTable;
	columns: Record<"id" | "timestamp" | "level" | "message", SQLiteColumn>;
	/** The condition for entries of this log. */
	where: SQL | undefined;
	/** The levels to list. An index has the entries of each level in the order of the list. */
	levels: readonly string[];
	/** SQL for the number of entries of these levels, if there is a counter. */
	counter: SQL | undefined;
};

type Filters = {
	after?: string | undefined;
	before?: string | undefined;
	search?: string | undefined;
};

/** Returns how a page of a log is filtered and sorted, newest first, for `paged`. */
export function inLog(
	{ table, columns, where: owned, levels, counter }: Log,
	{ after, before, search }: Filters,
) {
	const where = and(
		owned,
		after ? gt(columns.timestamp, after) : undefined,
		before ? lt(columns.timestamp, before) : undefined,
		search ? contains(columns.message, search) : undefined,
	);
	const isFiltered = after || before || search;
	return {
		by: [columns.timestamp, columns.id],
		where,
		parts: levels.map((level) => eq(columns.level, level)),
		total:
			counter && !isFiltered
				? counter
				: countWhere(table, and(where, inArray(columns.level, [...levels]))),
	};
}
