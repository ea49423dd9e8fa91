import { expect, test } from "vitest";
import { toJson } from "../../src/exporter/formats/jsonlines.ts";
import type { Column, Row } from "../../src/exporter/rows.ts";

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
	expect(toJson(columns, row)).toBe(
		`{"a \\"name\\"":"x","properties":${properties}}`,
	);
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
	expect(toJson([{ name: "text", kind: "text" }], [text])).toBe(
		JSON.stringify({ text }),
	);
});

test("numbers and booleans are written as they are", () => {
	const columns: Column[] = [
		{ name: "number", kind: "number" },
		{ name: "boolean", kind: "boolean" },
	];
	expect(toJson(columns, [-1.5e300, false])).toBe(
		'{"number":-1.5e+300,"boolean":false}',
	);
});
