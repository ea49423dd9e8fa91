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

/** Shorter than the request's timeout, so that ClickHouse itself gives up first. */
const QUERY_SECONDS = 50;
const REQUEST_TIMEOUT_MS = 60_000;

/** A query whose rows are read page by page may take longer than a step of a run. */
const STREAM_SECONDS = 600;

type Access = {
	url: string;
	username: string;
	password: string;
	database: string;
};

/** A row of a query's result. */
type Found = { values: string[]; size: number; row: Row };

/** The rows of a query that remain after a page. */
type Rest = { scan: Scan; position: string; items: Items<Found> };

/**
 * Reads the ClickHouse tables `events` and `persons`, which have the same columns as in D1. Rows are read in the order of the
 * table's sorting key. One query serves many pages, because a query for each page would read the same granules again.
 */
export function clickhouse({ url, username, password, database }: Access): Source {
	if (!URL.canParse(url)) throw new Error("CLICKHOUSE_URL is not a valid URL.");
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

	/** The rows of a query, in batches as they arrive. */
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
			const message = error instanceof Error ? error.message : String(error);
			// The message may quote the request.
			throw new Error(`ClickHouse: ${hide(message).slice(0, 500)}`);
		}
	}

	const askAll = async (sql: string, params: Record<string, unknown>) =>
		(await Array.fromAsync(ask(sql, params))).flat();

	/** The order of a model's table. A view has no sorting key and is read by time. */
	async function findOrder(scan: Scan): Promise<Order> {
		const { model } = scan;
		const { at, key } = orderOf(scan);
		const cached = orders.get(`${model} ${at}`);
		if (cached) return cached;
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

	/** Surveys the rows of a scan, regardless of its columns and filters. */
	async function survey(scan: Scan): Promise<Survey> {
		const { columns: _, filters: __, weights: ___, ...rows } = scan;
		const selection = JSON.stringify(rows);
		const cached = surveys.get(selection);
		if (cached) return cached;
		const { sql, params } = surveySql(scan, await findOrder(scan));
		const [[count, isUnique, days] = []] = await askAll(sql, params);
		const hasDays = Array.isArray(days) && days.length > 0 && days.length <= MAX_DAYS;
		const survey = {
			count: Number(count),
			isUnique: isUnique === 1,
			days: hasDays ? days.map(String) : null,
		};
		surveys.set(selection, survey);
		return survey;
	}

	/** The rows after a place, in order. If a query breaks off after some rows, another one reads the rest. */
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

	/** The rows from a place on. If the last page ended there, its query is continued. */
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
				items.advance();
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
