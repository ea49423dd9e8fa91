/** Prints results to stdout. */
import { Option } from "commander";
import { streams } from "./context.ts";
import { cell, columns, paint } from "./text.ts";

export type Values = Record<string, unknown>;

export const isObject = (value: unknown): value is Values =>
	typeof value === "object" && value !== null;

export const jsonOption = () => new Option("--json", "print JSON");

/** Escapes the control characters that `JSON.stringify` doesn't escape. */
const escaped = (json: string) =>
	json.replace(
		/[\x7f-\x9f]/g,
		(character) => `\\u00${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
	);

/** Writes to stdout, and waits if the reader is slow. After an error, main.ts ends the program. */
export const write = (text: string) =>
	new Promise<void>((resolve) => {
		streams().stdout.write(text, (error) => {
			if (!error) resolve();
		});
	});

export const json = (value: unknown) => write(`${escaped(JSON.stringify(value, null, 2))}\n`);

/** Prints one line of NDJSON. */
export const line = (value: unknown) => write(`${escaped(JSON.stringify(value))}\n`);

/** Returns the width of the terminal; undefined if stdout isn't one. Some terminals report 0. */
function available() {
	const { isTTY, columns } = streams().stdout;
	return isTTY ? columns || 80 : undefined;
}

/** Returns the value at a path such as `user.email`. */
const at = (item: unknown, path: string) =>
	path
		.split(".")
		.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), item);

/** Names that are too long for the head of a column, or unclear there. */
const HEADS: Record<string, string> = {
	membership_level: "level",
	records_completed: "records",
	records_total_count: "expected",
	data_interval_start: "from",
	data_interval_end: "to",
	"latest_runs.0.status": "last run",
	"latest_runs.0.latest_error": "last error",
	"undelivered.windows": "undelivered",
};

const shortName = (field: string) =>
	HEADS[field] ?? field.replace(/\.email$|_at$|_enabled$/, "").replace(/^is_/, "");

/** Returns a different head for each field, such as `CREATED` for `created_at`. */
export function headsOf(fields: string[]) {
	const names = fields.map(shortName);
	return fields.map((field) => {
		const name = shortName(field);
		const isUnique = names.indexOf(name) === names.lastIndexOf(name);
		return (isUnique ? name : field).replace(/[_.]/g, " ").toUpperCase();
	});
}

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d+)?Z$/;

/** Shortens a time to minutes, or to seconds in a log. */
const shortTime = (text: string, field: string) =>
	text.replace(TIME, field === "timestamp" ? "$1 $2$3" : "$1 $2");

/**
 * Prints a table of these fields, the most important first, without empty columns. In a terminal,
 * it fits into its width, and times are short.
 * @param chosen the fields to show instead, also if they are empty
 */
export async function table(items: unknown[], fields: string[], chosen?: string[]) {
	const filled = fields.filter((field) =>
		items.some((item) => {
			const value = at(item, field);
			return value !== null && value !== undefined && value !== "" && typeof value !== "object";
		}),
	);
	const shown = chosen ?? filled;
	const width = available();
	const rows = items.map((item) =>
		shown.map((field) => {
			const text = cell(at(item, field));
			return width === undefined ? text : shortTime(text, field);
		}),
	);
	const [head = "", ...lines] = columns([headsOf(shown), ...rows], width);
	if (items.length > 0)
		await write(`${[paint("bold", head, streams().stdout), ...lines].join("\n")}\n`);
}

/** The narrowest width of a value that is printed next to its name. */
const MIN_VALUE_WIDTH = 8;

/** Prints an object, one field per line. */
export async function record(value: unknown) {
	if (value === undefined) return;
	if (!isObject(value) || Array.isArray(value)) {
		await (typeof value === "string" ? write(value.replace(/\n?$/, "\n")) : json(value));
		return;
	}
	const rows = Object.entries(value).map(([name, inner]) => [name, cell(inner)]);
	const lines = columns(rows, available(), MIN_VALUE_WIDTH);
	if (rows.length > 0) await write(`${lines.join("\n")}\n`);
}
