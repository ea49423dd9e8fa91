/** Pages of logs (src/db/stored_log.ts). */
import { and, type SQL, sql } from "drizzle-orm";
import { envelope, type Key, MAX_PAGE_BYTES, type Page } from "../http/page.ts";
import { iso, MINUTE_MS } from "../lib/time.ts";
import type { Database } from "./client.ts";
import { contains } from "./contains.ts";
import type { StoredEntry } from "./schema/log.ts";
import { type Logs, newest, type Owner } from "./stored_log.ts";

/** How many rows a page of a filtered log reads at most. */
const MAX_ROWS_READ = 5_000;

/** The longest time between the oldest entry of a row and its position. */
const MAX_SPAN_MS = 5 * MINUTE_MS;

type Filters = {
	after?: string | undefined;
	before?: string | undefined;
	search?: string | undefined;
	levels?: string[] | undefined;
	/** Only entries about a run, between these positions of its owner's log. */
	run?: { id: string; positions: (owner: SQL) => { from: SQL; until: SQL } };
};

/** Returns where a page starts: a row's position, and the number of an entry. */
function startOf({ after }: Page) {
	const [position, number] = after?.keys ?? [];
	return typeof position === "number" && typeof number === "number"
		? { position, number }
		: undefined;
}

const isFilteredBy = ({ after, before, search, levels = [], run }: Filters) =>
	Boolean(after || before || search || levels.length > 0 || run);

/** SQL for the log's owner, in the statements of a page. */
const KEY = sql`of.id`;

/** SQL condition: the row is of the log, and may have entries that match the filters. */
function mayMatch({ table: { position }, owner }: Logs, { after, before, run }: Filters) {
	const positions = run?.positions(KEY);
	return and(
		sql`${owner} = ${KEY}`,
		after ? sql`${position} >= ${Date.parse(after)}` : undefined,
		before ? sql`${position} < ${Date.parse(before) + MAX_SPAN_MS}` : undefined,
		positions
			? sql`${position} >= ${positions.from} and ${position} <= ${positions.until}`
			: undefined,
	);
}

/**
 * SQL for common table expressions. `owned`: the log's owner, and the number of the newest entry of
 * the page if the list isn't filtered. D1 limits how deep expressions are, and the owner in a path
 * with @current is deep, so the others join this. `walk`: the rows from the start of the page on.
 * `sized`: how many bytes are before each.
 */
function walkOf(logs: Logs, of: Owner, page: Page, filters: Filters) {
	const { table, owner, run } = logs;
	const { position, total, entries } = table;
	const start = startOf(page);
	const isFiltered = isFilteredBy(filters);
	const first = start
		? sql`${start.number - 1}`
		: sql`${newest(logs, total, KEY)} - ${page.offset}`;
	/** The first row to read: every newer row has only entries of earlier pages. */
	const skipped = sql`(select min(position) from ${table} as it where it.${sql.identifier(owner.name)} = ${KEY}
		and it.position > coalesce((select it.position from ${table} as it where it.${sql.identifier(owner.name)} = ${KEY}
			and it.total < of.newest order by it.position desc limit 1), 0))`;
	const isAtStart = start
		? sql`${position} <= ${start.position}`
		: !isFiltered && page.offset > 0
			? sql`${position} <= ${skipped}`
			: undefined;
	// Of the first row, all entries may be on the page before.
	const limit = isFiltered ? MAX_ROWS_READ : page.limit + 2;
	return sql`owned as materialized (
		select ${KEY} as id, ${isFiltered ? sql`null` : first} as newest from (select ${of} as id) as of
	), walk as materialized (
		select ${position} as position, ${total} as total, octet_length(${entries}) as bytes, ${run ?? sql`null`} as run
		from owned as of cross join ${table} where ${and(mayMatch(logs, filters), isAtStart)} order by ${position} desc limit ${limit}
	), sized as materialized (
		select position, total, coalesce(sum(bytes) over (
			order by position desc rows between unbounded preceding and 1 preceding), 0) as earlier
		from walk ${filters.run ? sql`where run = ${filters.run.id}` : sql``}
	)`;
}

/**
 * SQL for the entries of a page without filters. Of each row, unpacks only the entries on the page,
 * with a list of as many numbers: `json_each(entries)` would read all of them.
 */
function entriesOf({ table, owner, run }: Logs, walk: SQL, page: Page) {
	const { position, total, entries } = table;
	// D1 binds numbers as floating-point ones, which aren't indexes of a list.
	const first = sql`cast(max(0, ${total} - of.newest) as integer)`;
	const count = sql`max(0, min(json_array_length(${entries}), ${total} - of.newest + ${page.limit + 1}) - ${first})`;
	return sql`(with ${walk}
		select ${position} as position, ${total} - ${first} - item.key as number, ${table.id} as id, ${run ?? sql`null`} as run,
			${entries} -> (${first} + item.key) as entry, 0 as matches
		from owned as of cross join sized cross join ${table} on ${owner} = ${KEY} and ${position} = sized.position
			cross join json_each('[' || rtrim(replace(hex(zeroblob(${count})), '00', '0,'), ',') || ']') as item
		where sized.earlier < ${MAX_PAGE_BYTES} and sized.total > of.newest - ${page.limit + 1})`;
}

/** SQL for the entries of the walk that match the filters, with their number. */
function entriesMatching({ table, owner, run }: Logs, walk: SQL, page: Page, filters: Filters) {
	const { position, total, entries } = table;
	const { after, before, search, levels = [] } = filters;
	const start = startOf(page);
	const matches = and(
		start ? sql`number < ${start.number}` : undefined,
		after ? sql`entry ->> 0 > ${Date.parse(after)}` : undefined,
		before ? sql`entry ->> 0 < ${Date.parse(before)}` : undefined,
		levels.length > 0
			? sql`entry ->> 1 in (select value from json_each(${JSON.stringify(levels)}))`
			: undefined,
		search ? contains(sql`message`, search) : undefined,
	);
	return sql`(with ${walk}, unpacked as materialized (
			select ${position} as position, ${total} - item.key as number, ${table.id} as id, ${run ?? sql`null`} as run,
				item.value as entry ${search ? sql`, item.value ->> 2 as message` : sql``}
			from owned as of cross join sized cross join ${table} on ${owner} = ${KEY} and ${position} = sized.position cross join json_each(${entries}) as item
			where sized.earlier < ${MAX_PAGE_BYTES}
		)
		select position, number, id, run, entry, count(*) over () as matches from unpacked where ${matches ?? sql`true`})`;
}

/** SQL for how many entries the log has. */
function countOf(logs: Logs) {
	const { table, owner } = logs;
	const { position, total, entries } = table;
	const oldest = sql`(select ${total} - json_array_length(${entries}) from ${table} where ${owner} = ${KEY} order by ${position} limit 1)`;
	return sql`coalesce(${newest(logs, total, KEY)} - ${oldest}, 0)`;
}

/** SQL for where the page after the walk starts: at the newest row that it didn't unpack. */
function unreadOf(logs: Logs, walk: SQL, filters: Filters) {
	const { table } = logs;
	const { position, total } = table;
	return sql`with ${walk} select ${position} as position, ${total} + 1 as number
		from owned as of cross join ${table} where ${mayMatch(logs, filters)} and ${position} < coalesce(
			(select max(position) + 1 from sized where earlier >= ${MAX_PAGE_BYTES}), (select min(position) from walk))
		order by ${position} desc limit 1`;
}

/**
 * Returns the statements for a page of a log, newest first, and the function that makes the page of
 * their results.
 *
 * A page reads at most `MAX_ROWS_READ` rows and `MAX_PAGE_BYTES` of entries, but at least one row.
 * If it ends for this reason, `next` continues there. Without filters, it reads only the rows of
 * the page, and the count is known from the newest and the oldest row. With filters, the count is
 * the number of matches found so far.
 */
export function readLog<E extends StoredEntry>(
	db: Database,
	logs: Logs,
	{ of, page, filters }: { of: Owner; page: Page; filters: Filters },
) {
	const start = startOf(page);
	const isFiltered = isFilteredBy(filters);
	const walk = walkOf(logs, of, page, filters);
	// The number of matches is unknown if the offset skips all of them.
	const skip = isFiltered && !start ? page.offset : 0;
	// Without filters, the number of the last entry says whether there are more.
	const unread = isFiltered
		? unreadOf(logs, walk, filters)
		: sql`select 0 as position, 0 as number where false`;
	const known = start ? page.after?.count : undefined;
	const count = known === undefined ? countOf(logs) : sql`${known}`;
	const statements = [
		db
			.select({
				position: sql<number>`position`.as("position"),
				number: sql<number>`number`.as("number"),
				id: sql<string>`id`.as("id"),
				run: sql<string | null>`run`.as("run"),
				entry: sql`entry`.mapWith((json: string): E => JSON.parse(json)).as("entry"),
				matches: sql<number>`matches`.as("matches"),
			})
			.from(isFiltered ? entriesMatching(logs, walk, page, filters) : entriesOf(logs, walk, page))
			.orderBy(sql`position desc, number desc`)
			.limit(page.limit + 1 + skip),
		db
			.select({
				position: sql<number>`position`.as("position"),
				number: sql<number>`number`.as("number"),
			})
			.from(sql`(${unread})`),
		db
			.select({ count: sql<number>`count`.as("count") })
			.from(sql`(select ${isFiltered ? sql`0` : count} as count from (select ${of} as id) as of)`),
	] as const;
	type Rows = Awaited<(typeof statements)[0]>;
	type Unread = Awaited<(typeof statements)[1]>;
	const envelopeOf = <T>(
		[found, [next], [counted]]: [Rows, Unread, { count: number }[]],
		to: (row: Rows[number]) => T,
	) => {
		const last = found.at(-1);
		const passed = start ? page.offset : 0;
		const count = isFiltered ? passed + (found[0]?.matches ?? 0) : (counted?.count ?? 0);
		const end = isFiltered || page.offset + found.length >= count ? next : last;
		return envelope(page, {
			rows: found.slice(skip),
			count,
			keys: keysOf,
			to,
			further: end && keysOf(end),
		});
	};
	return { statements, envelopeOf };
}

const keysOf = ({ position, number }: { position: number; number: number }): Key[] => [
	position,
	number,
];

/** Returns the fields of an entry of any log. Its time is that of its row's id. */
export const entryOf = <E extends StoredEntry>(row: { number: number; id: string; entry: E }) => ({
	id: row.id.slice(0, 24) + row.number.toString(16).padStart(12, "0"),
	timestamp: iso(row.entry[0]),
	message: row.entry[2],
});
