import { kindOf } from "../../query/expression.ts";
import type { Row } from "../../query/rows.ts";
import { toInteger } from "../evaluate/numbers.ts";
import { MAX_PAGE_BYTES, MAX_PAGE_ROWS } from "./bounds.ts";
import { Items } from "./clickhouse/batches.ts";
import { type Access, type Client, connect } from "./clickhouse/client.ts";
import { type Order, type Place, placeOf, positionOf } from "./clickhouse/order.ts";
import { countSql, ROWS_PER_QUERY, rowsSql } from "./clickhouse/statements.ts";
import { surveys } from "./clickhouse/surveys.ts";
import { queried } from "./queried.ts";
import type { Scan, Source } from "./source.ts";

/** The timeout of a query whose rows are read page by page. */
const STREAM_SECONDS = 600;

type Found = { values: string[]; size: number; row: Row };

type Rest = { scan: Scan; position: string; items: Items<Found> };

/** Reads the rows after a place, in order. If a query fails midway, another reads the rest. */
async function* read(
	ask: Client["ask"],
	scan: Scan,
	order: Order,
	start: Place,
): AsyncGenerator<Found[], void> {
	const width = order.parts.length;
	const integers = scan.columns.flatMap((name, i) =>
		kindOf({ type: "column", name }) === "integer" ? [i] : [],
	);
	/** Returns the values of the columns. Integers arrive as text, because JSON would lose digits. */
	const rowOf = (values: Row) => {
		for (const i of integers) values[i] = toInteger(values[i] ?? null);
		return values;
	};
	let place = start;
	for (let isDone = false; !isDone; ) {
		const { sql, params } = rowsSql(scan, order, place);
		let rows = 0;
		try {
			for await (const batch of ask(sql, params, STREAM_SECONDS)) {
				const found = batch.map((row) => ({
					values: row.slice(0, width).map(String),
					size: Number(row[width]),
					row: rowOf(row.slice(width + 1)),
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

/**
 * Reads the ClickHouse tables `events` and `persons`, which have the same columns as in D1. Rows
 * are read in the order of the table's sorting key. One query serves many pages, because a query
 * for each page would read the same granules again.
 */
export function clickhouse(access: Access): Source {
	const client = connect(access);
	const { ask, askAll } = client;
	const { findOrder, survey } = surveys(client);
	let rest: Rest | undefined;

	/** Returns the rows from a place on. If the last page ended there, continues its query. */
	async function itemsAt(scan: Scan, order: Order, place: Place) {
		const left = rest;
		rest = undefined;
		const position = JSON.stringify(positionOf(order, place));
		if (left?.scan === scan && left.position === position) return left.items;
		await left?.items.close();
		return new Items(read(ask, scan, order, place));
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
