import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile, toScript } from "../../src/plugins/compile.ts";

const DEEP = "The source is nested too deeply.";

describe("files for browsers are compiled", () => {
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
		expect(
			compile("frontend.tsx", "export const App = ({ a }: P) => <><b id={a}>hi &amp; bye</b></>;"),
		).toEqual({
			compiled:
				"export const App = ({ a }) => React.createElement(React.Fragment, null, React.createElement('b', { id: a,}, \"hi & bye\"  ));",
			error: null,
		});
	});

	test.each(["main.ts", "plugin.json", "site.tsx", "constructor", ""])(
		"%s is not compiled",
		(filename) => {
			expect(compile(filename, "const = 5")).toEqual({
				compiled: null,
				error: null,
			});
		},
	);

	test.each([
		["site.ts", "let a = 1;\nconst = 5;", "Unexpected token (2:7)"],
		["site.ts", "const x = <div/>;", expect.stringMatching(/\(1:\d+\)$/)],
		["site.ts", "function f() {", expect.stringMatching(/\(1:\d+\)$/)],
		["site.ts", "let a; let a;", expect.stringMatching(/already.*\(1:\d+\)$/)],
		["frontend.tsx", "const a = <b>;", expect.stringMatching(/\(1:\d+\)$/)],
		["site.ts", "(".repeat(100_000), DEEP],
		["site.ts", "<T>(".repeat(40), DEEP],
		["site.ts", `${"<T>(".repeat(40)}1${")".repeat(40)}`, DEEP],
		["frontend.tsx", "<a>({...".repeat(40), DEEP],
		["frontend.tsx", "<a>".repeat(100_000), DEEP],
	])("%s with an error: the message says what is wrong, and where", (filename, text, error) => {
		expect(compile(filename, text)).toEqual({ compiled: null, error });
	});
});

describe("a plugin is compiled to a script", () => {
	test.each([
		["module.exports = { a: 1 }", "module.exports = { a: 1 }"],
		["#!/usr/bin/env node\nexports.a = 1", "\nexports.a = 1"],
		["with (a < b > (c)) {}", "with (a < b > (c)) {}"],
		["export = { a: 1 }", expect.stringContaining("module.exports = { a: 1 }")],
		["export const a: number = 1", expect.stringContaining("exports.a = a")],
		["export const a = b < c > (d)", expect.stringContaining("b < c > (d)")],
		["import { type A } from 'x'; let a: A", expect.not.stringContaining("x")],
	])("%s", (source, compiled) => {
		expect(toScript(source)).toEqual({ compiled, error: null });
	});

	test.each([
		["export const = 5", "Unexpected token (1:14)"],
		["} evil(); {", expect.stringMatching(/\(1:\d+\)$/)],
		["return 1", expect.stringMatching(/\(1:\d+\)$/)],
		["import.meta", expect.stringMatching(/\(1:\d+\)$/)],
		["(".repeat(100_000), DEEP],
	])("%s: refused", (source, error) => {
		expect(toScript(source)).toEqual({ compiled: null, error });
	});
});

test("no input makes the compiler throw", () => {
	fc.assert(
		fc.property(
			fc.constantFrom("site.ts", "frontend.tsx"),
			fc.oneof(
				fc.string({ unit: "binary" }),
				fc
					.array(
						fc.constantFrom(
							..."const a = < > </ /> b { } ( ) : ; , => ` ' type as enum class @ export import".split(
								" ",
							),
						),
						{ maxLength: 20 },
					)
					.map((tokens) => tokens.join(" ")),
			),
			(filename, text) => {
				for (const { compiled, error } of [compile(filename, text), toScript(text)])
					expect([compiled === null, error === null].sort()).toEqual([false, true]);
			},
		),
		{ numRuns: 500 },
	);
});
