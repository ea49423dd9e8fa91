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
