import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Row } from "../rows.ts";
import { MOST_BYTES, MOST_ROWS, orderOf, weight } from "./bounds.ts";
import { queried } from "./queried.ts";
import type { Filter, Position, Scan, Source } from "./source.ts";

/** How many rows a page looks at for those that the filter lets through, and how many a statement counts. */
const MOST_SCANNED = 5000;
const MOST_COUNTED = 100_000;

/** As the tables have them, so that they compare as text. */
const iso = (moment: string) => new Date(moment).toISOString();
const ISO_LENGTH = 24;

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

/** The position of a column's text in a list, from 1; 0: none. In one text: SQLite would go through a list anew for each row. */
const positionIn = (column: string, texts: string[]) =>
	sql`instr(${`,${texts.map(hex)},`}, ',' || hex(${sql.raw(column)}) || ',')`;

/** Never null, which a sum would pass over. */
function met(filter: Filter): SQL {
	const column = sql.raw(filter.column);
	if ("texts" in filter) {
		const position = positionIn(filter.column, filter.texts);
		return sql`${column} is not null and (${position} > 0) = ${sql.raw(String(!filter.negated))}`;
	}
	const { from, before } = filter;
	return sql.join(
		[
			from === null ? sql`true` : sql`${column} >= ${from}`,
			before === null ? sql`true` : sql`${column} < ${before}`,
		],
		sql` and `,
	);
}

/** The parts that statements are made of. */
function parts(scan: Scan) {
	const { model, team_id, include_events, exclude_events } = scan;
	const order = orderOf(scan);
	const at = sql.raw(order.at);
	const key = sql.raw(order.key);
	const listed = (texts: string[], negated: boolean) =>
		texts.length > 0 ? [met({ column: "event", texts, negated })] : [];
	const filters = [
		sql`true`,
		...listed(include_events, false),
		...listed(exclude_events, true),
		...scan.filters.map(met),
	];
	return {
		table: sql.raw(model),
		at,
		key,
		/** Whether the selection takes a row. */
		taken: model === "events" ? sql.join(filters, sql` and `) : sql`true`,
		/** The rows behind a position, in their order. */
		behind: (then: SQL, which: SQL) =>
			sql`from ${sql.raw(model)}
				where team_id = ${team_id} and (${at}, ${key}) > (${then}, ${which}) and ${at} < ${iso(scan.end)}
				order by ${at}, ${key}`,
	};
}

const first = ({ start }: Scan): Position => [iso(start), ""];

/** The rows of D1's tables. */
export const d1 = (database: D1Database): Source => {
	const db = drizzle(database);
	return queried({
		async count(scan) {
			const { at, key, taken, behind } = parts(scan);
			let count = 0;
			let [then = "", which = ""] = first(scan);
			for (;;) {
				const [[scanned, matched, last] = []] = await db.values(sql`
					select count(*), sum(taken), max(at || key) from (
						select ${at} as at, ${key} as key, ${taken} as taken
						${behind(sql`${then}`, sql`${which}`)} limit ${MOST_COUNTED})`);
				count += Number(matched);
				if (Number(scanned) < MOST_COUNTED) return count;
				then = String(last).slice(0, ISO_LENGTH);
				which = String(last).slice(ISO_LENGTH);
			}
		},

		/**
		 * Seeks from row to row along an index, and ends before the row that would make the page too large, or when it has
		 * looked at enough: so it reads about what it answers, and is as long as that.
		 */
		async page(scan, after) {
			const { columns } = scan;
			const { table, at, key, taken, behind } = parts(scan);
			const [then, which] = after ?? first(scan);
			const weighs = weight(scan, (column) => `octet_length(${column})`);
			// (trap: where columns have an affinity, SQLite seeks by the first alone; + takes it away)
			const next = sql`${behind(sql`+page.at`, sql`+page.key`)} limit 1`;
			const rows = await db.values<Row>(sql`
				with recursive answered as (
					select ${sql.raw(columns.join(", "))}, rowid as id from ${table}
				), weighed as (
					select rowid as id, ${at} as at, ${key} as key, ${taken} as taken, ${sql.raw(weighs)} as bytes from ${table}
				), page (id, at, key, taken, rows, bytes, scanned) as (
					select null, ${then}, ${which}, 0, 0, 0, 0
					union all
					select row.id, row.at, row.key, row.taken, page.rows + row.taken, page.bytes + row.taken * row.bytes, scanned + 1
					from page join weighed as row on row.id = (select rowid ${next})
					where page.rows < ${MOST_ROWS} and scanned < ${MOST_SCANNED}
						and (not row.taken or page.rows = 0 or page.bytes + row.bytes <= ${MOST_BYTES})
				), last as (
					select max(scanned) as scanned from page
				)
				select answered.*, page.at, page.key, page.taken, iif(scanned = (select scanned from last), exists (select 1 ${next}), 0)
				from page join answered using (id)
				where page.taken or scanned = (select scanned from last)
				order by scanned`);
			const taken_at = columns.length + 3;
			const [lastAt, lastKey, , more] =
				rows.at(-1)?.slice(columns.length + 1) ?? [];
			return {
				rows: rows
					.filter((row) => row[taken_at] === 1)
					.map((row) => row.slice(0, columns.length)),
				next: more === 1 ? [String(lastAt), String(lastKey)] : null,
			};
		},
	});
};
