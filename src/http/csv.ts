/** Comma-separated values (RFC 4180). */

/** The value of a field. Null is an empty field, and the empty string is `""`. */
export type Cell = string | number | boolean | bigint | null;

/** Matches values that must be quoted. */
const NEEDS_QUOTES = /[",\r\n]|^$/;

function field(value: Cell) {
	if (value === null) return "";
	const text = String(value);
	return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats a record, including its line break. */
export const record = (values: Cell[]) => `${values.map(field).join()}\r\n`;

/** Matches text that spreadsheets would treat as a formula. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u;

/**
 * Adds a `'` before text that spreadsheets would treat as a formula, for files that people open in
 * one (docs/events.md#downloads).
 */
export const withoutFormula = (value: Cell) =>
	typeof value === "string" && FORMULA.test(value) ? `'${value}` : value;
