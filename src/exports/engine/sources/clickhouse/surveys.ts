import { orderOf } from "../bounds.ts";
import type { Scan } from "../source.ts";
import type { Client } from "./client.ts";
import { type Order, orderBy, type Survey, splitKey } from "./order.ts";
import { MAX_DAYS, surveySql } from "./statements.ts";

/** Returns cached facts about tables and scans. Each is queried once. */
export function surveys({ askAll }: Client) {
	const orders = new Map<string, Order>();
	const surveys = new Map<string, Survey>();

	/** Finds the order of a model's table. A view has no sorting key, so it is read by time. */
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

	return { findOrder, survey };
}
