import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Column, Row } from "../../src/exports/query/rows.ts";
import { destinationOf, job } from "../support/exporting.ts";

/** Compares rows as JSON, because `toEqual` takes long. It shows the first that differs. */
export function expectRows(found: unknown[], expected: unknown[]) {
	expect(found.length).toBe(expected.length);
	const at = expected.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(found[i]));
	expect(found[at]).toEqual(expected[at]);
	expect(at).toBe(-1);
}

/** The file that an export writes of the rows, in pages of `size`, and its media type. */
export async function written(config: object, columns: Column[], rows: Row[], size = rows.length) {
	const prefix = crypto.randomUUID();
	const destination = destinationOf(env, "R2", { prefix, ...config });
	const what = job({ columns });
	const sink = await destination.open(what, null, async () => {});
	for (let from = 0; from < rows.length; from += size)
		await sink.write(rows.slice(from, from + size));
	const { files: [key = ""] = [] } = await sink.close();
	const object = await env.EXPORTS.get(key);
	if (!object) throw new Error(`There is no ${key}.`);
	return {
		key,
		type: object.httpMetadata?.contentType,
		file: new Uint8Array(await object.arrayBuffer()),
	};
}

const LONG = 'lång, "text" 日本語 😀\r\n'.repeat(20_000);

/** Texts that are hard to write. */
export const TEXTS = [
	"plain",
	"",
	" padded ",
	'"',
	'a "quote"',
	"a, comma",
	"a\nline",
	"a\r\nline",
	"a lone \r return",
	"\n",
	"tab\there",
	"=1+1",
	"+1",
	"@SUM(A1)",
	"-",
	"null",
	"NULL",
	"\\N",
	"\\",
	"#comment",
	"'",
	";",
	"x\ufeff",
	"日本語 😀 \u2028 ünï",
	LONG,
	null,
];

/** A column of each kind. */
export const COLUMNS: Column[] = [
	{ name: "id", kind: "integer" },
	{ name: "text", kind: "text" },
	{ name: "few", kind: "json" },
	{ name: "number", kind: "number" },
	{ name: "boolean", kind: "boolean" },
	{ name: "timestamp", kind: "timestamp" },
	{ name: "day", kind: "date" },
];
const times = [
	"2024-02-29T12:34:56.789Z",
	"2024-02-29T12:34:00.001Z",
	"1969-12-31T23:59:59.999Z",
	"0001-01-01T00:00:00.000Z",
	"9999-12-31T23:59:59.999Z",
];
const texts = [...TEXTS, "half a pair: \ud83e", "\ud83e", "\0"];
/** Row `i`, with values that are hard to write. */
export const row = (i: number): Row => {
	const at = times[i % times.length] ?? "";
	return [
		(i % 2 ? -1 : 1) * (2 ** 53 - i),
		texts[i] ?? `text ${i}`,
		i % 3 ? `{"n":${i % 7}}` : null,
		i / 8,
		i % 5 ? i % 2 === 0 : null,
		i % 11 ? at : null,
		i % 13 ? at.slice(0, 10) : null,
	];
};

/** Columns of a Parquet file, and SQL for the statistics that it has of them. */
export const STATISTICS: { columns: Column[]; metadata: string } = {
	columns: [
		{ name: "name", kind: "text" },
		{ name: "properties", kind: "json" },
		{ name: "n", kind: "integer" },
		{ name: "padding", kind: "text" },
	],
	metadata: `select row_group_num_rows as rows, path_in_schema as name, stats_null_count as nulls,
		stats_min_value as min, stats_max_value as max, min_is_exact, max_is_exact
		from parquet_metadata(PATH) order by row_group_id, column_id`,
};
