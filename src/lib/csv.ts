/** Comma-separated values (RFC 4180). */

/** The value of a field. Null is an empty field, and the empty string is `""`. */
export type Cell = string | number | boolean | bigint | null;

/** Matches values to quote, also for programs that use semicolons or tabs. */
const NEEDS_QUOTES = /[",;\t\r\n]|^$/;

function field(value: Cell) {
	if (value === null) return "";
	const text = String(value);
	return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Formats a record, including its line break. */
export const record = (values: Cell[]) => `${values.map(field).join()}\r\n`;

/**
 * Matches where text begins that spreadsheets would treat as a formula. In a spreadsheet that
 * separates fields with semicolons or tabs, only a quote at the start of such a field counts, so a
 * field can begin after each of them, and after a line break.
 */
const FORMULA =
	/^(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])|(?<=[;\t\r\n])(?=[" ]*[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

/** Adds a `'` before what spreadsheets read as a formula (docs/events.md#downloads). */
export const withoutFormula = (value: Cell) =>
	typeof value === "string" ? value.replace(FORMULA, "'") : value;
