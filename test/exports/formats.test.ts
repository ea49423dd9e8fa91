import { parquetMetadata } from "hyparquet";
import { describe, expect, test } from "vitest";
import type { Column, Row } from "../../src/exports/query/rows.ts";
import { duckdb } from "../support/exporting.ts";
import { COLUMNS, expectRows, row, STATISTICS, TEXTS, written } from "./format_cases.ts";

describe("CSV", () => {
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

test.each([
	["CSV", "read_csv(PATH, header = true, columns = {id: 'INTEGER', n: 'BIGINT'})"],
	["Parquet", "read_parquet(PATH)"],
])("%s holds every integer of 64 bits, and null", async (file_format, reader) => {
	const columns: Column[] = [
		{ name: "id", kind: "integer" },
		{ name: "n", kind: "integer" },
	];
	const numbers = [-(2n ** 63n), -(2n ** 53n) - 1n, -1, null, 7, 2n ** 53n + 1n, 2n ** 63n - 1n];
	const rows = numbers.map((n, id): Row => [id, n]);
	const { file } = await written({ file_format }, columns, rows);
	const found = await duckdb(file, `select n::varchar as n from ${reader} order by id`);
	expect(found).toEqual(numbers.map((n) => ({ n: n === null ? null : String(n) })));
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
});

describe("Parquet", () => {
	test.each([null, "gzip", "snappy", "zstd"])(
		"holds every value, compressed with %s",
		async (compression) => {
			const rows = Array.from({ length: 3000 }, (_, i) => row(i));
			const { file } = await written({ file_format: "Parquet", compression }, COLUMNS, rows, 1000);
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

	test("has dictionaries of values that repeat, in any kind of column but booleans", async () => {
		const { file } = await written(
			{ file_format: "Parquet" },
			COLUMNS,
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
	const { columns, metadata } = STATISTICS;

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
});
