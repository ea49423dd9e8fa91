import { iso } from "../../db/now.ts";
import type { Row } from "../rows.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_ROWS, orderOf, weight } from "./bounds.ts";
import { queried } from "./queried.ts";
import type { Filter, Position, Scan, Source } from "./source.ts";

/** How many rows a page scans for rows that match the filter, and how many rows a statement counts. */
const MAX_SCANNED_ROWS = 5000;
const MAX_COUNTED_ROWS = 100_000;

/** The number of rows of a page is estimated from the size of this many rows, so that the page is filled to this degree. */
const SAMPLED_ROWS = 20;
const FILL = 0.9;

/** Formats a time like the tables, so that both compare as text. */
const normalized = (moment: string) => iso(Date.parse(moment));
const ISO_LENGTH = 24;

/**
 * Collects the parameters that are the same for all pages. ?1 and ?2 are the position to read after. Limits are part of the
 * SQL, because SQLite recompiles a statement each time a limit is bound.
 */
function binder() {
	const values: (string | number)[] = [];
	return { values, bind: (value: string | number) => `?${2 + values.push(value)}` };
}

type Bind = ReturnType<typeof binder>["bind"];

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

/**
 * SQL for the position of a column's text in a list, from 1; 0 if it isn't in the list. The list is a single text, because
 * SQLite would evaluate a list again for each row.
 */
const positionIn = (bind: Bind, column: string, texts: string[]) =>
	`instr(${bind(`,${texts.map(hex)},`)}, ',' || hex(${column}) || ',')`;

/** SQL for whether a row matches a filter. It is never null, because a sum would ignore null. */
function met(bind: Bind, filter: Filter): string {
	const { column } = filter;
	if ("texts" in filter) {
		const position = positionIn(bind, column, filter.texts);
		return `${column} is not null and (${position} > 0) = ${!filter.negated}`;
	}
	const { from, before } = filter;
	return [
		from === null ? "true" : `${column} >= ${bind(from)}`,
		before === null ? "true" : `${column} < ${bind(before)}`,
	].join(" and ");
}

/** The separator of the values of a row in a single text. JSON doesn't escape this character. */
const SEPARATOR = "\x7f";

/** Columns that may be null. In the text of a row, null is "", and other values have the prefix "=". */
const NULLABLE = new Set(["person_id", "person_properties"]);

const INTEGERS = new Set(["team_id", "person_version"]);

/** SQL for a row as a single text, because many small values need several times as much CPU time as one. */
const joined = (columns: string[]) => {
	const values = columns.map((column) =>
		NULLABLE.has(column) ? `coalesce('=' || ${column}, '')` : column,
	);
	return `concat_ws(char(${SEPARATOR.charCodeAt(0)}), ${values.join(", ")})`;
};

/** Returns the function that splits a text into its row; it returns null if a value contains a separator. */
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

/** Returns the parts of statements. */
function parts(scan: Scan, bind: Bind) {
	const { model, team_id, include_events, exclude_events, end } = scan;
	const { at, key } = orderOf(scan);
	const listed = (texts: string[], negated: boolean): Filter[] =>
		texts.length > 0 ? [{ column: "event", texts, negated }] : [];
	const filters =
		model === "events"
			? [...listed(include_events, false), ...listed(exclude_events, true), ...scan.filters]
			: [];
	const isInTeam = `team_id = ${bind(team_id)}`;
	return {
		table: model,
		isInTeam,
		at,
		key,
		isFiltered: filters.length > 0,
		/** Whether a row matches the filters. */
		taken: ["true", ...filters.map((filter) => met(bind, filter))].join(" and "),
		/** The rows of the window after a position, and their order. */
		where: `where ${isInTeam} and (${at}, ${key}) > (?1, ?2) and ${at} < ${bind(normalized(end))}`,
		order: `order by ${at}, ${key}`,
	};
}

type Parts = ReturnType<typeof parts>;

/** SQL for the table `beyond`: the first row after the page, if there is one, and how many rows the page has. */
function beyond(scan: Scan, { table, at, key, taken, isFiltered, where, order }: Parts) {
	const size = weight(scan, (column) => `coalesce(octet_length(${column}), 0)`);
	const mostScanned = isFiltered ? MAX_SCANNED_ROWS : MAX_PAGE_ROWS;
	const counted = `
		scanned as not materialized (
			select ${at} as at, ${key} as key, ${taken} as taken, ${size} as size
			from ${table} ${where} ${order} limit ${mostScanned + 1}
		), summed as not materialized (
			select at, key, taken, count(*) over preceding as scanned, sum(taken) over preceding as rows,
				sum(iif(taken, size, 0)) over preceding as size
			from scanned window preceding as (rows unbounded preceding)
		), counted as not materialized (
			select at, key, rows - taken as rows from summed
			where scanned > ${mostScanned} or rows > ${MAX_PAGE_ROWS} or (rows > 1 and size > ${MAX_PAGE_BYTES})
			limit 1
		)`;
	if (isFiltered) return `${counted}, beyond as materialized (select * from counted)`;
	const sizes = (limit: number | string) =>
		`from (select ${size} as size from ${table} ${where} ${order} limit ${limit})`;
	// A running sum for each row costs several times as much as one sum of all rows, so the number of rows is estimated first.
	return `${counted}, guess as materialized (
			select min(${MAX_PAGE_ROWS}, coalesce(cast(${FILL * MAX_PAGE_BYTES} / avg(size) as integer), 0)) as rows
			${sizes(SAMPLED_ROWS)}
		), guessed as not materialized (
			select ${at} as at, ${key} as key, (select rows from guess) as rows
			from ${table} ${where} and (select sum(size) <= ${MAX_PAGE_BYTES} ${sizes("(select rows from guess)")})
			${order} limit 1 offset (select rows from guess)
		), beyond as materialized (
			select * from guessed union all select * from counted limit 1
		)`;
}

/** Returns the SQL of the statements that read a scan from a position on. `values`: the parameters after the position. */
function statementsFor(scan: Scan) {
	const { columns } = scan;
	const { values, bind } = binder();
	const parted = parts(scan, bind);
	const { table, isInTeam, at, key, taken, where, order } = parted;
	/**
	 * Scans an index twice: first the sizes of rows, to find where the page ends, then its rows. So a page reads about as much as
	 * it returns, and its size is bounded whatever the rows contain. The first row of the result is the position after the page.
	 */
	const page = (values: string, others = "") => `
		with selected as (
			select ${values} from ${table} ${where} and ${taken} ${order}
			limit coalesce((select rows from beyond), -1)
		), ${beyond(scan, parted)}
		select (
			select ${at} || ${key} from ${table}
			where ${isInTeam} and (${at}, ${key}) < (select +at, +key from beyond)
			order by ${at} desc, ${key} desc limit 1
		)${others}
		union all
		select * from selected`;
	return {
		values,
		/** Returns how many rows it scanned, how many of them match, and the position of the last one. */
		count: `
			select count(*), sum(taken), max(at || key) from (
				select ${at} as at, ${key} as key, ${taken} as taken
				from ${table} ${where} ${order} limit ${MAX_COUNTED_ROWS})`,
		/** Returns rows as texts. */
		texts: page(joined(columns)),
		/** Returns rows as values. */
		rows: page(columns.join(", "), ", null".repeat(columns.length - 1)),
	};
}

/** Parses a row's position from `at || key`. */
const positionOf = (text: string): Position => [text.slice(0, ISO_LENGTH), text.slice(ISO_LENGTH)];

/** Returns the functions that run the statements of a scan. */
function reader(database: D1Database, scan: Scan) {
	const { values, count, texts, rows } = statementsFor(scan);
	const read = (text: string) => {
		const statement = database.prepare(text);
		return (after: Position | null) =>
			statement.bind(...(after ?? [normalized(scan.start), ""]), ...values).raw<Row>();
	};
	return { count: read(count), texts: read(texts), rows: read(rows) };
}

/** The source that reads the tables in D1. */
export const d1 = (database: D1Database): Source => {
	const prepare = (scan: Scan) => ({
		read: reader(database, scan),
		split: splitter(scan.columns),
	});
	/** Prepared once for all pages of a scan. */
	const prepared = new WeakMap<Scan, ReturnType<typeof prepare>>();
	return queried({
		async count(scan) {
			const { read } = prepare(scan);
			let count = 0;
			let position: Position | null = null;
			for (;;) {
				const [[scanned, matched, last] = []]: Row[] = await read.count(position);
				count += Number(matched);
				if (Number(scanned) < MAX_COUNTED_ROWS) return count;
				position = positionOf(String(last));
			}
		},

		async page(scan, after) {
			const { read, split } = prepared.get(scan) ?? prepare(scan);
			prepared.set(scan, { read, split });
			let [position, ...rows] = await read.texts(after);
			const wholeRows = rows.map(split).filter((row) => row !== null);
			if (wholeRows.length === rows.length) rows = wholeRows;
			else [position, ...rows] = await read.rows(after);
			const [next] = position ?? [];
			return {
				rows,
				next: typeof next === "string" ? positionOf(next) : null,
			};
		},
	});
};
