import { endId, firstId } from "../../../db/arrival_id.ts";
import { FAR_MS, formatUuid, IS_FAR } from "../../../db/schema/events.ts";
import { iso, MINUTE_MS } from "../../../lib/time.ts";
import type { Model, Row } from "../../query/rows.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_ROWS, weight } from "./bounds.ts";
import { queried } from "./queried.ts";
import type { Filter, Position, Scan, Source, Table } from "./source.ts";

/** How many rows a page scans for rows that match, and how many a statement counts. */
const MAX_SCANNED_ROWS = 5000;
const MAX_COUNTED_ROWS = 100_000;

/** From how many rows the number of rows of a page is estimated, and how full it should be. */
const SAMPLED_ROWS = 20;
const FILL = 0.9;

/**
 * Collects the parameters that are the same for all pages. The first ones are the position to read
 * from. Limits are part of the SQL, because SQLite recompiles a statement each time a limit is
 * bound.
 */
function binder(first: number) {
	const values: (string | number)[] = [];
	return { values, bind: (value: string | number) => `?${first + values.push(value)}` };
}

type Bind = ReturnType<typeof binder>["bind"];

/** SQL for columns that are stored in another form or under another name. */
const STORED: Record<Model, Record<string, string>> = {
	events: { uuid: "hex(uuid)", created_at: "_inserted_at" },
	persons: {},
};

const stored = (model: Model, column: string) => STORED[model][column] ?? column;

const hex = (text: string) => Buffer.from(text).toString("hex").toUpperCase();

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Returns the digits of a UUID as they are stored; "" if no UUID has this text. */
const digits = (text: string) => (UUID.test(text) ? text.replaceAll("-", "").toUpperCase() : "");

/** SQL for a text's position in a list, from 1, or 0: one text, evaluated once. */
const positionIn = (bind: Bind, column: string, texts: string[]) =>
	`instr(${bind(`,${texts.map(column === "uuid" ? digits : hex)},`)}, ',' || hex(${column}) || ',')`;

/** SQL for whether a row matches a filter. It is never null, because a sum would ignore null. */
function met(bind: Bind, filter: Filter): string {
	const { column } = filter;
	if ("texts" in filter) {
		const position = positionIn(bind, column, filter.texts);
		return `${column} is not null and (${position} > 0) = ${!filter.negated}`;
	}
	const { from, before } = filter;
	const time = stored("events", column);
	return [
		from === null ? "true" : `${time} >= ${bind(Date.parse(from))}`,
		before === null ? "true" : `${time} < ${bind(Date.parse(before))}`,
	].join(" and ");
}

/** The size of a person's id that is null, because it will be derived. */
const DERIVED_BYTES = 36;

/** The separator of the values of a row in a single text. JSON doesn't escape this character. */
const SEPARATOR = "\x7f";

/** Columns that may be null. In the text of a row, null is "", and other values begin with "=". */
const NULLABLE = new Set(["person_id", "person_properties"]);

const INTEGERS = new Set(["team_id", "person_version"]);
const TIMES = new Set(["timestamp", "created_at", "_inserted_at"]);

/** SQL for a row as one text, because many small values need several times the CPU time. */
const joined = ({ model, columns }: Scan) => {
	const values = columns.map((column) =>
		NULLABLE.has(column) ? `coalesce('=' || ${column}, '')` : stored(model, column),
	);
	return `concat_ws(char(${SEPARATOR.charCodeAt(0)}), ${values.join(", ")})`;
};

/** Returns the function that splits a text into its row; null if a value has a separator. */
function splitter(columns: string[]) {
	const nullable = columns.flatMap((column, i) => (NULLABLE.has(column) ? [i] : []));
	return ([text = null]: Row): Row | null => {
		const row: Row = String(text).split(SEPARATOR);
		if (row.length !== columns.length) return null;
		for (const i of nullable) row[i] = row[i] === "" ? null : String(row[i]).slice(1);
		return row;
	};
}

const twoDigits = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));

/** Returns a function like `iso` that is faster for times in the same minute as the one before. */
function isoFormatter() {
	let minute = Number.NaN;
	let prefix = "";
	return (at: number) => {
		const ms = at - minute;
		if (!(ms >= 0 && ms < MINUTE_MS)) {
			minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
			prefix = iso(minute).slice(0, "YYYY-MM-DDTHH:MM:".length);
		}
		const rest = at - minute;
		return `${prefix}${twoDigits[Math.floor(rest / 1000)]}.${String(1000 + (rest % 1000)).slice(1)}Z`;
	};
}

/** Returns the function that converts the values of a row from their stored form. */
function converter({ model, columns }: Scan) {
	const where = (names: Set<string>) => columns.flatMap((name, i) => (names.has(name) ? [i] : []));
	const [integers, times] = [where(INTEGERS), where(TIMES)];
	const uuid = model === "events" ? columns.indexOf("uuid") : -1;
	const format = isoFormatter();
	return (row: Row) => {
		for (const i of integers) row[i] = Number(row[i]);
		for (const i of times) row[i] = format(Number(row[i]));
		if (uuid >= 0) row[uuid] = formatUuid(String(row[uuid]));
		return row;
	};
}

/** SQL for the columns of the order as text, and back. Numbers would lose digits of ids. */
const KEYS = {
	id: { text: "id", value: (text: string) => `cast(${text} as integer)` },
	timestamp: { text: "timestamp", value: (text: string) => `cast(${text} as integer)` },
	uuid: { text: "hex(uuid)", value: (text: string) => `unhex(${text})` },
};

/** A part of a window's rows. */
type Part = {
	table: string;
	sort: (keyof typeof KEYS)[];
	/** The position of its first row, or one before it. */
	start: Position;
	/** SQL for its last condition; the first one is the position. */
	within: (bind: Bind) => string;
};

/** Returns the parts of a window, in the order in which they are read (decision 8). */
function partsOf({ model, team_id, by, start, end }: Scan): Part[] {
	const [from, before] = [Date.parse(start), Date.parse(end)];
	const isInWindow = (column: string) => (bind: Bind) =>
		`${column} >= ${bind(from)} and ${column} < ${bind(before)}`;
	/** The rows with ids from one to another that meet a condition. */
	const between = (
		first: string,
		end: string,
		isTaken: (bind: Bind) => string,
		...more: string[]
	): Part => ({
		table: model,
		sort: ["id"],
		start: [first],
		within: (bind) => [`id < cast(${bind(end)} as integer)`, isTaken(bind), ...more].join(" and "),
	});
	if (by === "arrival")
		return [between(firstId(team_id, from), endId(team_id, before), isInWindow("_inserted_at"))];
	// A person is never written before it is created.
	if (model === "persons")
		return [between(firstId(team_id, from), firstId(team_id + 1), isInWindow("created_at"))];
	const near = [firstId(team_id, from - FAR_MS), endId(team_id, before + FAR_MS)] as const;
	return [
		between(...near, isInWindow("timestamp"), `not ${IS_FAR}`),
		{
			table: "events indexed by events_far",
			sort: ["timestamp", "uuid"],
			start: [String(from), ""],
			within: (bind) => `team_id = ${bind(team_id)} and ${IS_FAR} and timestamp < ${bind(before)}`,
		},
	];
}

function fragments(scan: Scan, { table, sort, within }: Part, bind: Bind) {
	const { model, include_events, exclude_events } = scan;
	const listed = (texts: string[], negated: boolean): Filter[] =>
		texts.length > 0 ? [{ column: "event", texts, negated }] : [];
	const filters =
		model === "events"
			? [...listed(include_events, false), ...listed(exclude_events, true), ...scan.filters]
			: [];
	const keys = sort.join(", ");
	const position = sort.map((key, i) => KEYS[key].value(`?${i + 1}`));
	return {
		table,
		keys,
		isFiltered: filters.length > 0,
		taken: ["true", ...filters.map((filter) => met(bind, filter))].join(" and "),
		/** SQL for the position of a row, as text. */
		position: `concat_ws(' ', ${sort.map((key) => KEYS[key].text)})`,
		/** The rows of the part from a position on, and their order. */
		where: `where (${keys}) >= (${position}) and ${within(bind)}`,
		order: `order by ${keys}`,
	};
}

type Fragments = ReturnType<typeof fragments>;

/** SQL for `beyond`: the first row after the page, if any, and how many rows the page has. */
function beyond(scan: Scan, { table, keys, taken, isFiltered, where, order }: Fragments) {
	const size = weight(scan, (column) => `coalesce(octet_length(${column}), ${DERIVED_BYTES})`);
	const mostScanned = isFiltered ? MAX_SCANNED_ROWS : MAX_PAGE_ROWS;
	const counted = (limit: number | string) => `
		scanned as not materialized (
			select ${keys}, ${taken} as taken, ${size} as size
			from ${table} ${where} ${order} limit ${limit}
		), summed as not materialized (
			select ${keys}, taken, count(*) over preceding as scanned, sum(taken) over preceding as rows,
				sum(iif(taken, size, 0)) over preceding as size
			from scanned window preceding as (rows unbounded preceding)
		), counted as not materialized (
			select ${keys}, rows - taken as rows from summed
			where scanned > ${mostScanned} or rows > ${MAX_PAGE_ROWS} or (rows > 1 and size > ${MAX_PAGE_BYTES})
			limit 1
		)`;
	if (isFiltered)
		return `${counted(mostScanned + 1)}, beyond as materialized (select * from counted)`;
	const sizes = (limit: number | string) =>
		`from (select ${size} as size from ${table} ${where} ${order} limit ${limit})`;
	// A running sum for each row costs several times as much as one sum of all rows, so the number of
	// rows is estimated first. A page without rows would be read again forever.
	return `guess as materialized (
			select max(1, min(${MAX_PAGE_ROWS}, coalesce(cast(${FILL * MAX_PAGE_BYTES} / avg(size) as integer), 0))) as rows
			${sizes(SAMPLED_ROWS)}
		), fit as materialized (
			select coalesce(sum(size), 0) <= ${MAX_PAGE_BYTES} as fits ${sizes("(select rows from guess)")}
		), guessed as not materialized (
			select ${keys}, (select rows from guess) as rows from ${table} ${where} and (select fits from fit)
			${order} limit 1 offset (select rows from guess)
		), ${counted(`iif((select fits from fit), 0, ${mostScanned + 1})`)}, beyond as materialized (
			select * from guessed union all select * from counted limit 1
		)`;
}

/** The SQL that reads a part. `values`: the parameters after the position. */
function statementsFor(scan: Scan, part: Part) {
	const { model, columns } = scan;
	const { values, bind } = binder(part.sort.length);
	const all = fragments(scan, part, bind);
	const { table, position, taken, where, order } = all;
	/**
	 * Scans the rows twice: first their sizes, to find where the page ends, then the rows. So a page
	 * reads about as much as it returns, and its size is bounded whatever the rows contain. The first
	 * row of the result is the position of the next page.
	 */
	const page = (values: string, others = "") => `
		with selected as (
			select ${values} from ${table} ${where} and ${taken} ${order}
			limit coalesce((select rows from beyond), -1)
		), ${beyond(scan, all)}
		select (select ${position} from beyond)${others}
		union all
		select * from selected`;
	return {
		values,
		/** Returns how many rows it scanned, and how many of them match. */
		count: `
			select count(*), sum(taken) from (
				select ${taken} as taken from ${table} ${where} ${order} limit ${MAX_COUNTED_ROWS})`,
		/** Returns the position of the first row that `count` doesn't scan. */
		uncounted: `
			select ${position} from ${table} ${where} ${order}
			limit 1 offset ${MAX_COUNTED_ROWS}`,
		texts: page(joined(scan)),
		rows: page(
			columns.map((column) => stored(model, column)).join(", "),
			", null".repeat(columns.length - 1),
		),
	};
}

function reader(database: D1Database, scan: Scan, part: Part) {
	const { values, count, uncounted, texts, rows } = statementsFor(scan, part);
	const read = (text: string) => {
		const statement = database.prepare(text);
		return (from: Position) => statement.bind(...from, ...values).raw<Row>();
	};
	return {
		start: part.start,
		count: read(count),
		uncounted: read(uncounted),
		texts: read(texts),
		rows: read(rows),
	};
}

/** The source that reads D1. A position: the number of a part, and the place in it. */
export const d1 = (database: D1Database): Source => {
	const prepare = (scan: Scan) => ({
		parts: partsOf(scan).map((part) => reader(database, scan, part)),
		split: splitter(scan.columns),
		convert: converter(scan),
	});
	/** Prepared once for all pages of a scan. */
	const prepared = new WeakMap<Scan, ReturnType<typeof prepare>>();
	return queried({
		async count(scan) {
			let count = 0;
			for (const part of prepare(scan).parts) {
				let after: Position | null = part.start;
				while (after) {
					const [[scanned, matched] = []]: Row[] = await part.count(after);
					count += Number(matched);
					if (Number(scanned) < MAX_COUNTED_ROWS) break;
					const [[next] = []]: Row[] = await part.uncounted(after);
					after = typeof next === "string" ? next.split(" ") : null;
				}
			}
			return count;
		},

		async page(scan, after) {
			const { parts, split, convert } = prepared.get(scan) ?? prepare(scan);
			prepared.set(scan, { parts, split, convert });
			const [number = "0", ...position] = after ?? [];
			return pageOf(Number(number), position);

			/** Reads a page of a part, and after the last one the next part's first if that fits. */
			async function pageOf(number: number, position: Position): ReturnType<Table["page"]> {
				const part = parts[number];
				if (!part) return { rows: [], next: null };
				const from = position.length > 0 ? position : part.start;
				let [next, ...rows] = await part.texts(from);
				const wholeRows = rows.map(split).filter((row) => row !== null);
				if (wholeRows.length === rows.length) rows = wholeRows;
				else [next, ...rows] = await part.rows(from);
				rows = rows.map(convert);
				const [place] = next ?? [];
				if (typeof place === "string") return { rows, next: [String(number), ...place.split(" ")] };
				const following = await pageOf(number + 1, []);
				return rows.length + following.rows.length <= MAX_PAGE_ROWS
					? { rows: [...rows, ...following.rows], next: following.next }
					: { rows, next: [String(number + 1)] };
			}
		},
	});
};
