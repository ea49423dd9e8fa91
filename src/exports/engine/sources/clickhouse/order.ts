import { MisconfiguredError } from "../../../../outbound/errors.ts";
import type { Model } from "../../../query/rows.ts";
import type { Position } from "../source.ts";

/** An expression that rows are ordered by, and the type of its values as query parameters. */
type Part = { sql: string; type: string };

/** The order in which a table's rows are read. */
export type Order = {
	sql: string;
	/** The same expressions without `team_id`. Rows equal in all parts are copies. */
	parts: Part[];
};

/** Splits a sorting key at the commas outside brackets and quotes. */
export function splitKey(key: string): string[] {
	const tokens = key.match(/'(?:\\.|''|[^'\\])*'|`[^`]*`|[(),]|[^'`(),]+/g);
	const expressions = [""];
	let depth = 0;
	for (const token of tokens ?? []) {
		if (token === "(") depth += 1;
		if (token === ")") depth -= 1;
		if (token === "," && depth === 0) expressions.push("");
		else expressions.push(`${expressions.pop()}${token}`);
	}
	return expressions.map((text) => text.trim()).filter((text) => text !== "");
}

/** The type of a query parameter; undefined for types that may be null or change as text. */
function parameterType(type: string): string | undefined {
	const plain = type.replace(/^LowCardinality\((.*)\)$/, "$1");
	const precision = /^DateTime64\((\d)/.exec(plain)?.[1];
	if (precision) return `DateTime64(${precision}, 'UTC')`;
	if (/^DateTime\b/.test(plain)) return "DateTime('UTC')";
	return /^(?:U?Int\d+|Date|Date32|String|UUID)$/.test(plain) ? plain : undefined;
}

/**
 * Returns the order of a table: the expressions of its sorting key up to the first that can't be a
 * query parameter, then the key of its rows.
 * @param expressions the expressions of the sorting key
 * @param types the types of `expressions` and, last, of `key`
 * @param key the column that identifies an event or a person
 */
export function orderBy(expressions: string[], types: string[], key: string): Order {
	const usable = expressions.map((sql, i) => ({ sql, type: parameterType(types[i] ?? "") }));
	const broken = usable.findIndex(({ type }) => type === undefined);
	const keyType = parameterType(types.at(-1) ?? "");
	const last = keyType
		? { sql: key, type: keyType }
		: { sql: `coalesce(toString(${key}), '')`, type: "String" };
	const parts = [...usable.slice(0, broken < 0 ? usable.length : broken), last].flatMap(
		({ sql, type }) => (type ? [{ sql, type }] : []),
	);
	const distinct = parts.filter(({ sql }, i) => parts.findIndex((part) => part.sql === sql) === i);
	return {
		sql: distinct.map(({ sql }) => sql).join(", "),
		parts: distinct.filter(({ sql }) => sql !== "team_id"),
	};
}

const parameter = (i: number) => `p${i}`;

/** SQL for a part's value as text, independent of the server's time zone. */
export const textOf = ({ sql, type }: Part) =>
	`toString(cast(${sql}, '${type.replaceAll("'", "\\'")}'))`;

/** SQL for the day of an order's first part; undefined if the part isn't a time. */
export function dayOf({ parts: [first] }: Order): string | undefined {
	if (first?.type === "Date") return first.sql;
	return first?.type.startsWith("DateTime") ? `toDate(${first.sql})` : undefined;
}

/** SQL condition: a row comes after the values. ClickHouse uses no index for tuples. */
export function isAfter({ parts }: Order): string {
	return parts.reduceRight((rest, { sql, type }, i) => {
		const value = `{${parameter(i)}:${type}}`;
		return rest === ""
			? `${sql} > ${value}`
			: `(${sql} > ${value} or (${sql} = ${value} and ${rest}))`;
	}, "");
}

export const parametersOf = (values: string[]) =>
	Object.fromEntries(values.map((value, i) => [parameter(i), value]));

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
