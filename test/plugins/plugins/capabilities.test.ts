import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toScript } from "../../support/compiler.ts";

const capabilitiesOf = async (source: string) => (await toScript(source)).capabilities;

const none = { methods: [], scheduled_tasks: [], jobs: [] };

describe("capabilities are inferred from the source", () => {
	test.each([
		["export function onEvent() {}", { methods: ["onEvent"] }],
		["export async function onEvent() {}", { methods: ["onEvent"] }],
		["function setupPlugin() {}", { methods: ["setupPlugin"] }],
		["const processEvent = (event) => event", { methods: ["processEvent"] }],
		["let getSettings = function () {}", { methods: ["getSettings"] }],
		["const onEvent = wrap(() => {})", { methods: ["onEvent"] }],
		["export default function onEvent() {}", { methods: ["onEvent"] }],
		["#!/usr/bin/env node\nfunction onEvent() {}", { methods: ["onEvent"] }],
		[
			"const a = () => {}, b = a; export { a as setupPlugin, b as teardownPlugin }",
			{ methods: ["setupPlugin", "teardownPlugin"] },
		],
		[
			"export { onEvent, x as exportEvents } from './other'",
			{ methods: ["onEvent", "exportEvents"] },
		],
		[
			"export default { onEvent, composeWebhook() {}, jobs: { a() {} } }",
			{ methods: ["onEvent", "composeWebhook"], jobs: ["a"] },
		],
		["const plugin = { onSnapshot: () => {} }; export default plugin", { methods: ["onSnapshot"] }],
		[
			"module.exports = { onEvent, ['setupPlugin']: () => {}, jobs: { a, 'b-c': () => {}, 3() {} } }",
			{ methods: ["onEvent", "setupPlugin"], jobs: ["a", "b-c", "3"] },
		],
		["const all = { onEvent() {} }; module.exports = all", { methods: ["onEvent"] }],
		[
			"exports.setupPlugin = async () => {}; module.exports.onEvent = f; module['exports']['getSettings'] = f",
			{ methods: ["setupPlugin", "onEvent", "getSettings"] },
		],
		[
			"exports.onEvent = exports.jobs = exports.composeWebhook = void 0; exports.jobs = { a: f }; exports.onEvent = f",
			{ methods: ["onEvent"], jobs: ["a"] },
		],
		["module.exports = exports = { onEvent() {} }", { methods: ["onEvent"] }],
		[
			"export const runEveryMinute = () => {}; function runEveryHourOrSo() {} exports.runEveryDay = f",
			{
				scheduled_tasks: ["runEveryMinute", "runEveryHourOrSo", "runEveryDay"],
			},
		],
		["export const jobs = { a, b: async () => {}, c() {} }", { jobs: ["a", "b", "c"] }],
		["const jobs = { a }; export { jobs }", { jobs: ["a"] }],
		["const x = { a }; export { x as jobs }", { jobs: ["a"] }],
		["const x = { a }; module.exports = { jobs: x }", { jobs: ["a"] }],
		["module.exports.jobs = { a, ...b, [c]: d }", { jobs: ["a"] }],
		[
			"function onEvent() {} export { onEvent }; module.exports = { onEvent }",
			{ methods: ["onEvent"] },
		],
		["with ({}) {} function onEvent() {}", { methods: ["onEvent"] }],
		["await 1; export function onEvent() {}", { methods: ["onEvent"] }],
	])("JavaScript: %s", async (source, expected) => {
		expect(await capabilitiesOf(source)).toEqual({ ...none, ...expected });
	});

	test.each([
		[
			"import type { Plugin } from 'x'; export const onEvent: Plugin['onEvent'] = async (event: E, { config }: Meta): Promise<void> => {}",
			{ methods: ["onEvent"] },
		],
		["export const jobs: Jobs = { a: async (p: P) => {}, b } satisfies Jobs", { jobs: ["a", "b"] }],
		[
			"const plugin = { onEvent() {} } as const; export default plugin as Plugin",
			{ methods: ["onEvent"] },
		],
		[
			"interface Meta { jobs: { no: 1 } } declare function onEvent(): void; export function runEveryDay<T>(meta: T) {}",
			{ scheduled_tasks: ["runEveryDay"] },
		],
		["export = { onEvent() {} }", { methods: ["onEvent"] }],
		[
			"enum A { B } export type onEvent = A; export const exportEvents = <T,>(x: T) => x",
			{ methods: ["exportEvents"] },
		],
	])("TypeScript: %s", async (source, expected) => {
		expect(await capabilitiesOf(source)).toEqual({ ...none, ...expected });
	});

	test.each([
		"",
		"// export function onEvent() {}",
		"/* export function onEvent() {} */",
		"const text = 'export function onEvent() {}'",
		"const text = `$1 export function onEvent() {} exports.onEvent = f`",
		"const pattern = /exports.onEvent = f/",
		"function f() { function onEvent() {} exports.onEvent = onEvent; const jobs = { a } }",
		"export const onEvent = 5, processEvent = 'f', jobs = [1], exportEvents = {}, getSettings = null",
		"import { onEvent } from './other'",
		"export * from './other'",
		"other.onEvent = f; other.exports.onEvent = f; onEvent = f; exports[onEvent] = f",
		"export function onevent() {} export function everyRunEveryMinute() {} export function constructor() {}",
		"class onEvent {}",
		"if (x) { exports.onEvent = f }",
	])("no capabilities: %s", async (source) => {
		expect(await capabilitiesOf(source)).toEqual(none);
	});
});

describe("no source makes the inference fail", () => {
	test.each([
		["an open function", "export function onEvent() {"],
		["braces the wrong way round", "}{"],
		["a zero byte", "\0"],
		["an element", "<div>"],
		["deeply nested, balanced parentheses", `${"(".repeat(100_000)}1${")".repeat(100_000)}`],
	])("%s: has none, as it doesn't compile", async (_, source) => {
		expect(await toScript(source)).toEqual({
			compiled: null,
			error: expect.any(String),
			capabilities: null,
		});
	});

	test.each([
		"(",
		"[",
		"{",
		"a=>",
		"!",
		"a?",
		"`${",
		"new ",
		"a.b(",
		"<a>",
		"if(1)",
		"exports.a=",
		"a+",
	])("%s, repeated 100,000 times", async (text) => {
		expect(await capabilitiesOf(text.repeat(100_000))).toBeNull();
	});

	test("a long chain of assignments is followed to its value", async () => {
		const names = Array.from({ length: 1000 }, (_, i) => `exports.x${i}`);
		expect(await capabilitiesOf(`exports.onEvent = ${names.join(" = ")} = f`)).toEqual({
			...none,
			methods: ["onEvent"],
		});
	});

	test("any text yields lists without duplicates", async () => {
		const words = fc.constantFrom(
			..."export default const function module . exports = { } ( ) => jobs onEvent : , ; [ ] ` ${ < > ? async await class \\ / ' \" 0 \n @ # import from as type enum".split(
				/ /,
			),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.oneof(
					fc.string({ unit: "binary" }),
					fc.array(words, { maxLength: 25 }).map((tokens) => tokens.join(" ")),
				),
				async (source) => {
					for (const list of Object.values((await capabilitiesOf(source)) ?? {}))
						expect(new Set(list).size).toBe(list.length);
				},
			),
			{ numRuns: 500 },
		);
	});
});
