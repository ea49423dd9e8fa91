import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { capabilitiesOf } from "../../src/plugins/capabilities.ts";

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
		["export { x as 'onEvent' }; const x = () => {}", { methods: ["onEvent"] }],
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
	])("JavaScript: %s", (source, expected) => {
		expect(capabilitiesOf(source)).toEqual({ ...none, ...expected });
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
	])("TypeScript: %s", (source, expected) => {
		expect(capabilitiesOf(source)).toEqual({ ...none, ...expected });
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
		"export function onEvent() {",
		"}{",
		"\0",
		"<div>",
	])("no capabilities: %s", (source) => {
		expect(capabilitiesOf(source)).toEqual(none);
	});
});

describe("no source makes the inference fail", () => {
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
	])("%s, repeated 100,000 times", (text) => {
		expect(capabilitiesOf(text.repeat(100_000))).toEqual(none);
	});

	test("deeply nested, balanced parentheses", () => {
		expect(capabilitiesOf(`${"(".repeat(100_000)}1${")".repeat(100_000)}`)).toEqual(none);
	});

	test("a long chain of assignments is followed to its value", () => {
		const names = Array.from({ length: 1000 }, (_, i) => `exports.x${i}`);
		expect(capabilitiesOf(`exports.onEvent = ${names.join(" = ")} = f`)).toEqual({
			...none,
			methods: ["onEvent"],
		});
	});

	test("any text yields lists without duplicates", () => {
		const words = fc.constantFrom(
			..."export default const function module . exports = { } ( ) => jobs onEvent : , ; [ ] ` ${ < > ? async await class \\ / ' \" 0 \n @ # import from as type enum".split(
				/ /,
			),
		);
		fc.assert(
			fc.property(
				fc.oneof(
					fc.string({ unit: "binary" }),
					fc.array(words, { maxLength: 25 }).map((tokens) => tokens.join(" ")),
				),
				(source) => {
					const { methods, scheduled_tasks, jobs } = capabilitiesOf(source);
					for (const list of [methods, scheduled_tasks, jobs])
						expect(new Set(list).size).toBe(list.length);
				},
			),
			{ numRuns: 500 },
		);
	});
});
