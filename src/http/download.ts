import type { Context } from "hono";
import { accepts } from "hono/accepts";
import type { App } from "../env.ts";
import { type Cell, record, withoutFormula } from "../lib/csv.ts";
import { logRequestError } from "../lib/log.ts";
import { ApiError } from "./errors.ts";

/** The media types of downloads (docs/events.md#downloads). */
export const MEDIA = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

type Format = keyof typeof MEDIA;

/** All rows that match the filters of a request. */
export type Download<Row> = {
	/** The file name, without the date and the extension. */
	name: string;
	/** The columns of a CSV file, in order. */
	columns: Record<string, (row: Row) => Cell>;
	/** Returns the object for a line of JSON Lines. */
	toJson: (row: Row) => object;
	/** Yields the rows in pages, none of which is empty. A page is read only when it is requested. */
	pages: AsyncGenerator<Row[]>;
};

/** Returns the format that `Accept` prefers; undefined for JSON. `*` means JSON. */
function formatOf(c: Context): Format | undefined {
	const json = "application/json";
	const media = accepts(c, {
		header: "Accept",
		supports: [json, ...Object.values(MEDIA)],
		default: json,
		match: (all, { supports, default: otherwise }) =>
			all
				.filter(({ q }) => q > 0)
				.sort((a, b) => b.q - a.q)
				.map(({ type }) => (type.includes("*") ? json : type.toLowerCase()))
				.find((type) => supports.includes(type)) ?? otherwise,
	});
	return media === MEDIA.csv ? "csv" : media === MEDIA.ndjson ? "ndjson" : undefined;
}

/** Returns a file of all rows if `Accept` prefers one. Document its routes with `download`. */
export async function download<Row>(c: Context<App>, open: () => Download<Row>) {
	c.header("Vary", "Accept", { append: true });
	const format = formatOf(c);
	return format && send(c, format, open());
}

/**
 * Sends the rows while they are read: the next page is read after the client has received the
 * previous one. An error on the first page results in a normal error response. Later errors abort
 * the transfer, so that no client takes a partial file for a complete one.
 */
async function send<Row>(
	c: Context<App>,
	format: Format,
	{ name, columns, toJson, pages }: Download<Row>,
): Promise<Response> {
	const write = { csv: csvOf(columns), ndjson: linesOf(toJson) }[format];
	const encoder = new TextEncoder();
	let head = format === "csv" ? record(Object.keys(columns)) : "";
	let first: IteratorResult<Row[]> | undefined = await pages.next();
	const body = new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				try {
					const { done, value } = first ?? (await pages.next());
					first = undefined;
					const text = head + (done ? "" : write(value));
					head = "";
					if (text !== "") controller.enqueue(encoder.encode(text));
					if (done) controller.close();
				} catch (error) {
					report(c, error);
					controller.error(error);
				}
			},
			async cancel() {
				await pages.return(undefined);
			},
		},
		{ highWaterMark: 0 },
	);
	const date = new Date().toISOString().slice(0, 10);
	return c.body(body, 200, {
		"Content-Type": format === "csv" ? `${MEDIA.csv}; charset=utf-8; header=present` : MEDIA.ndjson,
		"Content-Disposition": `attachment; filename="${name}-${date}.${format}"`,
	});
}

const csvOf =
	<Row>(columns: Download<Row>["columns"]) =>
	(rows: Row[]) =>
		rows
			.map((row) => record(Object.values(columns).map((cellOf) => withoutFormula(cellOf(row)))))
			.join("");

const linesOf =
	<Row>(toJson: Download<Row>["toJson"]) =>
	(rows: Row[]) =>
		rows.map((row) => `${JSON.stringify(toJson(row))}\n`).join("");

/** Logs why a transfer was aborted, unless the caller lost access. */
function report(c: Context<App>, error: unknown) {
	if (!(error instanceof ApiError)) logRequestError(c.var.requestId, error);
}
