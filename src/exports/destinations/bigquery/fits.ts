import type { Kind } from "../../query/expression.ts";
import { documents } from "../fit/json.ts";
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
	matching,
	ofKind,
	signed,
	texts,
	times,
} from "../fit/values.ts";
import type { Field } from "./client.ts";

/** Digits of a second. */
const MICROSECONDS = 6;

/** Digits of NUMERIC and BIGNUMERIC, and how many of them are after the decimal point. */
const NUMERIC = { precision: 38, scale: 9 };
const BIGNUMERIC = { precision: 76, scale: 38 };

/** A precision without a scale is one of integers. */
function numerics({ precision, scale }: Field, most: typeof NUMERIC): Fit {
	if (precision === undefined) return decimals(most.precision, most.scale);
	return decimals(precision, scale ?? 0);
}

/** A date and a time without a zone: that of UTC. */
function dateTimes(kind: Kind): Fit {
	const fit = times(kind, ALL_YEARS, MICROSECONDS);
	return (value, lose) => {
		const time = fit(value, lose);
		return time === undefined ? undefined : String(time).slice(0, -1);
	};
}

function scalarFit(field: Field, kind: Kind): Fit | null {
	switch (field.type) {
		case "INTEGER":
		case "INT64":
			return signed(64);
		case "FLOAT":
		case "FLOAT64":
			return floats(DOUBLE);
		case "NUMERIC":
			return numerics(field, NUMERIC);
		case "BIGNUMERIC":
			return numerics(field, BIGNUMERIC);
		case "BOOLEAN":
		case "BOOL":
			return booleans;
		case "TIMESTAMP":
			return times(kind, ALL_YEARS, MICROSECONDS);
		case "DATETIME":
			return dateTimes(kind);
		case "DATE":
			return days(kind, ALL_YEARS);
		case "TIME":
			return matching(/^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?$/);
		default:
			return null;
	}
}

/**
 * Returns what a column holds of the values of a kind; null if it holds all of them, or if BigQuery
 * rejects what it can't hold.
 */
export function fitOf(field: Field, kind: Kind): Fit | null {
	const { type, maxLength } = field;
	if (type === "JSON") return kind === "json" ? documents() : null;
	if (type === "STRING" || type === "BYTES") {
		const sizeOf = type === "BYTES" ? byteLength : characters;
		return maxLength === undefined ? null : texts(maxLength, sizeOf);
	}
	const fit = scalarFit(field, kind);
	return fit && ofKind(kind, fit);
}
