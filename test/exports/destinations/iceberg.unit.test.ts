import { describe, expect, test } from "vitest";
import {
	readAvro,
	type Schema,
	writeAvro,
} from "../../../src/exports/destinations/iceberg/avro.ts";
import { storageOf } from "../../../src/exports/destinations/iceberg/storage.ts";
import { murmur3, transformOf } from "../../../src/exports/destinations/iceberg/transforms.ts";
import {
	folderOf,
	isInTable,
	propertyOf,
	withWindow,
} from "../../../src/exports/destinations/iceberg/windows.ts";
import type { Kind } from "../../../src/exports/query/expression.ts";

describe("Avro", () => {
	const schema: Schema = {
		type: "record",
		name: "everything",
		fields: [
			{ name: "long", type: "long" },
			{ name: "none", type: ["null", "long"] },
			{ name: "text", type: "string" },
			{ name: "flag", type: "boolean" },
			{ name: "number", type: "double" },
			{ name: "bytes", type: ["null", "bytes"] },
			{ name: "list", type: { type: "array", items: "int" } },
			{ name: "map", type: { type: "map", values: "long" } },
			{ name: "fixed", type: { type: "fixed", name: "four", size: 4 } },
			{ name: "again", type: "four" },
			{ name: "symbol", type: { type: "enum", name: "colour", symbols: ["red", "blue"] } },
		],
	};

	const record = (long: number | bigint) => ({
		long,
		none: null,
		text: "größe 😀",
		flag: true,
		number: -0.1,
		bytes: Uint8Array.of(0, 255),
		list: [-1, 0, 2 ** 31 - 1],
		map: { __proto__x: 1 },
		fixed: Uint8Array.of(1, 2, 3, 4),
		again: Uint8Array.of(5, 6, 7, 8),
		symbol: "blue",
	});

	test("reads what it has written, with all digits", () => {
		const longs = [0, -1, 63, -64, 64, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
		const records = longs.map(record);
		const file = { metadata: { "snapshot-id": "9007199254740993" }, schema, records };
		expect(readAvro(writeAvro(file))).toEqual(file);
		expect(readAvro(writeAvro({ ...file, records: [] })).records).toEqual([]);
	});

	test("rejects what isn't Avro, and doesn't read beyond its end", () => {
		const bytes = writeAvro({ metadata: {}, schema, records: [record(1)] });
		const error = "A manifest of the table isn't a valid Avro file.";
		expect(() => readAvro(new TextEncoder().encode("<html>"))).toThrow(error);
		const header = writeAvro({ metadata: {}, schema, records: [] }).length;
		for (let end = 0; end < bytes.length; end += 1)
			if (end !== header) expect(() => readAvro(bytes.subarray(0, end)), String(end)).toThrow();
		const sizes = Buffer.from(bytes);
		// The number of records, and the size of the block.
		sizes.fill(0xff, bytes.length - 60);
		expect(() => readAvro(sizes)).toThrow();
	});

	test("names a compression that it can't read", () => {
		const bytes = Buffer.from(writeAvro({ metadata: {}, schema, records: [record(1)] }));
		const at = bytes.indexOf("deflate");
		bytes.write("snappy\u0000", at);
		bytes[at - 1] = 12;
		const fixed = Buffer.concat([bytes.subarray(0, at + 6), bytes.subarray(at + 7)]);
		expect(() => readAvro(fixed)).toThrow("is compressed with snappy");
	});
});

describe("partitions", () => {
	// https://iceberg.apache.org/spec/#appendix-b-32-bit-hash-requirements
	test("the hash is that of Iceberg's specification", () => {
		const long = Buffer.alloc(8);
		long.writeBigInt64LE(34n);
		expect(murmur3(long)).toBe(2017239379);
		expect(murmur3(Buffer.from("iceberg"))).toBe(1210000089);
		long.writeBigInt64LE(1510871468000000n);
		expect(murmur3(long)).toBe(-2047944441);
		expect(murmur3(Buffer.from(Uint8Array.of(0, 1, 2, 3)))).toBe(-188683207);
	});

	test.each<[string, Kind, string | number | bigint | boolean, unknown]>([
		["day", "timestamp", "2017-11-16T22:31:08.000Z", 17486],
		["day", "timestamp", "1969-12-31T23:59:59.999Z", -1],
		["hour", "timestamp", "1970-01-02T01:30:00.000Z", 25],
		["hour", "timestamp", "1969-12-31T23:30:00.000Z", -1],
		["month", "date", "2017-11-16", 574],
		["month", "timestamp", "1969-12-01T00:00:00.000Z", -1],
		["year", "timestamp", "1969-01-01T00:00:00.000Z", -1],
		["bucket[16]", "text", "iceberg", 1210000089 % 16],
		["bucket[16]", "integer", 34, 2017239379 % 16],
		["bucket[16]", "integer", 34n, 2017239379 % 16],
		["identity", "date", "1970-01-03", 2],
		["identity", "text", "x", "x"],
		["void", "text", "x", null],
	])("%s of a %s %s is %s", (name, kind, value, partition) => {
		const transform = transformOf(name, kind);
		expect(transform?.of(value)).toBe(partition);
		// Remembered results are the same.
		expect(transform?.of(value)).toBe(partition);
		expect(transform?.of(null)).toBe(null);
	});

	test.each<[string, Kind | undefined]>([
		["truncate[4]", "text"],
		["bucket[0]", "text"],
		["bucket[4]", "number"],
		["day", "text"],
		["hour", "date"],
		["identity", "number"],
		["identity", undefined],
	])("%s of a %s isn't supported", (name, kind) => {
		expect(transformOf(name, kind)).toBeNull();
	});
});

test.each(["x@evil.example/?", "eu.evil.example", "s3", ""])(
	"the catalog can't choose the host of the files with the region %j",
	(region) => {
		const table = {
			metadata: { location: "s3://bucket/table" },
			config: { "s3.region": region },
			"storage-credentials": [],
		};
		const config = { aws_access_key_id: "A", aws_secret_access_key: "S" };
		const open = () =>
			storageOf(
				Object.assign(Object.create(null), { config, timeoutMs: 1 }),
				Object.assign(Object.create(null), table),
			);
		expect(open).toThrow("The catalog gives no valid region: set region.");
	},
);

describe("windows in a table", () => {
	const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
	const hour = (n: number) => ({ start: at(n), end: at(n + 1) });

	test("those that follow each other are one range, whatever their order", () => {
		const property = [3, 0, 1, 1, 2, 7].reduce<string | undefined>(
			(before, n) => withWindow(before, hour(n)),
			undefined,
		);
		expect(property).toBe(`${at(0)}/${at(4)},${at(7)}/${at(8)}`);
		expect([0, 3, 4, 6, 7, 8].map((n) => isInTable(property, hour(n)))).toEqual([
			true,
			true,
			false,
			false,
			true,
			false,
		]);
		expect(isInTable(property, { start: at(0), end: at(5) })).toBe(false);
		expect(isInTable(undefined, hour(0))).toBe(false);
		expect(isInTable("broken", hour(0))).toBe(false);
	});

	test("there are at most a hundred ranges: a window in the smallest gaps counts as exported", () => {
		let property: string | undefined;
		// The gaps are of one hour, and one is of nine.
		for (let n = 0; n < 300; n += 2) property = withWindow(property, hour(n < 200 ? n : n + 8));
		expect(property?.split(",")).toHaveLength(100);
		for (let n = 0; n < 300; n += 2)
			expect(isInTable(property, hour(n < 200 ? n : n + 8)), String(n)).toBe(true);
		expect(isInTable(property, hour(202))).toBe(false);
	});

	test("exports, and the schedule and backfills of an export, are separate", () => {
		const export_id = "0198c0de-0000-7000-8000-000000000001";
		expect(propertyOf({ export_id, backfill: false })).toBe(`tenantry.${export_id}.schedule`);
		expect(folderOf({ export_id, backfill: true, ...hour(0) })).toBe(
			`tenantry/${export_id}/backfill/2026-01-01T000000.000Z_2026-01-01T010000.000Z`,
		);
	});
});
