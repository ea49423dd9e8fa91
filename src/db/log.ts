/** Pages of log entries of an export, a run or a plugin config. */
import { and, eq, gt, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Page } from "../http/page.ts";
import { contains } from "./contains.ts";
import { countWhere, matching } from "./list.ts";
import { mayContain } from "./search.ts";

/** The columns for filters, and those that identify the owner of an entry. */
type Columns<Owner extends string> = Record<
	"id" | "timestamp" | "level" | "message" | Owner,
	SQLiteColumn
>;

type Log<Owner extends string> = {
	table: SQLiteTable;
	position: SQLiteColumn;
	entries: Columns<Owner>;
	/** The full-text index, and its columns, which have the same names as those of the table. */
	index: string;
	documents: Columns<Owner>;
	/** The trigram of the entries' owner. */
	owner: SQL | string;
	/** The condition for entries of this log. */
	where: (columns: Record<Owner, SQLiteColumn>) => SQL | undefined;
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
export function inLog<Owner extends string>(
	page: Page,
	{ table, position, entries, index, documents, owner, where, levels, counter }: Log<Owner>,
	{ after, before, search }: Filters,
) {
	const within = (columns: Columns<Owner>) =>
		and(
			where(columns),
			after ? gt(columns.timestamp, after) : undefined,
			before ? lt(columns.timestamp, before) : undefined,
		);
	const ofLevels = (columns: Columns<Owner>) =>
		and(within(columns), inArray(columns.level, [...levels]));
	const by = [entries.timestamp, entries.id];
	if (search) {
		const found = {
			id: position,
			found: sql`${sql.identifier(index)}.rowid`,
			from: sql`${sql.identifier(index)}`,
			where: and(
				mayContain(index, owner, search, { hasLetters: false }),
				ofLevels(documents),
				contains(documents.message, search),
			),
			by: [documents.timestamp, documents.id],
		};
		return { by, ...matching(page, found) };
	}
	const total = counter && !after && !before ? counter : countWhere(table, ofLevels(entries));
	const parts = levels.map((level) => eq(entries.level, level));
	return { by, where: within(entries), parts, total };
}
