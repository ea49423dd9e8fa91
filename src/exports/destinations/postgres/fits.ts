import { readDecimal } from "../../../lib/lossless_json.ts";
import type { Kind } from "../../query/expression.ts";
import type { Column } from "../../query/rows.ts";
import { decimalDocuments } from "../fit/json.ts";
import {
	ALL_YEARS,
	booleans,
	byteLength,
	characters,
	DOUBLE,
	days,
	decimals,
	type Fit,
	floats,
	integers,
	labels,
	matching,
	ofKind,
	SINGLE,
	signed,
	texts,
	times,
} from "../fit/values.ts";

/**
 * A column's type. `name`: its name in `pg_type`, for a domain that of its base type. `modifier`:
 * its length or precision, as `pg_attribute` has it, or -1. `labels`: those of an enum.
 */
export type ColumnType = { name: string; modifier: number; labels: string[] | null };

/** The length of the header that the modifiers of numeric, varchar and char include. */
const HEADER = 4;

/** The maximum digits of a numeric before and after its decimal point. */
const MAX_WHOLE_DIGITS = 131_072;
const MAX_FRACTION_DIGITS = 16_383;

/** Digits of a second, if the type doesn't say how many. */
const MICROSECONDS = 6;

/** Digits of a second in the times of events. */
const MILLISECONDS = 3;

/** Numbers with any digits that PostgreSQL stores. */
const numbers: Fit = (value) => {
	const decimal = typeof value === "boolean" ? undefined : readDecimal(String(value));
	const isStored =
		decimal !== undefined &&
		decimal.digits.length + decimal.power <= MAX_WHOLE_DIGITS &&
		-decimal.power <= MAX_FRACTION_DIGITS;
	return isStored ? value : undefined;
};

/** Precision and scale are in one modifier. The scale has 11 bits with a sign. */
function numerics(modifier: number): Fit {
	if (modifier < 0) return numbers;
	const both = modifier - HEADER;
	return decimals(both >> 16, (both << 21) >> 21);
}

const UUID = /^(?:[\da-f]{4}(?:-?[\da-f]{4}){7}|\{[\da-f]{4}(?:-?[\da-f]{4}){7}\})$/i;

const TIME =
	/^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.(\d{1,6}))?)?(Z|[+-](?:0\d|1[0-4])(?::[0-5]\d)?)?$/;

/** The time of a day, with as many digits of a second as the type has. */
function timesOfDay(modifier: number, hasZone: boolean): Fit {
	const digits = modifier < 0 ? MICROSECONDS : modifier;
	return (value) => {
		const [time, fraction = "", zone] = TIME.exec(String(value)) ?? [];
		return fraction.length <= digits && (hasZone || zone === undefined) ? time : undefined;
	};
}

/** Texts as bytes in UTF-8. Otherwise, a backslash would begin the code of a byte. */
const bytes: Fit = (value) => String(value).replaceAll("\\", "\\\\");

/** Arrays in text without quotes, such as `{1.5,NULL}`. */
function arrays(name: string, modifier: number): Fit | null {
	const fit = fitOf({ name, modifier, labels: null }, "text");
	if (fit === null) return null;
	return (value, lose) => {
		const [, list] = /^\{([^{}"\\]*)\}$/.exec(String(value)) ?? [];
		if (list === undefined || list === "") return list === "" ? value : undefined;
		const fitted = list.split(",").map((one) => (/^null$/i.test(one) ? one : fit(one, lose)));
		return fitted.includes(undefined) ? undefined : `{${fitted.join(",")}}`;
	};
}

function scalarFit({ name, modifier, labels: names }: ColumnType, kind: Kind): Fit | null {
	const isTime = kind === "timestamp" || kind === "date";
	if (names) return labels(names);
	switch (name) {
		case "int2":
			return signed(16);
		case "int4":
			return signed(32);
		case "int8":
			return kind === "integer" ? null : signed(64);
		case "oid":
			return integers(0n, 2n ** 32n - 1n);
		case "float4":
			return floats(SINGLE);
		case "float8":
			return kind === "number" ? null : floats(DOUBLE);
		case "numeric":
			return modifier < 0 && (kind === "integer" || kind === "number") ? null : numerics(modifier);
		case "money":
			return decimals(18, 2);
		case "bool":
			return kind === "boolean" ? null : booleans;
		case "uuid":
			return matching(UUID);
		case "date":
			return isTime ? null : days(kind, ALL_YEARS);
		case "timestamp":
		case "timestamptz":
			return isTime && (modifier < 0 || modifier >= MILLISECONDS)
				? null
				: times(kind, ALL_YEARS, modifier < 0 ? MICROSECONDS : modifier);
		case "time":
			return timesOfDay(modifier, false);
		case "timetz":
			return timesOfDay(modifier, true);
		default:
			return null;
	}
}

/** The texts that a type holds: all of them, unless it has a maximum length. */
function textFit({ name, modifier }: ColumnType): Fit | null {
	switch (name) {
		case "varchar":
		case "bpchar":
			return modifier < 0 ? null : texts(modifier - HEADER, characters);
		case "char":
			return texts(1, byteLength);
		case "name":
			return texts(63, byteLength);
		case "bytea":
			return bytes;
		default:
			return null;
	}
}

const JSON_TYPES = ["json", "jsonb"];

/** Returns the column as its values are written: as JSON only where the table has JSON or text. */
export function written(column: Column, type: ColumnType | undefined): Column {
	if (type === undefined) return column;
	if (JSON_TYPES.includes(type.name)) return { ...column, kind: "json" };
	const isScalar = column.kind === "json" && scalarFit(type, "text") !== null;
	return isScalar ? { ...column, kind: "text" } : column;
}

/**
 * Returns what a column of this type holds of the values of a kind; null if it holds all of them,
 * or if PostgreSQL rejects what it can't hold.
 */
export function fitOf(type: ColumnType, kind: Kind): Fit | null {
	if (type.name === "jsonb") return decimalDocuments;
	if (type.name.startsWith("_")) return arrays(type.name.slice(1), type.modifier);
	const fit = scalarFit(type, kind);
	return fit ? ofKind(kind, fit) : textFit(type);
}
