import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { MOST_BYTES, MOST_ROWS, orderOf, typedRows, weight } from "./bounds.ts";
import type { Position, Selection, Source } from "./source.ts";
import { columnsForD1 } from "./sql.ts";

/** How many rows a page looks at for those that the filter lets through, and how many a statement counts. */
const MOST_SCANNED = 5000;
const MOST_COUNTED = 100_000;

/** As the tables have them, so that they compare as text. */
const iso = (moment: string) => new Date(moment).toISOString();
const ISO_LENGTH = 24;

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

/** The parts that statements are made of. */
function parts(selection: Selection) {
	const { model, team_id, include_events, exclude_events } = selection;
	const order = orderOf(selection);
	const at = sql.raw(order.at);
	const key = sql.raw(order.key);
	// In one text: SQLite would go through a list anew for each row.
	const listed = (names: string[]) =>
		sql`instr(${`,${names.map(hex)},`}, ',' || hex(event) || ',')`;
	const filters = [
		include_events.length > 0 ? sql`${listed(include_events)} > 0` : sql`true`,
		exclude_events.length > 0 ? sql`${listed(exclude_events)} = 0` : sql`true`,
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
				where team_id = ${team_id} and (${at}, ${key}) > (${then}, ${which}) and ${at} < ${iso(selection.end)}
				order by ${at}, ${key}`,
	};
}

const first = ({ start }: Selection): Position => [iso(start), ""];

/** The rows of D1's tables. */
export const d1 = (database: D1Database): Source => {
	const db = drizzle(database);
	return {
		async count(selection) {
			const { at, key, taken, behind } = parts(selection);
			let count = 0;
			let [then = "", which = ""] = first(selection);
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
		async page(selection, after) {
			const { fields } = selection;
			const { table, at, key, taken, behind } = parts(selection);
			const [then, which] = after ?? first(selection);
			const weighs = weight(fields, (column) => `octet_length(${column})`);
			// (trap: where columns have an affinity, SQLite seeks by the first alone; + takes it away)
			const next = sql`${behind(sql`+page.at`, sql`+page.key`)} limit 1`;
			const rows = await db.values(sql`
				with recursive answered as (
					select ${columnsForD1(fields)}, rowid as id from ${table}
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
			const taken_at = fields.length + 3;
			const [lastAt, lastKey, , more] =
				rows.at(-1)?.slice(fields.length + 1) ?? [];
			return {
				...typedRows(
					fields,
					rows.filter((row) => row[taken_at] === 1),
				),
				next: more === 1 ? [String(lastAt), String(lastKey)] : null,
			};
		},
	};
};
