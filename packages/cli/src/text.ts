/** Text for terminals. */
import stringWidth from "string-width";

const CODES = { bold: 1, red: 31 };

/** Colours text if the stream is a terminal that wants colours (https://no-color.org). */
export function paint(style: keyof typeof CODES, text: string, { isTTY }: { isTTY: boolean }) {
	const { NO_COLOR, TERM } = process.env;
	return isTTY && !NO_COLOR && TERM !== "dumb" ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text;
}

/** One line without control characters, which could do anything to a terminal. */
const clean = (text: string) =>
	text.replace(/\s+/g, " ").replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, "�");

/** A value in a table. */
export function cell(value: unknown) {
	if (value === null || value === undefined) return "";
	return clean(typeof value === "object" ? JSON.stringify(value) : String(value));
}

const segmenter = new Intl.Segmenter();

/** Shortens text to a number of terminal columns. */
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
 * The widths of columns in a terminal. The widest give way, then those on the right are left out.
 * The first stays, as it is what other commands need.
 */
function fit([first = 0, ...others]: number[], available: number) {
	while (others.length > 0 && sum([first, ...others]) > available) {
		const widest = Math.max(...others);
		if (widest > MIN_WIDTH) others[others.indexOf(widest)] = widest - 1;
		else others.pop();
	}
	return [first, ...others];
}

/** Lines of columns. */
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
