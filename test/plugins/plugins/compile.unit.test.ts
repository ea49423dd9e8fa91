import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { outputOf } from "../../../src/plugins/compiler/output.ts";

const DEEP = "The source is nested too deeply.";

const compile = (filename: string, source: string) => outputOf({ filename, source });

test("site.ts keeps its imports and exports", () => {
	const { compiled, error } = compile(
		"site.ts",
		"export function inject({ config }: { config: Config }): void { (window as any).x = config?.y ?? <number>1 }",
	);
	expect(error).toBeNull();
	expect(compiled).toMatch(/^export function inject\(\{ config \}\)\s*\{/);
	expect(compiled).not.toMatch(/Config\b|any|number/);
});

test("frontend.tsx becomes calls to React.createElement", () => {
	const source = "export const App = ({ a }: P) => <><b id={a}>hi &amp; bye</b></>;";
	expect(compile("frontend.tsx", source)).toEqual({
		compiled:
			"export const App = ({ a }) => React.createElement(React.Fragment, null, React.createElement('b', { id: a,}, \"hi & bye\"  ));",
		error: null,
		capabilities: null,
	});
});

describe("a main file is compiled to a script", () => {
	test.each([
		["module.exports = { a: 1 }", "module.exports = { a: 1 }"],
		["#!/usr/bin/env node\nexports.a = 1", "\nexports.a = 1"],
		["with (a < b > (c)) {}", "with (a < b > (c)) {}"],
		["export = { a: 1 }", expect.stringContaining("module.exports = { a: 1 }")],
		["export const a: number = 1", expect.stringContaining("exports.a = a")],
		["export const a = b < c > (d)", expect.stringContaining("b < c > (d)")],
		["import { type A } from 'x'; let a: A", expect.not.stringContaining("x")],
	])("%s", (source, compiled) => {
		expect(compile("index.js", source)).toMatchObject({ compiled, error: null });
	});
});

const somewhere = expect.stringMatching(/\(1:\d+\)$/);

test.each([
	["site.ts", "let a = 1;\nconst = 5;", "Unexpected token (2:7)"],
	["site.ts", "const x = <div/>;", somewhere],
	["site.ts", "function f() {", somewhere],
	["site.ts", "let a; let a;", expect.stringMatching(/already.*\(1:\d+\)$/)],
	["frontend.tsx", "const a = <b>;", somewhere],
	["site.ts", "(".repeat(100_000), DEEP],
	["site.ts", "<T>(".repeat(40), DEEP],
	["site.ts", `${"<T>(".repeat(40)}1${")".repeat(40)}`, DEEP],
	["frontend.tsx", "<a>({...".repeat(40), DEEP],
	["frontend.tsx", "<a>".repeat(100_000), DEEP],
	["index.js", "export const = 5", "Unexpected token (1:14)"],
	["index.js", "} evil(); {", somewhere],
	["index.js", "return 1", somewhere],
	["index.js", "import.meta", somewhere],
])("%s with an error: the message says what is wrong, and where", (filename, text, error) => {
	expect(compile(filename, text)).toEqual({ compiled: null, error, capabilities: null });
});

test("no text makes the compiler throw, or yields lists with duplicates", () => {
	const words =
		"export default const function module . exports = { } ( ) => jobs onEvent : , ; [ ] ` ${ < > </ /> ? async await class \\ / ' \" 0 \n @ # import from as type enum";
	fc.assert(
		fc.property(
			fc.constantFrom("index.js", "site.ts", "frontend.tsx"),
			fc.oneof(
				fc.array(fc.nat(0x10ffff)).map((points) => String.fromCodePoint(...points)),
				fc
					.array(fc.constantFrom(...words.split(/ /)), { maxLength: 25 })
					.map((tokens) => tokens.join(" ")),
			),
			(filename, text) => {
				const { compiled, error, capabilities } = compile(filename, text);
				expect([compiled === null, error === null].sort()).toEqual([false, true]);
				for (const list of Object.values(capabilities ?? {}))
					expect(new Set(list).size).toBe(list.length);
			},
		),
		{ numRuns: 200 },
	);
});
