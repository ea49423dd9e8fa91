import * as fc from "fast-check";
import { expect, test } from "vitest";
import { evaluator } from "../../../src/exports/engine/evaluate.ts";
import { like } from "../../../src/exports/engine/like.ts";
import { parse } from "../../../src/exports/query/query.ts";
import type { Row } from "../../../src/exports/query/rows.ts";
import { ApiError } from "../../../src/http/errors.ts";
import { wrong } from "../../support/errors.ts";

/** The response to an invalid query. */
export function rejection(text: string) {
	try {
		parse(text);
	} catch (error) {
		if (error instanceof ApiError) return { status: error.status, body: error.body };
		throw error;
	}
	return "It was understood.";
}

export const select = (expressions: string) => `SELECT ${expressions} FROM events`;

export const KEYS = ["a b", 'q"q', "d.d", "$x", "b\\s", "ü", "[0]", "🦔", "a'b", ""];

export const properties = {
	text: 'x"ü',
	half: 1.5,
	seven: 7,
	large: 9007199254740991,
	larger: JSON.rawJSON("9007199254740993"),
	exponent: JSON.rawJSON("9.007199254740993e15"),
	largest: JSON.rawJSON("9223372036854775807"),
	beyond: JSON.rawJSON("9223372036854775808"),
	padded: " 12 ",
	empty: "",
	zero: 0,
	yes: true,
	no: false,
	nothing: null,
	list: [1, 2],
	object: { in: { "n.n": "deep" } },
	day: "2026-02-28T23:00:00-05:00",
	no_day: "2026-02-30",
	$browser: "Firefox",
	null: "null",
	...Object.fromEntries(KEYS.map((key) => [key, `of ${key}`])),
};

export const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

export const TEAM = 11_001;

export const EVENT = {
	uuid: "00000000-0000-0000-0000-000000000001",
	event: "Signed Up",
	properties: JSON.stringify(properties),
	person_properties: null,
	timestamp: "2026-01-02T03:04:05.678Z",
	team_id: TEAM,
};

/** The result of a query for a row; null if its condition filters it out. */
export function evaluated(text: string, row: Record<string, Row[number]> = EVENT) {
	const { fields, where } = parse(text);
	const evaluate = evaluator(Object.keys(row), fields, where);
	const { rows } = evaluate([Object.values(row)]);
	return rows[0] ?? null;
}

const literals = fc.oneof(
	fc.string({ unit: "grapheme" }).map((text) => quoted(text.replaceAll("\0", ""))),
	fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
	fc.integer().map(String),
	fc.constantFrom("true", "FALSE", "null", "' 12.5 '", "'2026-01-02T'"),
);

const columns = fc.oneof(
	fc.constantFrom(
		"uuid",
		"event",
		"person_id",
		"properties",
		"person_properties",
		"timestamp",
		"team_id",
	),
	fc.constantFrom(...Object.keys(properties), "missing").map((key) => `properties[${quoted(key)}]`),
);

const { expressions } = fc.letrec<{ expressions: string }>((tie) => ({
	expressions: fc.oneof(
		{ maxDepth: 5, depthSize: "large" },
		fc.oneof(literals, columns),
		fc
			.tuple(tie("expressions"), fc.constantFrom("+", "-", "*", "/"), tie("expressions"))
			.map((parts) => parts.join(" ")),
		fc
			.tuple(
				tie("expressions"),
				fc.constantFrom("=", "!=", "<>", "<", "<=", ">", ">=", "AND", "or"),
				tie("expressions"),
			)
			.map(([left, operator, right]) => `(${left}) ${operator} (${right})`)
			.map((text) => `(${text})`),
		fc
			.tuple(
				tie("expressions"),
				fc.constantFrom("in", "NOT IN"),
				fc.array(tie("expressions"), { minLength: 1, maxLength: 3 }),
			)
			.map(([value, operator, list]) => `((${value}) ${operator} (${list}))`),
		fc
			.tuple(
				tie("expressions"),
				fc.constantFrom("like '%a_'", "NOT LIKE '\\\\%x'", "is null", "IS NOT NULL"),
			)
			.map(([value, test]) => `((${value}) ${test})`),
		tie("expressions").map((part) => `(not ${part})`),
		tie("expressions").map((part) => `(${part})`),
		tie("expressions").map((part) => `- ${part}`),
		fc
			.tuple(
				fc.constantFrom("toString", "TOINT", "toFloat", "lower", "upper", "length", "toDate"),
				tie("expressions"),
			)
			.map(([name, part]) => `${name}(${part})`),
		fc
			.tuple(
				fc.constantFrom("concat", "coalesce"),
				fc.array(tie("expressions"), { minLength: 1, maxLength: 3 }),
			)
			.map(([name, parts]) => `${name}(${parts.join()})`),
		fc
			.tuple(tie("expressions"), tie("expressions"), tie("expressions"))
			.map((parts) => `if(${parts.join()})`),
	),
}));

const queries = fc
	.tuple(fc.array(expressions, { minLength: 1, maxLength: 4 }), fc.option(expressions))
	.map(([parts, where]) => {
		const fields = parts.map((part, at) => `${part} AS c${at}`).join();
		return select(fields) + (where === null ? "" : ` WHERE ${where}`);
	});

/** Whether a query is within the limits. Throws any other error. */
const fits = (text: string) => {
	const rejected = rejection(text);
	if (rejected === "It was understood.") return true;
	expect(rejected).toEqual(
		wrong(
			"invalid_input",
			expect.stringMatching(/too deeply|at most|^Unable to (compare|read)|lose digits/),
			"xql_query",
		),
	);
	return false;
};

/** Values of columns, and JSON as other programs write it. */
const rows = fc.record({
	uuid: fc.uuid(),
	event: fc.string({ unit: "binary" }),
	person_id: fc.option(fc.string()),
	properties: fc.oneof(
		fc.constant(JSON.stringify(properties)),
		fc.json(),
		fc.string(),
		fc.constantFrom(
			'{"text":1e999,"half":1.50,"seven":-0,"large":12345678901234567890}',
			"[".repeat(20_000) + "]".repeat(20_000),
			`{"list":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
		),
	),
	person_properties: fc.option(fc.json()),
	timestamp: fc
		.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
		.map((date) => date.toISOString()),
	team_id: fc.nat(),
});

const KINDS: Record<string, (value: unknown) => boolean> = {
	text: (value) => typeof value === "string",
	timestamp: (value) => typeof value === "string",
	date: (value) => typeof value === "string",
	json: (value) => typeof value === "string",
	integer: (value) => typeof value === "bigint" || Number.isFinite(value),
	number: Number.isFinite,
	boolean: (value) => typeof value === "boolean",
};

/** Tests what holds for any query, with so many of them. */
export function testQueries(runs: number) {
	test("a normalised query parses to the same query", () => {
		fc.assert(
			fc.property(queries, (text) => {
				fc.pre(fits(text));
				const query = parse(text);
				expect(parse(query.schema.xql_query)).toEqual(query);
			}),
			{ numRuns: runs },
		);
	});

	test("any valid query can be evaluated for any row, to values of its fields' kinds", () => {
		fc.assert(
			fc.property(queries, rows, (text, row) => {
				fc.pre(fits(text));
				const { fields } = parse(text);
				for (const [at, value] of (evaluated(text, row) ?? []).entries())
					if (value !== null) expect(KINDS[fields[at]?.kind ?? ""]?.(value)).toBe(true);
			}),
			{ numRuns: runs },
		);
	});

	test("each row matches exactly one of a condition, its negation and IS NULL", () => {
		fc.assert(
			fc.property(expressions, rows, (condition, row) => {
				const where = (text: string) => `${select("uuid")} WHERE ${text}`;
				const texts = [`(${condition})`, `not (${condition})`, `(${condition}) is null`].map(where);
				fc.pre(texts.every(fits));
				const taken = texts.filter((text) => evaluated(text, row) !== null);
				expect(taken).toHaveLength(1);
			}),
			{ numRuns: runs },
		);
	});

	test("LIKE gives the same result as a regular expression, for any text", () => {
		const parts = fc.constantFrom("%", "_", "a", "b", "ab", "🦔", "\\%", "\n");
		const patterns = fc.array(parts, { maxLength: 12 }).map((all) => all.join(""));
		const texts = fc
			.array(fc.constantFrom("a", "b", "🦔", "%", "\n"), { maxLength: 12 })
			.map((all) => all.join(""));
		const expression = (pattern: string) =>
			new RegExp(
				`^${pattern.replace(/\\%|[%_]/g, (part) => (part === "%" ? ".*" : part === "_" ? "." : "%"))}$`,
				"su",
			);
		fc.assert(
			fc.property(patterns, texts, (pattern, text) => {
				expect(like(pattern)(text)).toBe(expression(pattern).test(text));
			}),
			{ numRuns: 20 * runs },
		);
	});

	test("any text is either parsed or rejected", () => {
		const words = fc.constantFrom(
			..."SELECT FROM events WITH UNION JOIN WHERE AS ( ) [ ] , . ; + - * / ' \" ` -- /* */ \\ \0 1 .5 1e9 properties uuid lower( if( 'a' true null \ud800".split(
				" ",
			),
		);
		const texts = fc.oneof(
			fc.string({ unit: "binary", maxLength: 200 }),
			fc.string({ maxLength: 200 }),
			fc.array(words, { maxLength: 40 }).map((parts) => `SELECT ${parts.join(" ")}`.slice(0, 200)),
		);
		fc.assert(
			fc.property(texts, (text) => {
				const rejected = rejection(text);
				if (rejected !== "It was understood.")
					expect(rejected).toMatchObject({
						status: 400,
						body: { attr: "xql_query" },
					});
			}),
			{ numRuns: runs },
		);
	});
}
