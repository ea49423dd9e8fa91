import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile, toScript } from "../../support/compiler.ts";

const DEEP = "The source is nested too deeply.";

describe("files for browsers are compiled", () => {
	test("site.ts keeps its imports and exports", async () => {
		const { compiled, error } = await compile(
			"site.ts",
			"export function inject({ config }: { config: Config }): void { (window as any).x = config?.y ?? <number>1 }",
		);
		expect(error).toBeNull();
		expect(compiled).toMatch(/^export function inject\(\{ config \}\)\s*\{/);
		expect(compiled).not.toMatch(/Config\b|any|number/);
	});

	test("frontend.tsx becomes calls to React.createElement", async () => {
		const source = "export const App = ({ a }: P) => <><b id={a}>hi &amp; bye</b></>;";
		expect(await compile("frontend.tsx", source)).toEqual({
			compiled:
				"export const App = ({ a }) => React.createElement(React.Fragment, null, React.createElement('b', { id: a,}, \"hi & bye\"  ));",
			error: null,
			capabilities: null,
		});
	});

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
	])(
		"%s with an error: the message says what is wrong, and where",
		async (filename, text, error) => {
			expect(await compile(filename, text)).toEqual({ compiled: null, error, capabilities: null });
		},
	);
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
	])("%s", async (source, compiled) => {
		expect(await toScript(source)).toMatchObject({ compiled, error: null });
	});

	test.each([
		["export const = 5", "Unexpected token (1:14)"],
		["} evil(); {", expect.stringMatching(/\(1:\d+\)$/)],
		["return 1", expect.stringMatching(/\(1:\d+\)$/)],
		["import.meta", expect.stringMatching(/\(1:\d+\)$/)],
		["(".repeat(100_000), DEEP],
	])("%s: rejected", async (source, error) => {
		expect(await toScript(source)).toEqual({ compiled: null, error, capabilities: null });
	});
});

test("no input makes the compiler throw", async () => {
	await fc.assert(
		fc.asyncProperty(
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
			async (filename, text) => {
				for (const { compiled, error } of [await compile(filename, text), await toScript(text)])
					expect([compiled === null, error === null].sort()).toEqual([false, true]);
			},
		),
		{ numRuns: 500 },
	);
});
