import { Misconfigured } from "../../destinations/destination.ts";
import type { Model } from "../../rows.ts";
import type { Position } from "../source.ts";
import type { Order } from "./order.ts";

/** What is known of a selection's rows before they are read. */
export type Survey = {
	count: number;
	/** Whether no row has copies. */
	isUnique: boolean;
	/** All days that the order's first part has in these rows; null: they are too many, or that part has no days. */
	days: string[] | null;
};

/** Where reading goes on: after the row that has these values in the order's parts; none: with the first row. */
export type Place = Pick<Survey, "isUnique" | "days"> & { values: string[] };

const UNIQUE = "unique";
const COPIES = "copies";

export const positionOf = (order: Order, { isUnique, days, values }: Place): Position => [
	order.sql,
	isUnique ? UNIQUE : COPIES,
	days?.join() ?? "",
	...values,
];

/** @throws where the table's rows are in another order now */
export function placeOf(model: Model, order: Order, position: Position): Place {
	const [sql, mode, days, ...values] = position;
	if (sql !== order.sql || values.length !== order.parts.length)
		throw new Misconfigured(
			`ClickHouse: the rows of the table ${model} are in another order than when the run began. Retry the run from its start.`,
		);
	return {
		isUnique: mode === UNIQUE,
		days: days ? days.split(",") : null,
		values,
	};
}
