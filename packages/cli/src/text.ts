/** Formats text for terminals. */
import stringWidth from "string-width";

const CODES = { bold: 1, red: 31 };

/** Colours text if the stream is a terminal and `NO_COLOR` isn't set (https://no-color.org). */
export function paint(style: keyof typeof CODES, text: string, { isTTY }: { isTTY: boolean }) {
	const { NO_COLOR, TERM } = process.env;
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
const MIN_WIDTH = 8;

const sum = (widths: number[]) => widths.reduce((all, width) => all + width + GAP, -GAP);

/**
 * Returns column widths that fit into the terminal. First the widest columns shrink, then the last
 * ones are omitted. The first column stays, because it has the id that other commands require.
 */
function fit([first = 0, ...others]: number[], available: number) {
	while (others.length > 0 && sum([first, ...others]) > available) {
		const widest = Math.max(...others);
		if (widest > MIN_WIDTH) others[others.indexOf(widest)] = widest - 1;
		else others.pop();
	}
	return [first, ...others];
}

/** Returns rows as lines of aligned columns. */
export function columns(rows: string[][], available = Number.POSITIVE_INFINITY) {
	const [first = []] = rows;
	const natural = first.map((_, index) =>
		Math.max(...rows.map((row) => stringWidth(row[index] ?? ""))),
	);
	const widths = fit(natural, available);
	return rows.map((row) =>
		widths
			.map((width, index) => pad(shorten(row[index] ?? "", width), width))
			.join(" ".repeat(GAP))
			.trimEnd(),
	);
}
