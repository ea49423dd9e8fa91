import { expect, test } from "vitest";
import * as bigquery from "../../../src/exports/destinations/bigquery/fits.ts";
import * as clickhouse from "../../../src/exports/destinations/clickhouse/fits.ts";
import type { Value } from "../../../src/exports/destinations/fit/values.ts";
import * as postgres from "../../../src/exports/destinations/postgres/fits.ts";
import type { Kind } from "../../../src/exports/query/expression.ts";
import * as onClickHouse from "./clickhouse_values.ts";
import * as onPostgres from "./postgres_values.ts";

/** Returns what is written for a value; null if it doesn't fit, with how many became null in it. */
function fitted(fit: ReturnType<typeof clickhouse.fitOf>, value: Value) {
	let lost = 0;
	const kept = fit === null ? value : fit(value, () => (lost += 1));
	return { kept: kept ?? null, lost };
}

const { NEW_TIMES, OLD_TIMES } = clickhouse;

test.each(onClickHouse.CASES)("ClickHouse's %s holds %s %s as %s", (type, kind, value, stored) => {
	const { kept } = fitted(clickhouse.fitOf(type, kind, NEW_TIMES), value);
	expect(kept === null).toBe(stored === null);
});

test.each<[type: string, value: string, kept: string | null]>([
	["DateTime64(6, 'UTC')", "1899-12-31T23:59:59.999Z", null],
	["DateTime64(6, 'UTC')", "1900-01-01T00:00:00.000Z", "1900-01-01T00:00:00.000Z"],
	["DateTime64(6, 'UTC')", "2299-12-31T23:59:59.999Z", "2299-12-31T23:59:59.999Z"],
	["DateTime64(6, 'UTC')", "2300-01-01T00:00:00.000Z", null],
	["DateTime64(6, 'UTC')", "+010000-01-01T00:00:00.000Z", null],
	["DateTime64(6, 'UTC')", "1969-12-31T23:59:58.500Z", null],
	["DateTime64(6, 'UTC')", "1969-12-31T23:59:58.000Z", "1969-12-31T23:59:58.000Z"],
	["DateTime64(0, 'UTC')", "1969-12-31T23:59:58.500Z", "1969-12-31T23:59:58Z"],
	["DateTime64(3)", "1900-01-01T00:00:00.000Z", null],
	["DateTime64(3)", "2299-12-31T00:00:00.000Z", null],
	["DateTime64(9, 'UTC')", "1899-12-31T00:00:00.000Z", null],
	["Date32", "1899-12-31T00:00:00.000Z", null],
	["Date32", "2300-01-01T00:00:00.000Z", null],
	["Date32", "2299-12-31T23:59:59.999Z", "2299-12-31"],
])("%s of ClickHouse 25.8 holds %s as %s", (type, value, kept) => {
	const fit = clickhouse.fitOf(type, "timestamp", OLD_TIMES);
	expect(fitted(fit, value).kept).toBe(kept);
});

const NAMES: Record<string, string> = {
	smallint: "int2",
	integer: "int4",
	bigint: "int8",
	real: "float4",
	"double precision": "float8",
	boolean: "bool",
	char: "bpchar",
	'"char"': "char",
};

/** Returns a type as `pg_attribute` has it. */
function columnType(sql: string): postgres.ColumnType {
	const [, written = "", first, second = "0", array] =
		/^([^(]+?)(?:\((-?\d+)(?:,(-?\d+))?\))?(\[\])?$/.exec(sql) ?? [];
	const name = NAMES[written] ?? written;
	const [n, scale] = [Number(first), Number(second)];
	const modifiers: Record<string, number> = { numeric: ((n << 16) | (scale & 2047)) + 4 };
	const length = name.startsWith("time") ? n : n + 4;
	const modifier = first === undefined ? -1 : (modifiers[name] ?? length);
	if (name === "size") return { name, modifier, labels: ["small", "it's"] };
	if (name === "share") return columnType("numeric(5,2)");
	return { name: array ? `_${name}` : name, modifier, labels: null };
}

test.each(onPostgres.CASES)("PostgreSQL's %s holds %s %s as %s", (type, kind, value, stored) => {
	const { kept } = fitted(postgres.fitOf(columnType(type), kind), value);
	expect(kept === null).toBe(stored === null);
});

const MONEY = { precision: 10, scale: 2 };
test.each<[type: string, more: object, kind: Kind, value: Value, kept: Value | null]>([
	["INTEGER", {}, "integer", 9223372036854775807n, 9223372036854775807n],
	["INTEGER", {}, "json", "9223372036854775808", null],
	["INTEGER", {}, "number", 1.5, null],
	["FLOAT", {}, "integer", 9007199254740993n, null],
	["FLOAT", {}, "number", 1e300, 1e300],
	["NUMERIC", {}, "json", "0.123456789", "0.123456789"],
	["NUMERIC", {}, "json", "0.1234567891", null],
	["NUMERIC", {}, "number", 1e29, null],
	["NUMERIC", MONEY, "number", 1.005, null],
	["NUMERIC", MONEY, "json", "99999999.99", "99999999.99"],
	["NUMERIC", MONEY, "integer", 100000000, null],
	["NUMERIC", { precision: 3 }, "number", 1.5, null],
	["BIGNUMERIC", {}, "number", 1e-38, `0.${"0".repeat(37)}1`],
	["BIGNUMERIC", {}, "number", 1e-39, null],
	["BOOLEAN", {}, "integer", 2, null],
	["BOOLEAN", {}, "json", '"true"', true],
	["STRING", { maxLength: 3 }, "text", "üüü", "üüü"],
	["STRING", { maxLength: 3 }, "text", "abcd", null],
	["BYTES", { maxLength: 3 }, "text", "üü", null],
	["TIMESTAMP", {}, "timestamp", "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"],
	["TIMESTAMP", {}, "timestamp", "+010000-01-01T00:00:00.000Z", null],
	["TIMESTAMP", {}, "text", "2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00.123456Z"],
	["DATETIME", {}, "text", "2024-01-01T00:00:00+02:00", "2023-12-31T22:00:00.000"],
	["DATE", {}, "timestamp", "2024-12-31T23:59:59.999Z", "2024-12-31"],
	["DATE", {}, "date", "tomorrow", null],
	["TIME", {}, "timestamp", "2024-12-31T23:59:59.999Z", null],
	["TIME", {}, "text", "12:30:00.123456", "12:30:00.123456"],
])("BigQuery's %s %j holds %s %s as %s", (type, more, kind, value, kept) => {
	const fit = bigquery.fitOf({ name: "x", type, ...more }, kind);
	expect(fitted(fit, value).kept).toBe(kept);
});

test.each([
	['{"a":0.1,"b":[1e400]}', '{"a":0.1,"b":[null]}', 1],
	['{"a":0.1234567890123456789}', '{"a":null}', 1],
	['{"a":123456789012345678901,"a":1}', '{"a":"123456789012345678901","a":1}', 0],
	[
		'{"a":-9223372036854775808,"b":18446744073709551615}',
		'{"a":-9223372036854775808,"b":18446744073709551615}',
		0,
	],
	['{"a":[[9007199254740993],[1.5]]}', '{"a":[["9007199254740993"],[1.5]]}', 0],
	['{"a":"1e400 0.1234567890123456789 \\" [1"}', '{"a":"1e400 0.1234567890123456789 \\" [1"}', 0],
	["call 123456789012345678901 or 1e400", "call 123456789012345678901 or 1e400", 0],
])("a JSON column holds %s as %s", (json, kept, lost) => {
	expect(fitted(bigquery.fitOf({ name: "x", type: "JSON" }, "json"), json)).toEqual({ kept, lost });
});

test.each<[json: string, kept: string | null]>([
	['[{"a":300,"b":"x"}]', null],
	['[{"a":255,"b":"x"}]', '[{"a":255,"b":"x"}]'],
])("ClickHouse's Nested holds %s as %s", (json, kept) => {
	const fit = clickhouse.fitOf("Nested(a UInt8, b String)", "json", NEW_TIMES);
	expect(fitted(fit, json).kept).toBe(kept);
});
