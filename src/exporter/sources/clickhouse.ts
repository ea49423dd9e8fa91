import { createClient } from "@clickhouse/client-web";
import { redactor } from "../../auth/secrets.ts";
import type { Row } from "../rows.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_ROWS, orderOf } from "./bounds.ts";
import { Items, parseRows } from "./clickhouse/batches.ts";
import { type Order, orderBy, splitKey } from "./clickhouse/order.ts";
import { type Place, placeOf, positionOf, type Survey } from "./clickhouse/place.ts";
import { countSql, MAX_DAYS, ROWS_PER_QUERY, rowsSql, surveySql } from "./clickhouse/statements.ts";
import { queried } from "./queried.ts";
import type { Scan, Source } from "./source.ts";

/** ClickHouse gives up by itself before the request does. */
const QUERY_SECONDS = 50;
const REQUEST_TIMEOUT_MS = 60_000;

/** A query whose rows are read page by page ends later than a run's step. */
const STREAM_SECONDS = 600;

type Access = {
	url: string;
	username: string;
	password: string;
	database: string;
};

/** A row that a query answered. */
type Found = { values: string[]; size: number; row: Row };

/** What is left of a query's rows after a page. */
type Rest = { scan: Scan; position: string; items: Items<Found> };

/**
 * The rows of ClickHouse's tables `events` and `persons`, which have the columns of D1's. Rows are read in the order of a
 * table's own sorting key, by one query for many pages: a query of its own for each page would read the same marks anew.
 */
export function clickhouse({ url, username, password, database }: Access): Source {
	if (!URL.canParse(url)) throw new Error("CLICKHOUSE_URL is no address.");
	const hide = redactor([password]);
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
	const surveys = new Map<string, Survey>();
	let rest: Rest | undefined;

	/** The rows that a query answers, in batches as they arrive. */
	async function* ask(
		sql: string,
		params: Record<string, unknown>,
		max_execution_time = QUERY_SECONDS,
	): AsyncGenerator<Row[]> {
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

	const askAll = async (sql: string, params: Record<string, unknown>) =>
		(await Array.fromAsync(ask(sql, params))).flat();

	/** The order of a model's table; of a view, which has none, by time. */
	async function findOrder(scan: Scan): Promise<Order> {
		const { model } = scan;
		const { at, key } = orderOf(scan);
		const known = orders.get(`${model} ${at}`);
		if (known) return known;
		const [table] = await askAll(
			"select sorting_key from system.tables where database = currentDatabase() and name = {model:String}",
			{ model },
		);
		const expressions = splitKey(String(table?.[0] || `team_id, ${at}`));
		const list = [...expressions, key].map((sql, i) => `${sql} as k${i}`);
		const columns = await askAll(`describe table (select ${list.join(", ")} from ${model})`, {});
		const types = columns.map(([, type]) => String(type));
		const order = orderBy(expressions, types, key);
		orders.set(`${model} ${at}`, order);
		return order;
	}

	/** What is known of a scan's rows, whatever is read of them and filtered. */
	async function survey(scan: Scan): Promise<Survey> {
		const { columns: _, filters: __, weights: ___, ...rows } = scan;
		const name = JSON.stringify(rows);
		const known = surveys.get(name);
		if (known) return known;
		const { sql, params } = surveySql(scan, await findOrder(scan));
		const [[count, isUnique, days] = []] = await askAll(sql, params);
		const hasDays = Array.isArray(days) && days.length > 0 && days.length <= MAX_DAYS;
		const survey = {
			count: Number(count),
			isUnique: isUnique === 1,
			days: hasDays ? days.map(String) : null,
		};
		surveys.set(name, survey);
		return survey;
	}

	/** The rows after a place, in order. A query that breaks off after some of them is followed by one for the others. */
	async function* read(scan: Scan, order: Order, start: Place): AsyncGenerator<Found[], void> {
		const width = order.parts.length;
		let place = start;
		for (let isDone = false; !isDone; ) {
			const { sql, params } = rowsSql(scan, order, place);
			let rows = 0;
			try {
				for await (const batch of ask(sql, params, STREAM_SECONDS)) {
					const found = batch.map((row) => ({
						values: row.slice(0, width).map(String),
						size: Number(row[width]),
						row: row.slice(width + 1),
					}));
					const values = found.at(-1)?.values ?? place.values;
					place = { ...place, values };
					rows += found.length;
					yield found;
				}
				isDone = rows < ROWS_PER_QUERY;
			} catch (error) {
				if (rows === 0) throw error;
			}
		}
	}

	/** The rows of a page and of those that follow it: what the page before it left, where there is one. */
	async function itemsAt(scan: Scan, order: Order, place: Place) {
		const left = rest;
		rest = undefined;
		const position = JSON.stringify(positionOf(order, place));
		if (left?.scan === scan && left.position === position) return left.items;
		await left?.items.close();
		return new Items(read(scan, order, place));
	}

	return queried({
		async count(scan) {
			const { count, isUnique } = await survey(scan);
			if (count === 0 || scan.filters.length === 0) return count;
			const { sql, params } = countSql(scan, isUnique);
			const [[filtered] = []] = await askAll(sql, params);
			return Number(filtered);
		},

		async page(scan, after) {
			const order = await findOrder(scan);
			if (!after && (await survey(scan)).count === 0) return { rows: [], next: null };
			const place = after
				? placeOf(scan.model, order, after)
				: { ...(await survey(scan)), values: [] };
			const items = await itemsAt(scan, order, place);
			const rows: Row[] = [];
			let { values } = place;
			let size = 0;
			let found = await items.peek();
			while (found && rows.length < MAX_PAGE_ROWS) {
				size += found.size;
				if (rows.length > 0 && size > MAX_PAGE_BYTES) break;
				rows.push(found.row);
				values = found.values;
				items.skip();
				found = await items.peek();
			}
			const next = found ? positionOf(order, { ...place, values }) : null;
			if (next) rest = { scan, position: JSON.stringify(next), items };
			return { rows, next };
		},

		release() {
			rest?.items.close().catch(() => {});
			rest = undefined;
		},
	});
}
