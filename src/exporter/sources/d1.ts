import { type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Row } from "../rows.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_ROWS, orderOf, weight } from "./bounds.ts";
import { queried } from "./queried.ts";
import type { Filter, Position, Scan, Source } from "./source.ts";

/** How many rows a page looks at for those that the filter lets through, and how many a statement counts. */
const MAX_SCANNED_ROWS = 5000;
const MAX_COUNTED_ROWS = 100_000;

/** A page's number of rows is guessed by the size of so many, and so that it is filled to this degree. */
const SAMPLED_ROWS = 20;
const FILL = 0.9;

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

/** Between the values of a row that is one text. JSON doesn't escape this character. */
const SEPARATOR = "\x7f";

/** Columns that may be null. In a text, null is "", and a value follows "=". */
const NULLABLE = new Set(["person_id", "person_properties"]);

const INTEGERS = new Set(["team_id", "person_version"]);

/** SQL for a row as one text: many small values would cost several times as much CPU time as one. */
const joined = (columns: string[]) => {
	const values = columns.map((column) =>
		NULLABLE.has(column) ? `coalesce('=' || ${column}, '')` : column,
	);
	return `concat_ws(char(${SEPARATOR.charCodeAt(0)}), ${values.join(", ")})`;
};

/** Makes the function that splits a text into its row; null if a value has a separator in it. */
function splitter(columns: string[]) {
	const nullable = columns.flatMap((column, i) => (NULLABLE.has(column) ? [i] : []));
	const integers = columns.flatMap((column, i) => (INTEGERS.has(column) ? [i] : []));
	return ([text = null]: Row): Row | null => {
		const row: Row = String(text).split(SEPARATOR);
		if (row.length !== columns.length) return null;
		for (const i of nullable) row[i] = row[i] === "" ? null : String(row[i]).slice(1);
		for (const i of integers) row[i] = Number(row[i]);
		return row;
	};
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
		isFiltered: filters.length > 1,
		/** Whether the selection takes a row. */
		taken: model === "events" ? sql.join(filters, sql` and `) : sql`true`,
		/** The window's rows after a position, and their order. */
		range: (then = "", which = "") => ({
			where: sql`where team_id = ${team_id} and (${at}, ${key}) > (${then}, ${which}) and ${at} < ${iso(scan.end)}`,
			order: sql`order by ${at}, ${key}`,
		}),
	};
}

/** SQL for the table `beyond`: the first row after the page, if there is one, and how many rows the page has. */
function beyond(scan: Scan, rest: { where: SQL; order: SQL }) {
	const { table, at, key, taken, isFiltered } = parts(scan);
	const size = sql.raw(weight(scan, (column) => `coalesce(octet_length(${column}), 0)`));
	const mostScanned = isFiltered ? MAX_SCANNED_ROWS : MAX_PAGE_ROWS;
	const counted = sql`
		scanned as not materialized (
			select ${at} as at, ${key} as key, ${taken} as taken, ${size} as size
			from ${table} ${rest.where} ${rest.order} limit ${mostScanned + 1}
		), summed as not materialized (
			select at, key, taken, count(*) over preceding as scanned, sum(taken) over preceding as rows,
				sum(iif(taken, size, 0)) over preceding as size
			from scanned window preceding as (rows unbounded preceding)
		), counted as not materialized (
			select at, key, rows - taken as rows from summed
			where scanned > ${mostScanned} or rows > ${MAX_PAGE_ROWS} or (rows > 1 and size > ${MAX_PAGE_BYTES})
			limit 1
		)`;
	if (isFiltered) return sql`${counted}, beyond as materialized (select * from counted)`;
	const sizes = (limit: SQL) =>
		sql`from (select ${size} as size from ${table} ${rest.where} ${rest.order} limit ${limit})`;
	// Sums for each row cost several times as much as one for all, so the number of rows is guessed first.
	return sql`${counted}, guess as materialized (
			select min(${MAX_PAGE_ROWS}, coalesce(cast(${FILL * MAX_PAGE_BYTES} / avg(size) as integer), 0)) as rows
			${sizes(sql`${SAMPLED_ROWS}`)}
		), guessed as not materialized (
			select ${at} as at, ${key} as key, (select rows from guess) as rows
			from ${table} ${rest.where} and (select sum(size) <= ${MAX_PAGE_BYTES} ${sizes(sql`(select rows from guess)`)})
			${rest.order} limit 1 offset (select rows from guess)
		), beyond as materialized (
			select * from guessed union all select * from counted limit 1
		)`;
}

const first = ({ start }: Scan): Position => [iso(start), ""];

/** The position of a row, of which D1 says `at || key`. */
const positionOf = (text: string): Position => [text.slice(0, ISO_LENGTH), text.slice(ISO_LENGTH)];

/** The rows of D1's tables. */
export const d1 = (database: D1Database): Source => {
	const db = drizzle(database);
	return queried({
		async count(scan) {
			const { table, at, key, taken, range } = parts(scan);
			let count = 0;
			let position = first(scan);
			for (;;) {
				const rest = range(...position);
				const [[scanned, matched, last] = []] = await db.values(sql`
					select count(*), sum(taken), max(at || key) from (
						select ${at} as at, ${key} as key, ${taken} as taken
						from ${table} ${rest.where} ${rest.order} limit ${MAX_COUNTED_ROWS})`);
				count += Number(matched);
				if (Number(scanned) < MAX_COUNTED_ROWS) return count;
				position = positionOf(String(last));
			}
		},

		/**
		 * Scans an index twice: for the sizes of rows, to find where the page ends, and for its rows. So a page reads about what it
		 * returns, and is bounded whatever its rows hold.
		 */
		async page(scan, after) {
			const { columns, team_id } = scan;
			const { table, at, key, taken, range } = parts(scan);
			const rest = range(...(after ?? first(scan)));
			// The first row returned is the position after the page.
			const read = (values: string, others = "") =>
				db.values<Row>(sql`
				with selected as (
					select ${sql.raw(values)} from ${table} ${rest.where} and ${taken} ${rest.order}
					limit coalesce((select rows from beyond), -1)
				), ${beyond(scan, rest)}
				select (
					select ${at} || ${key} from ${table}
					where team_id = ${team_id} and (${at}, ${key}) < (select +at, +key from beyond)
					order by ${at} desc, ${key} desc limit 1
				)${sql.raw(others)}
				union all
				select * from selected`);
			let [position, ...rows] = await read(joined(columns));
			const wholeRows = rows.map(splitter(columns)).filter((row) => row !== null);
			if (wholeRows.length === rows.length) rows = wholeRows;
			else
				[position, ...rows] = await read(columns.join(", "), ", null".repeat(columns.length - 1));
			const [next] = position ?? [];
			return {
				rows,
				next: typeof next === "string" ? positionOf(next) : null,
			};
		},
	});
};
