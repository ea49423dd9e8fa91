import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Column, Row } from "../../src/exports/query/rows.ts";
import { destinationOf, duckdb, job, parquetReaders } from "../support/exporting.ts";
import { COLUMNS, expectRows, row, STATISTICS, written } from "./format_cases.ts";

const Kind = z.enum(["text", "json", "integer", "number", "boolean"]);

describe("Parquet", () => {
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
			const all = [...COLUMNS, ...more];
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

	test("lets readers find the rows at the edges of row groups, also of a resumed file", async () => {
		const { columns, metadata } = STATISTICS;

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

describe("zstd", () => {
	const columns: Column[] = [
		{ name: "id", kind: "integer" },
		{ name: "text", kind: "text" },
	];
	const read = `select id, text from read_json(PATH, format = 'newline_delimited', compression = 'zstd',
		columns = {id: 'BIGINT', text: 'VARCHAR'}, maximum_object_size = 4000000) order by id`;

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
