import { env } from "cloudflare:workers";
import { parquetMetadata } from "hyparquet";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { jsonWriter } from "../../../src/exports/engine/formats/jsonlines.ts";
import type { Column, Row } from "../../../src/exports/engine/rows.ts";
import { destinationOf, duckdb, job, parquetReaders } from "../../support/exporting.ts";

const Kind = z.enum(["text", "json", "integer", "number", "boolean"]);

const columns: Column[] = [
	{ name: 'a "name"', kind: "text" },
	{ name: "properties", kind: "json" },
];

test.each<[string, Row, string]>([
	[
		"nests JSON as it stands",
		["x", '{"big":12345678901234567890}'],
		'{"big":12345678901234567890}',
	],
	[
		"makes one line of several, and keeps every digit",
		["x", '{\n"a": [\r\n12345678901234567890] }'],
		'{ "a": [ 12345678901234567890] }',
	],
	["keeps what is no JSON as text", ["x", '{"a'], '"{\\"a"'],
	["keeps JSON that is text", ["x", '"\\n"'], '"\\n"'],
	["says null", ["x", null], "null"],
])("a line %s", (_, row, properties) => {
	expect(jsonWriter(columns)(row)).toBe(`{"a \\"name\\"":"x","properties":${properties}}`);
});

/** Compares rows as JSON, because `toEqual` takes long. It shows the first that differs. */
function expectRows(found: unknown[], expected: unknown[]) {
	expect(found.length).toBe(expected.length);
	const at = expected.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(found[i]));
	expect(found[at]).toEqual(expected[at]);
	expect(at).toBe(-1);
}

/** The file that an export writes of the rows, in pages of `size`, and its media type. */
async function written(config: object, columns: Column[], rows: Row[], size = rows.length) {
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

const text = ({ file }: { file: Uint8Array }) => Buffer.from(file).toString();

const LONG = 'lång, "text" 日本語 😀\r\n'.repeat(20_000);

/** Texts that are hard to write. */
const TEXTS = [
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

describe("CSV", () => {
	test("follows RFC 4180", async () => {
		const columns: Column[] = [
			{ name: "text", kind: "text" },
			{ name: 'a "name"', kind: "json" },
			{ name: "a, name", kind: "number" },
			{ name: "integer", kind: "integer" },
			{ name: "boolean", kind: "boolean" },
			{ name: "timestamp", kind: "timestamp" },
			{ name: "day", kind: "date" },
		];
		const at = "2024-02-29T12:00:00.004Z";
		const day = "2024-02-29";
		expect(
			text(
				await written({ file_format: "CSV" }, columns, [
					["a", '{"n":12345678901234567890}', 1e300, 2 ** 53, true, at, day],
					["", "[1]", 0.1, -7, false, at, day],
					["b, c", "not JSON", -0.5, 0, true, at, day],
					[null, null, null, null, null, null, null],
				]),
			),
		).toBe(
			[
				'text,"a ""name""","a, name",integer,boolean,timestamp,day',
				`a,"{""n"":12345678901234567890}",1e+300,9007199254740992,true,${at},${day}`,
				`"",[1],0.1,-7,false,${at},${day}`,
				`"b, c",not JSON,-0.5,0,true,${at},${day}`,
				",,,,,,",
				"",
			].join("\r\n"),
		);
	});

	test.each([
		[null, "csv", "text/csv", "none"],
		["gzip", "csv.gz", "application/gzip", "gzip"],
		["zstd", "csv.zst", "application/zstd", "zstd"],
	])(
		"is read by DuckDB as it was, compressed with %s",
		async (compression, suffix, type, option) => {
			const columns: Column[] = [
				{ name: "id", kind: "integer" },
				{ name: 'a, "name"\r\n', kind: "text" },
			];
			const csv = await written(
				{ file_format: "CSV", compression },
				columns,
				TEXTS.map((text, i) => [i, text]),
				7,
			);
			expect(csv.key).toMatch(`Z.${suffix}`);
			expect(csv.type).toBe(type);
			expect(
				await duckdb(
					csv.file,
					`select * from read_csv(PATH, header = true, allow_quoted_nulls = false, compression = '${option}')
					order by id`,
				),
			).toEqual(TEXTS.map((text, i) => ({ id: String(i), 'a, "name"\r\n': text })));
		},
	);

	test("distinguishes null from the empty text if there is only one column", async () => {
		const columns: Column[] = [{ name: "text", kind: "text" }];
		const csv = await written({ file_format: "CSV" }, columns, [["a"], [null], [""], [null]]);
		expect(text(csv)).toBe('text\r\na\r\n\r\n""\r\n\r\n');
		expect(
			await duckdb(
				csv.file,
				"select * from read_csv(PATH, header = true, allow_quoted_nulls = false)",
			),
		).toEqual([{ text: "a" }, { text: null }, { text: "" }, { text: null }]);
	});

	test("respects max_file_size_mb if most of a text is quotes", async () => {
		const columns: Column[] = [{ name: "list", kind: "json" }];
		const list = JSON.stringify(Array(20_000).fill(""));
		const { key, file } = await written(
			{ file_format: "CSV", max_file_size_mb: 1 },
			columns,
			Array.from({ length: 30 }, () => [list]),
		);
		expect(key).toMatch(/Z-0\.csv$/);
		expect(file.length).toBeGreaterThan(500_000);
		expect(file.length).toBeLessThanOrEqual(1_000_000);
	});
});

describe("zstd", () => {
	const columns: Column[] = [
		{ name: "id", kind: "integer" },
		{ name: "text", kind: "text" },
	];
	const read = `select id, text from read_json(PATH, format = 'newline_delimited', compression = 'zstd',
		columns = {id: 'BIGINT', text: 'VARCHAR'}, maximum_object_size = 4000000) order by id`;

	test("can contain every text that JSON Lines can", async () => {
		const lines = await written(
			{ compression: "zstd" },
			columns,
			TEXTS.map((text, i) => [i, text]),
			7,
		);
		expect(lines.key).toMatch(/Z\.jsonl\.zst$/);
		expect(lines.type).toBe("application/zstd");
		expect(await duckdb(lines.file, read)).toEqual(
			TEXTS.map((text, i) => ({ id: String(i), text })),
		);
	});

	test("can contain data that can't be compressed", async () => {
		const noise = () =>
			Buffer.from(
				Array.from({ length: 32 }, () => crypto.getRandomValues(new Uint8Array(2 ** 15))).flatMap(
					(bytes) => [...bytes],
				),
			).toString("base64");
		const rows = Array.from({ length: 3 }, (_, i): Row => [i, noise()]);
		const lines = await written({ compression: "zstd" }, columns, rows);
		expect(await duckdb(lines.file, read)).toEqual(
			rows.map(([id, text]) => ({ id: String(id), text })),
		);
	});

	test.each(["JSONLines", "CSV", "Parquet"])(
		"makes files smaller than gzip does, in %s",
		async (file_format) => {
			const people = Array.from({ length: 100 }, () => crypto.randomUUID());
			const rows = Array.from({ length: 5000 }, (_, i): Row => {
				const person = people[(i * i) % 97];
				const url = `https://example.com/${["blog", "docs", "shop"][i % 3]}/${people[(i * 7) % 53]}`;
				const text = `{"person":"${person}","event":"pageview","url":"${url}"}`;
				return [i, crypto.randomUUID(), text];
			});
			const three: Column[] = [...columns, { name: "more", kind: "json" }];
			const [zstd, gzip] = await Promise.all(
				["zstd", "gzip"].map((compression) => written({ file_format, compression }, three, rows)),
			);
			expect(zstd?.file.length).toBeLessThan(gzip?.file.length ?? 0);
		},
	);
});

describe("Parquet", () => {
	const columns: Column[] = [
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
	const row = (i: number): Row => {
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

	test.each([null, "gzip", "snappy", "zstd"])(
		"holds every value, compressed with %s",
		async (compression) => {
			const rows = Array.from({ length: 12_000 }, (_, i) => row(i));
			const { file } = await written({ file_format: "Parquet", compression }, columns, rows, 1000);
			const found = await duckdb(
				file,
				`select id, text, few, number, boolean, epoch_us(timestamp) as timestamp, day::varchar as day
				from read_parquet(PATH, file_row_number = true) order by file_row_number`,
			);
			const micros = (time: Row[number]) =>
				time === null ? null : String(BigInt(Date.parse(String(time))) * 1000n);
			const expected = rows.map(([id, text, few, number, boolean, timestamp = null, day]) => ({
				id: String(id),
				text: typeof text === "string" ? text.toWellFormed() : text,
				few,
				number,
				boolean,
				timestamp: micros(timestamp),
				day,
			}));
			expectRows(found, expected);
		},
	);

	test.for([[null], ["gzip"], ["snappy"], ["zstd"]])(
		"is read by pyarrow and polars as it was, compressed with %s",
		async ([compression], { skip }) => {
			const more: Column[] = [
				{ name: "none", kind: "text" },
				{ name: "same", kind: "text" },
				{ name: "same_number", kind: "number" },
				{ name: "distinct_at_first", kind: "text" },
				{ name: "thrice", kind: "text" },
			];
			const rows = Array.from(
				{ length: 15_000 },
				(_, i): Row => [
					...row(i),
					null,
					"same",
					0,
					`number ${i % 5000}`,
					`a longer text, number ${Math.floor(i / 3)}`,
				],
			);
			const all = [...columns, ...more];
			const { file } = await written({ file_format: "Parquet", compression }, all, rows, 1000);
			const found = await parquetReaders(file);
			if (!found) return skip("the readers can't be installed here");
			const kinds = all.map(({ kind }) => kind);
			const expected = rows.map((row) =>
				row.map((value, i) => {
					if (typeof value !== "string") return value;
					return kinds[i] === "timestamp" ? Date.parse(value) : value.toWellFormed();
				}),
			);
			expectRows(found.pyarrow, expected);
			expectRows(found.polars, expected);
			expect(found.statistics).toEqual(
				all.map(({ name }) => ({ name, nulls: true, bounds: true })),
			);
		},
	);

	test.for([null, "snappy", "gzip", "zstd"])(
		"can be read by all readers, whatever is null and empty, compressed with %s",
		async (compression, { skip }) => {
			const values: Record<string, Row> = {
				text: [null, "", "x"],
				json: [null, "{}"],
				integer: [null, 7],
				number: [null, 0.5],
				boolean: [null, true],
			};
			const all = Object.entries(values).flatMap(([kind, of]) =>
				of.flatMap((a) => of.flatMap((b) => of.map((c) => ({ kind, rows: [a, b, c] })))),
			);
			const columns = all.map(({ kind }, i): Column => ({ name: `c${i}`, kind: Kind.parse(kind) }));
			for (const n of [1, 3]) {
				const rows = Array.from({ length: n }, (_, i) => all.map(({ rows }) => rows[i] ?? null));
				const { file } = await written({ file_format: "Parquet", compression }, columns, rows);
				const found = await parquetReaders(file);
				if (!found) return skip("the readers can't be installed here");
				for (const reader of ["pyarrow", "polars", "fastparquet"] as const)
					expect(found[reader], reader).toEqual(rows);
				// Its JSON has integers of 64 bits as strings.
				const byDuckDb = await duckdb(file, "select columns(*)::text from FILE");
				const texts = rows.map((row) =>
					row.map((value) => (value === null ? null : String(value))),
				);
				expect(byDuckDb.map((row) => Object.values(row))).toEqual(texts);
			}
		},
	);

	test("has dictionaries of values that repeat, in any kind of column but booleans", async () => {
		const { file } = await written(
			{ file_format: "Parquet" },
			columns,
			Array.from({ length: 12_000 }, (_, i) => row(i)),
		);
		const encodings = await duckdb(
			file,
			"select path_in_schema as name, encodings from parquet_metadata(PATH)",
		);
		expect(
			encodings
				.filter(({ encodings }) => String(encodings).includes("DICTIONARY"))
				.map(({ name }) => name),
		).toEqual(["few", "timestamp", "day"]);
	});
});

test("Parquet has a dictionary of long values that repeat in any order", async () => {
	const names = Array.from({ length: 200 }, (_, i) => `${i} `.padEnd(1024, "x"));
	const rows = Array.from({ length: 4000 }, (_, i): Row => [names[(i * 77) % 200] ?? null]);
	const { file } = await written(
		{ file_format: "Parquet" },
		[{ name: "name", kind: "text" }],
		rows,
	);
	const [found] = await duckdb(
		file,
		"select encodings like '%DICTIONARY%' as has_dictionary from parquet_metadata(PATH)",
	);
	expect(found).toEqual({ has_dictionary: true });
});

describe("Parquet's statistics", () => {
	const columns: Column[] = [
		{ name: "name", kind: "text" },
		{ name: "properties", kind: "json" },
		{ name: "n", kind: "integer" },
		{ name: "padding", kind: "text" },
	];
	const metadata = `select row_group_num_rows as rows, path_in_schema as name, stats_null_count as nulls,
		stats_min_value as min, stats_max_value as max, min_is_exact, max_is_exact
		from parquet_metadata(PATH) order by row_group_id, column_id`;

	/** Of a file with one row group, what DuckDB finds in the metadata of the column `name`. */
	async function statisticsOf(names: (string | null)[]) {
		const { file } = await written(
			{ file_format: "Parquet" },
			columns,
			names.map((name) => [name, null, null, ""]),
		);
		const [found] = await duckdb(file, metadata);
		return found;
	}

	test("tell the bounds and nulls of each column", async () => {
		const { file } = await written({ file_format: "Parquet" }, columns, [
			["b", '{"a":1}', 3, ""],
			[null, null, null, ""],
			["a", null, 1, ""],
		]);
		const exact = { rows: "3", min_is_exact: true, max_is_exact: true };
		const unsaid = { rows: "3", min_is_exact: null, max_is_exact: null };
		expect(await duckdb(file, metadata)).toEqual([
			{ ...exact, name: "name", nulls: "1", min: "a", max: "b" },
			{
				...exact,
				name: "properties",
				nulls: "2",
				min: '{"a":1}',
				max: '{"a":1}',
			},
			{ ...unsaid, name: "n", nulls: "1", min: "1", max: "3" },
			{ ...exact, name: "padding", nulls: "0", min: "", max: "" },
		]);
	});

	test.each([
		["ASCII", "a".repeat(65), "a".repeat(64), `${"a".repeat(63)}b`],
		["64 bytes", "a".repeat(64), "a".repeat(64), "a".repeat(64)],
		["two bytes", `a${"é".repeat(40)}`, `a${"é".repeat(31)}`, `a${"é".repeat(30)}ê`],
		["four bytes", `a${"😀".repeat(20)}`, `a${"😀".repeat(15)}`, `a${"😀".repeat(14)}😁`],
		[
			"a successor that is longer",
			`${"a".repeat(63)}\x7fz`,
			`${"a".repeat(63)}\x7f`,
			`${"a".repeat(62)}b`,
		],
		["no successor", `a${"\u{10ffff}".repeat(20)}`, `a${"\u{10ffff}".repeat(15)}`, "b"],
		["surrogates", `${"\ud7ff".repeat(30)}`, "\ud7ff".repeat(21), `${"\ud7ff".repeat(20)}\ue000`],
	])("shorten long bounds to whole characters: %s", async (_, name, min, max) => {
		const isExact = (bound: string) => bound === name;
		expect(await statisticsOf([name])).toMatchObject({
			min,
			max,
			min_is_exact: isExact(min),
			max_is_exact: isExact(max),
		});
	});

	test("tell no upper bound where none is short", async () => {
		const { file } = await written({ file_format: "Parquet" }, columns, [
			["\u{10ffff}".repeat(20), null, null, ""],
		]);
		const [group] = parquetMetadata(file.buffer).row_groups;
		const statistics = group?.columns[0]?.meta_data?.statistics;
		expect(statistics).toMatchObject({ min_value: "\u{10ffff}".repeat(16) });
		expect(statistics).not.toHaveProperty("max_value", expect.anything());
		const found = await duckdb(file, `select count(*) as n from FILE where name > 'z'`);
		expect(found).toEqual([{ n: "1" }]);
	});

	test("let readers find the rows at the edges of row groups, also of a resumed file", async () => {
		const letters = [..."abcmxyzéßü日本語😀"];
		const names = letters.flatMap((letter) => [letter, letter.repeat(70), `${letter.repeat(70)}z`]);
		const padding = (i: number) => `${i}`.padEnd(900_000, `${i} `);
		const prefix = crypto.randomUUID();
		const destination = destinationOf(env, "R2", {
			prefix,
			file_format: "Parquet",
		});
		const what = job({ columns });
		let state: unknown = null;
		let sink = await destination.open(what, null, async () => {});
		let resumed = 0;
		for (const [i, name] of names.entries()) {
			const kept = await sink.write([[name, null, i, padding(i)]]);
			if (kept === null) continue;
			state = JSON.parse(JSON.stringify(kept));
			sink = await destination.open(what, state, async () => {});
			resumed += 1;
		}
		const { files: [key = ""] = [] } = await sink.close();
		const file = new Uint8Array((await (await env.EXPORTS.get(key))?.arrayBuffer()) ?? []);
		expect(resumed).toBeGreaterThan(3);
		const found = await duckdb(file, metadata);
		expect(found.length).toBeGreaterThan(3 * columns.length);
		for (const { min, max, nulls, rows, name } of found) {
			expect(nulls).toBe(name === "properties" ? rows : "0");
			if (name === "properties") continue;
			expect(Buffer.byteLength(String(min))).toBeLessThanOrEqual(64);
			expect(Buffer.byteLength(String(max))).toBeLessThanOrEqual(64);
		}
		const each = names.map((name) => `(select list(n) from FILE where name = '${name}')`);
		const [response] = await duckdb(file, `select [${each}] as found`);
		expect(response?.found).toEqual(names.map((_, i) => [String(i)]));
	});
});

test.each([
	"",
	"plain, ünd 🦔",
	'"quoted"',
	"back\\slash",
	"line\nbreak",
	"\u0000\u001f\u007f\u2028",
	"half a pair: \ud83e",
])("text is escaped as JSON: %j", (text) => {
	expect(jsonWriter([{ name: "text", kind: "text" }])([text])).toBe(JSON.stringify({ text }));
});

test("numbers and booleans are written as they are", () => {
	const columns: Column[] = [
		{ name: "number", kind: "number" },
		{ name: "boolean", kind: "boolean" },
	];
	expect(jsonWriter(columns)([-1.5e300, false])).toBe('{"number":-1.5e+300,"boolean":false}');
});
