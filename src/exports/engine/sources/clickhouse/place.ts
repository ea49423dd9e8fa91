import { MisconfiguredError } from "../../../../outbound/errors.ts";
import type { Model } from "../../rows.ts";
import type { Position } from "../source.ts";
import type { Order } from "./order.ts";

/** The result of a first query about a selection's rows. */
export type Survey = {
	count: number;
	/** Whether no row has copies. */
	isUnique: boolean;
	/** The days of the order's first part; null if they are too many, or it isn't a time. */
	days: string[] | null;
};

/** Where reading continues: after the row with these values; empty for the first row. */
export type Place = Pick<Survey, "isUnique" | "days"> & { values: string[] };

const UNIQUE = "unique";
const COPIES = "copies";

export const positionOf = (order: Order, { isUnique, days, values }: Place): Position => [
	order.sql,
	isUnique ? UNIQUE : COPIES,
	days?.join() ?? "",
	...values,
];

/** @throws MisconfiguredError if the table's order has changed */
export function placeOf(model: Model, order: Order, position: Position): Place {
	const [sql, mode, days, ...values] = position;
	if (sql !== order.sql || values.length !== order.parts.length)
		throw new MisconfiguredError(
			`ClickHouse: the order of the table ${model} has changed since the run began. Retry the run from its start.`,
		);
	return { isUnique: mode === UNIQUE, days: days ? days.split(",") : null, values };
}
