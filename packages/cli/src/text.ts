/** Formats text for terminals. */
import stringWidth from "string-width";
import { context } from "./context.ts";

const CODES = { bold: 1, red: 31 };

/** Colours text if the stream is a terminal and `NO_COLOR` isn't set (https://no-color.org). */
export function paint(style: keyof typeof CODES, text: string, { isTTY }: { isTTY?: boolean }) {
	const { NO_COLOR, TERM } = context().env;
	return isTTY && !NO_COLOR && TERM !== "dumb" ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** Returns text on one line without control characters, which could manipulate the terminal. */
const clean = (text: string) =>
	text.replace(/\s+/g, " ").replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "�");

/** Returns the text of a table cell. */
export function cell(value: unknown) {
	if (value === null || value === undefined) return "";
	return clean(typeof value === "object" ? JSON.stringify(value) : String(value));
}

const segmenter = new Intl.Segmenter();

/** Shortens text to a width in terminal columns. */
function shorten(text: string, width: number) {
	if (stringWidth(text) <= width) return text;
	let short = "";
	for (const { segment } of segmenter.segment(text)) {
		if (stringWidth(short + segment) > width - 1) break;
		short += segment;
	}
	return `${short}…`;
}

const pad = (text: string, width: number) => text + " ".repeat(width - stringWidth(text));

const GAP = 2;

/** The narrowest useful width of a column. A column that would be narrower is omitted. */
const MIN_WIDTH = 24;

const ID = /^[\da-f]{8}-[\da-f-]{27}$/;

type Column = {
	index: number;
	width: number;
	/** The width below which the column is omitted. */
	least: number;
	/** Whether it has ids, which are useless if they are shortened. */
	isId: boolean;
};

const sum = (widths: number[]) => widths.reduce((all, width) => all + width + GAP, -GAP);

/**
 * Fits columns into the terminal, the most important first: omits those without space, then
 * shortens the widest. Ids after the first column are shown only if nothing has to be shortened for
 * them.
 */
function fit(all: Column[], available: number) {
	const kept: Column[] = [];
	for (const column of all) {
		const needed = [...kept, column].map(({ width, least }) => (column.isId ? width : least));
		if (kept.length === 0 || sum(needed) <= available) kept.push(column);
	}
	while (sum(kept.map(({ width }) => width)) > available) {
		const [widest] = kept
			.filter(({ width, least }) => width > least)
			.sort((a, b) => b.width - a.width);
		if (!widest) break;
		widest.width -= 1;
	}
	return kept;
}

/**
 * Returns rows as lines of aligned columns. The first row has the heads, the first column what
 * other commands require.
 */
export function columns(
	rows: string[][],
	available = Number.POSITIVE_INFINITY,
	minWidth = MIN_WIDTH,
) {
	const [first = [], ...others] = rows;
	const all = first.map((_, index) => {
		const width = Math.max(...rows.map((row) => stringWidth(row[index] ?? "")));
		const isId = others.some((row) => ID.test(row[index] ?? ""));
		return { index, width, least: isId ? width : Math.min(width, minWidth), isId };
	});
	const kept = fit(all, available);
	return rows.map((row) =>
		kept
			.map(({ index, width }) => pad(shorten(row[index] ?? "", width), width))
			.join(" ".repeat(GAP))
			.trimEnd(),
	);
}
