import { describe, expect, test } from "vitest";
import { csv, jsonWriter } from "../../src/exports/formats/lines.ts";
import type { Column, Row } from "../../src/exports/query/rows.ts";

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

/** The text of a CSV file with the rows. */
async function csvOf(columns: Column[], rows: Row[], isForSpreadsheets = false) {
	const encoder = csv(columns, null, { isForSpreadsheets });
	return Buffer.concat([...(await encoder.write(rows, 0)), ...encoder.finish()]).toString();
}

describe("CSV for spreadsheets", () => {
	const cellsOf = async (cells: Row) => {
		const columns = cells.map((): Column => ({ name: "n", kind: "text" }));
		const [, line] = (await csvOf(columns, [cells], true)).split(/\r\n/);
		return line;
	};

	test.each([
		["=1+1", "'=1+1"],
		["+49 30", "'+49 30"],
		["-1+1", "'-1+1"],
		["-", "'-"],
		["--1", "'--1"],
		["@SUM(A1)", "'@SUM(A1)"],
		["\t=1", `"'\t'=1"`],
		["\r=1", `"'\r'=1"`],
		["\uff1d1", "'\uff1d1"],
		["a;=1", `"a;'=1"`],
		['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
	])("%j is harmless", async (cell, expected) => {
		// A line break is in the cell.
		const columns: Column[] = [{ name: "n", kind: "text" }];
		expect(await csvOf(columns, [[cell]], true)).toBe(`\ufeffn\r\n${expected}\r\n`);
	});

	test("numbers stay numbers, also as text and in JSON", async () => {
		expect(await cellsOf([-5, -0.5, 2 ** 53, 9007199254740993n, "-5", "-1.5e-7", "12", true])).toBe(
			"-5,-0.5,9007199254740992,9007199254740993,-5,-1.5e-7,12,true",
		);
	});

	test("other text stays as it is", async () => {
		expect(await cellsOf(["a=1", "é 你", '{"a":-1}', "", null])).toBe('a=1,é 你,"{""a"":-1}","",');
	});

	test("names of columns are harmless too", async () => {
		expect(await csvOf([{ name: "=cmd()", kind: "text" }], [["x"]], true)).toBe(
			"\ufeff'=cmd()\r\nx\r\n",
		);
	});

	test("a continued file has no second header", async () => {
		const options = { offset: 10, isForSpreadsheets: true };
		const encoder = csv([{ name: "n", kind: "text" }], null, options);
		expect(Buffer.concat(await encoder.write([["=1"]], 0)).toString()).toBe("'=1\r\n");
	});
});

test("CSV follows RFC 4180", async () => {
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
		await csvOf(columns, [
			["a", '{"n":12345678901234567890}', 1e300, 2 ** 53, true, at, day],
			["", "[1]", 0.1, -7, false, at, day],
			["b, c", "not JSON", -0.5, 0, true, at, day],
			[null, null, null, null, null, null, null],
		]),
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

test("CSV distinguishes null from the empty text if there is only one column", async () => {
	const columns: Column[] = [{ name: "text", kind: "text" }];
	const rows = [["a"], [null], [""], [null]];
	expect(await csvOf(columns, rows)).toBe('text\r\na\r\n\r\n""\r\n\r\n');
});
