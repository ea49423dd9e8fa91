import { MisconfiguredError } from "../../../../outbound/errors.ts";
import type { Model } from "../../rows.ts";
import type { Position } from "../source.ts";
import type { Order } from "./order.ts";

/** The result of a first query about a selection's rows. */
export type Survey = {
	count: number;
	/** Whether no row has copies. */
	isUnique: boolean;
	/** The days of the first part in these rows; null if too many, or if it isn't a time. */
	days: string[] | null;
};

/** The values of the order's parts after which reading continues. Empty: at the start. */
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
	return {
		isUnique: mode === UNIQUE,
		days: days ? days.split(",") : null,
		values,
	};
}
