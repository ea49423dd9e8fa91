import type { Context } from "hono";
import { accepts } from "hono/accepts";
import type { App } from "../env.ts";
import { type Cell, record, withoutFormula } from "./csv.ts";
import { ApiError } from "./errors.ts";

/** What a request may ask for with `Accept` in place of a page of JSON (docs/events.md#downloads). */
export const MEDIA = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;

type Format = keyof typeof MEDIA;

/** All rows that a request's filters match. */
export type Download<Row> = {
	/** The file's name, to which the date and the format are added. */
	name: string;
	/** The columns of a CSV file, in their order. */
	columns: Record<string, (row: Row) => Cell>;
	/** A row in JSON lines. */
	toJson: (row: Row) => object;
	/** The rows, a page at a time; none of the pages is empty. A page is read when it is asked for. */
	pages: AsyncGenerator<Row[]>;
};

/** The format that `Accept` prefers; undefined for JSON. `*` stands for JSON. */
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

/**
 * Answers with a file of all rows if the request's `Accept` prefers one; otherwise undefined. A
 * route that uses it documents `download`.
 */
export async function download<Row>(c: Context<App>, open: () => Download<Row>) {
	c.header("Vary", "Accept", { append: true });
	const format = formatOf(c);
	return format && send(c, format, open());
}

/**
 * Sends the rows as they are read: the next page is read when the client has taken the one before.
 * An error before the first page is a response as ever; one after it breaks the transfer off, so
 * that no client takes a part for the whole.
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

/** Logs why a transfer was broken off, unless the caller lost its access. */
function report(c: Context<App>, error: unknown) {
	if (error instanceof ApiError) return;
	const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
	console.error(JSON.stringify({ request_id: c.var.requestId, error: text }));
}
