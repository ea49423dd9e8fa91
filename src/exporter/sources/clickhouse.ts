import { createClient } from "@clickhouse/client-web";
import { hiding } from "../../auth/secrets.ts";
import { Misconfigured } from "../destinations/destination.ts";
import type { Model } from "../rows.ts";
import { MOST_BYTES, MOST_ROWS, orderOf, typedRows, weight } from "./bounds.ts";
import { parseRows } from "./clickhouse/lines.ts";
import {
	isAfter,
	type Order,
	orderBy,
	type Part,
	parametersOf,
	splitKey,
	textOf,
} from "./clickhouse/order.ts";
import type { Position, Selection, Source } from "./source.ts";
import { columnsForClickHouse } from "./sql.ts";

/** ClickHouse gives up by itself before the request does. */
const QUERY_SECONDS = 50;
const REQUEST_TIMEOUT_MS = 60_000;

/** A query whose rows are read page by page ends later than a run's step. */
const STREAM_SECONDS = 600;

/** A query answers the rows of many pages: each query reads some thousands of rows beside those that it answers. */
const ROWS_PER_QUERY = 100 * MOST_ROWS;

/** Beyond so many days, rows are not looked for by day. */
const MAX_DAYS = 100;

type Access = {
	url: string;
	username: string;
	password: string;
	database: string;
};

/**
 * Which of a row's copies is the row: the greatest. Of events the latest to arrive, of persons the highest version. What
 * follows makes each copy comparable with each other one.
 */
const VERSIONS: Record<Model, string> = {
	events:
		"tuple(_inserted_at, timestamp, created_at, cityHash64(event, distinct_id))",
	persons: "tuple(person_version, _inserted_at, created_at)",
};

/** Tells copies apart that are alike in version and order. */
const CONTENT: Record<Model, string> = {
	events:
		"cityHash64(properties, person_properties, coalesce(toString(person_id), ''), elements_chain)",
	persons: "cityHash64(properties, coalesce(toString(person_id), ''))",
};

/** A moment in a parameter, as precise as any column. */
const moment = (name: string) =>
	`parseDateTime64BestEffort({${name}:String}, 9, 'UTC')`;

/**
 * The selection's bounds on a moment. The upper one is closed: the index by day can't tell "before midnight" from "until
 * midnight", and would have the next day read.
 */
const isInWindow = (at: string) =>
	`${at} >= ${moment("start")} and ${at} <= ${moment("end")} - toIntervalNanosecond(1)`;

/** The rows of the selection, which may be copies of each other. */
function selected(selection: Selection) {
	const filter =
		selection.model === "events"
			? ` and (empty({include_events:Array(String)}) or has({include_events:Array(String)}, event))
				and not has({exclude_events:Array(String)}, event)`
			: "";
	return `team_id = {team_id:Int64} and ${isInWindow(orderOf(selection).at)}${filter}`;
}

/**
 * The rows among which a row's copies are looked for. Of an event, those of the selection, so that each window yields it
 * once in which a copy arrived. Of a person all, so that only the window yields it in which its newest version arrived.
 */
const competing = (selection: Selection) =>
	selection.model === "events"
		? selected(selection)
		: "team_id = {team_id:Int64}";

/** What is known of a selection's rows before they are read. */
type Survey = {
	count: number;
	/** Whether no row has copies. */
	isUnique: boolean;
	/** The only days that the first part of the order has in these rows; null: they are too many, or it has no days. */
	days: string[] | null;
};

/** Where reading goes on, as a position has it. */
type Place = Pick<Survey, "isUnique" | "days"> & { values: string[] };

const UNIQUE = "unique";
const COPIES = "copies";

/** How many members of a position stand before the values of its row. */
const HEAD = 3;

const positionOf = (order: Order, { isUnique, days, values }: Place) => [
	order.sql,
	isUnique ? UNIQUE : COPIES,
	days?.join() ?? "",
	...values,
];

function placeOf(model: Model, order: Order, position: Position): Place {
	const [sql, mode, days] = position;
	const values = position.slice(HEAD);
	if (sql !== order.sql || values.length !== order.parts.length)
		throw new Misconfigured(
			`ClickHouse: the sorting key of the table ${model} was changed since the run began. Retry the run from its start.`,
		);
	return {
		isUnique: mode === UNIQUE,
		days: days ? days.split(",") : null,
		values,
	};
}

/** SQL for the day of a part's value; undefined: it has none. */
const dayOf = (part: Part | undefined) => {
	if (part?.type === "Date") return part.sql;
	return part?.type.startsWith("DateTime") ? `toDate(${part.sql})` : undefined;
};

/** Answers a survey's members. */
function surveySql(selection: Selection, order: Order) {
	const { model } = selection;
	const { at, key } = orderOf(selection);
	if (model === "persons")
		return `select countIf(${isInWindow(at === "_inserted_at" ? "newest.2" : "newest.3")}), sum(copies) = count(), []
			from (
				select max(${VERSIONS.persons}) as newest, count() as copies
				from persons where ${competing(selection)} group by ${key}
			)`;
	const day = dayOf(order.parts[0]);
	const days = day ? `groupUniqArray(${MAX_DAYS + 1})(toString(${day}))` : "[]";
	return `select uniqExact(${key}) as found, count() = found, ${days} from events where ${selected(selection)}`;
}

/** Answers the rows behind a place: the values that say where each is, its size, and its fields. */
function rowsSql(
	selection: Selection,
	order: Order,
	{ isUnique, days, values }: Place,
) {
	const { model, fields } = selection;
	const { key } = orderOf(selection);
	const columns = columnsForClickHouse(fields);
	const day = days && dayOf(order.parts[0]);
	const rows = [
		selected(selection),
		day && `${day} in {days:Array(Date)}`,
		values.length > 0 && isAfter(order),
		!isUnique &&
			`(${key}, ${VERSIONS[model]}) in (
				select ${key}, max(${VERSIONS[model]}) from ${model} where ${competing(selection)} group by ${key})`,
	].filter(Boolean);
	const once = isUnique
		? `order by ${order.sql}`
		: `order by ${order.sql}, ${CONTENT[model]} limit 1 by ${key}`;
	return {
		sql: `select ${order.parts.map(textOf).join(", ")}, ${weight(fields, (column) => `length(${column})`)}, ${columns.sql}
			from ${model} where ${rows.join(" and ")} ${once} limit ${ROWS_PER_QUERY}`,
		params: {
			...columns.params,
			...parametersOf(values),
			...parametersFor(selection),
			days: days ?? [],
		},
	};
}

const parametersFor = (selection: Selection) => {
	const { team_id, start, end, include_events, exclude_events } = selection;
	return { team_id, start, end, include_events, exclude_events };
};

/** A row that a query answered. */
type Found = { values: string[]; size: number; row: unknown[] };

/** The rows behind a position, of which one was read already. */
type Reading = {
	selection: Selection;
	position: string;
	first: Found;
	rest: AsyncGenerator<Found, undefined>;
};

/**
 * The rows of ClickHouse's tables `events` and `persons`, which have the columns of D1's. Rows are read in the order of a
 * table's own sorting key, by one query for many pages: a query of its own for each page would read the same marks anew.
 */
export function clickhouse({
	url,
	username,
	password,
	database,
}: Access): Source {
	if (!URL.canParse(url)) throw new Error("CLICKHOUSE_URL is no address.");
	const hide = hiding([password]);
	const client = createClient({
		url,
		username,
		password,
		database,
		application: "tenantry",
		request_timeout: REQUEST_TIMEOUT_MS,
		keep_alive: { enabled: false },
		clickhouse_settings: {
			output_format_json_quote_64bit_integers: 0,
			output_format_json_quote_denormals: 0,
		},
	});
	const orders = new Map<string, Order>();
	const surveys = new WeakMap<Selection, Survey>();
	let reading: Reading | undefined;

	/** The rows that a query answers, as they arrive. */
	async function* ask(
		sql: string,
		params: Record<string, unknown>,
		max_execution_time = QUERY_SECONDS,
	): AsyncGenerator<unknown[]> {
		try {
			const { stream } = await client.exec({
				query: `${sql} format JSONCompactEachRow`,
				query_params: params,
				clickhouse_settings: { max_execution_time },
			});
			yield* parseRows(stream);
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			// It may quote what it was asked, and how.
			throw new Error(`ClickHouse: ${hide(why).slice(0, 500)}`);
		}
	}

	/** The order of a model's table; of a view, which has none, by time. */
	async function findOrder(selection: Selection): Promise<Order> {
		const { model } = selection;
		const { at, key } = orderOf(selection);
		const known = orders.get(`${model} ${at}`);
		if (known) return known;
		const tables = await Array.fromAsync(
			ask(
				"select sorting_key from system.tables where database = currentDatabase() and name = {model:String}",
				{ model },
			),
		);
		const expressions = splitKey(String(tables[0]?.[0] || `team_id, ${at}`));
		const columns = await Array.fromAsync(
			ask(
				`describe table (select ${[...expressions, key].map((sql, i) => `${sql} as k${i}`).join(", ")} from ${model})`,
				{},
			),
		);
		const types = columns.map(([, type]) => String(type));
		const order = orderBy(expressions, types, key);
		orders.set(`${model} ${at}`, order);
		return order;
	}

	async function survey(selection: Selection): Promise<Survey> {
		const known = surveys.get(selection);
		if (known) return known;
		const sql = surveySql(selection, await findOrder(selection));
		const [found = []] = await Array.fromAsync(
			ask(sql, parametersFor(selection)),
		);
		const [count, isUnique, days] = found;
		const survey = {
			count: Number(count),
			isUnique: isUnique === 1,
			days:
				Array.isArray(days) && days.length > 0 && days.length <= MAX_DAYS
					? days.map(String)
					: null,
		};
		surveys.set(selection, survey);
		return survey;
	}

	/** The rows behind a place, in order; a query that breaks off after some of them is asked again for the others. */
	async function* read(
		selection: Selection,
		order: Order,
		start: Place,
	): AsyncGenerator<Found, undefined> {
		let place = start;
		for (;;) {
			const { sql, params } = rowsSql(selection, order, place);
			let rows = 0;
			try {
				for await (const found of ask(sql, params, STREAM_SECONDS)) {
					const n = order.parts.length;
					const values = found.slice(0, n).map(String);
					place = { ...place, values };
					rows += 1;
					yield { values, size: Number(found[n]), row: found.slice(n + 1) };
				}
			} catch (error) {
				if (rows === 0) throw error;
				continue;
			}
			if (rows < ROWS_PER_QUERY) return;
		}
	}

	return {
		async count(selection) {
			return (await survey(selection)).count;
		},

		async page(selection, after) {
			const { fields, model } = selection;
			const order = await findOrder(selection);
			if (!after && (await survey(selection)).count === 0)
				return { rows: [], unfit: 0, next: null };
			const place: Place = after
				? placeOf(model, order, after)
				: { ...(await survey(selection)), values: [] };
			const before = reading;
			reading = undefined;
			let rest: Reading["rest"];
			let found: Found | undefined;
			if (
				before?.selection === selection &&
				before.position === JSON.stringify(after)
			) {
				rest = before.rest;
				found = before.first;
			} else {
				await before?.rest.return(undefined);
				rest = read(selection, order, place);
				found = (await rest.next()).value;
			}
			const rows: unknown[][] = [];
			let size = 0;
			let { values } = place;
			while (
				found &&
				rows.length < MOST_ROWS &&
				(rows.length === 0 || size + found.size <= MOST_BYTES)
			) {
				rows.push(found.row);
				size += found.size;
				values = found.values;
				found = (await rest.next()).value;
			}
			const next = found ? positionOf(order, { ...place, values }) : null;
			if (found)
				reading = {
					selection,
					position: JSON.stringify(next),
					first: found,
					rest,
				};
			return { ...typedRows(fields, rows), next };
		},

		release() {
			reading?.rest.return(undefined).catch(() => {});
			reading = undefined;
		},
	};
}
