/** Comma-separated values (RFC 4180). */

/** What a field can hold. Null is an empty field, and the empty text is `""`. */
export type Cell = string | number | boolean | bigint | null;

/** What can't stand in a field without quotes. */
const NEEDS_QUOTES = /[",\r\n]|^$/;

function field(value: Cell) {
	if (value === null) return "";
	const text = String(value);
	return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A record with its line break. */
export const record = (values: Cell[]) => `${values.map(field).join()}\r\n`;

/** How a text begins that spreadsheets would take for a formula. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/u;

/**
 * For files that people open in a spreadsheet: text that would be a formula gets a `'` in front
 * (docs/events.md#downloads).
 */
export const withoutFormula = (value: Cell) =>
	typeof value === "string" && FORMULA.test(value) ? `'${value}` : value;
