import { describe, expect, test } from "vitest";
import { outputOf } from "../../../src/plugins/compiler/output.ts";

/** The methods, tasks and jobs of a main file, in a line; null if it doesn't compile. */
function capabilitiesOf(source: string) {
	const { capabilities } = outputOf({ filename: "index.js", source });
	if (!capabilities) return null;
	const { methods, scheduled_tasks, jobs } = capabilities;
	const lists = [methods, scheduled_tasks.map((name) => `task ${name}`)];
	return [...lists.flat(), ...jobs.map((name) => `job ${name}`)].join(", ");
}

describe("capabilities are inferred from the source", () => {
	test.each([
		["export function onEvent() {}", "onEvent"],
		["export async function onEvent() {}", "onEvent"],
		["function setupPlugin() {}", "setupPlugin"],
		["const processEvent = (event) => event", "processEvent"],
		["let getSettings = function () {}", "getSettings"],
		["const onEvent = wrap(() => {})", "onEvent"],
		["export default function onEvent() {}", "onEvent"],
		["#!/usr/bin/env node\nfunction onEvent() {}", "onEvent"],
		[
			"const a = () => {}, b = a; export { a as setupPlugin, b as teardownPlugin }",
			"setupPlugin, teardownPlugin",
		],
		["export { onEvent, x as exportEvents } from './other'", "onEvent, exportEvents"],
		[
			"export default { onEvent, composeWebhook() {}, jobs: { a() {} } }",
			"onEvent, composeWebhook, job a",
		],
		["const plugin = { onSnapshot: () => {} }; export default plugin", "onSnapshot"],
		[
			"module.exports = { onEvent, ['setupPlugin']: () => {}, jobs: { a, 'b-c': () => {}, 3() {} } }",
			"onEvent, setupPlugin, job a, job b-c, job 3",
		],
		["const all = { onEvent() {} }; module.exports = all", "onEvent"],
		[
			"exports.setupPlugin = async () => {}; module.exports.onEvent = f; module['exports']['getSettings'] = f",
			"setupPlugin, onEvent, getSettings",
		],
		[
			"exports.onEvent = exports.jobs = exports.composeWebhook = void 0; exports.jobs = { a: f }; exports.onEvent = f",
			"onEvent, job a",
		],
		["module.exports = exports = { onEvent() {} }", "onEvent"],
		[
			"export const runEveryMinute = () => {}; function runEveryHourOrSo() {} exports.runEveryDay = f",
			"task runEveryMinute, task runEveryHourOrSo, task runEveryDay",
		],
		["export const jobs = { a, b: async () => {}, c() {} }", "job a, job b, job c"],
		["const jobs = { a }; export { jobs }", "job a"],
		["const x = { a }; export { x as jobs }", "job a"],
		["const x = { a }; module.exports = { jobs: x }", "job a"],
		["module.exports.jobs = { a, ...b, [c]: d }", "job a"],
		["function onEvent() {} export { onEvent }; module.exports = { onEvent }", "onEvent"],
		["with ({}) {} function onEvent() {}", "onEvent"],
		["await 1; export function onEvent() {}", "onEvent"],
	])("JavaScript: %s", (source, expected) => {
		expect(capabilitiesOf(source)).toBe(expected);
	});

	test.each([
		[
			"import type { Plugin } from 'x'; export const onEvent: Plugin['onEvent'] = async (event: E, { config }: Meta): Promise<void> => {}",
			"onEvent",
		],
		["export const jobs: Jobs = { a: async (p: P) => {}, b } satisfies Jobs", "job a, job b"],
		["const plugin = { onEvent() {} } as const; export default plugin as Plugin", "onEvent"],
		[
			"interface Meta { jobs: { no: 1 } } declare function onEvent(): void; export function runEveryDay<T>(meta: T) {}",
			"task runEveryDay",
		],
		["export = { onEvent() {} }", "onEvent"],
		[
			"enum A { B } export type onEvent = A; export const exportEvents = <T,>(x: T) => x",
			"exportEvents",
		],
	])("TypeScript: %s", (source, expected) => {
		expect(capabilitiesOf(source)).toBe(expected);
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
	])("no capabilities: %s", (source) => {
		expect(capabilitiesOf(source)).toBe("");
	});

	test.each<[what: string, source: string]>([
		["an open function", "export function onEvent() {"],
		["braces the wrong way round", "}{"],
		["a zero byte", "\0"],
		["an element", "<div>"],
		["deeply nested, balanced parentheses", `${"(".repeat(100_000)}1${")".repeat(100_000)}`],
		...[
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
		].map((text): [string, string] => [`${text}, repeated 100,000 times`, text.repeat(100_000)]),
	])("none, as it doesn't compile: %s", (_, source) => {
		expect(outputOf({ filename: "index.js", source })).toEqual({
			compiled: null,
			error: expect.any(String),
			capabilities: null,
		});
	});

	test("a long chain of assignments is followed to its value", () => {
		const names = Array.from({ length: 1000 }, (_, i) => `exports.x${i}`);
		expect(capabilitiesOf(`exports.onEvent = ${names.join(" = ")} = f`)).toBe("onEvent");
	});
});
