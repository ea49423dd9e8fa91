import { beforeEach, expect, test } from "vitest";
import { stopClock } from "../../support/time.ts";
import { go, runPlugin } from "./run_plugin.ts";

beforeEach(() => stopClock());

test.each([
	["overflows the stack", go("const f = () => f() + 1; f()")],
	["never ends", go("await new Promise(() => {})")],
	["rejects a promise that nothing awaits", go("Promise.reject(new RangeError('no'))")],
	["tampers with globals", go("Promise.prototype.then = null; throw 1")],
	[
		"aborts its isolate",
		go("const { abortIsolate } = await import('cloudflare:workers'); abortIsolate('gone')"),
	],
	["logs a million entries", go("for (let i = 0; i < 1_000_000; i++) console.log(i); throw 1")],
	["uses too many storage calls", go(`for (;;) await meta.storage.get("k").catch(() => {});`)],
	[
		"uses storage with too large values",
		go(`for (;;) await meta.storage.set("k", "x".repeat(65_536)).catch(() => {});`),
	],
])("a plugin that %s fails, and affects no other run", async (_, source) => {
	const { error } = await runPlugin(source, { timeout: 3000 });
	expect(error).toEqual(expect.any(String));
	expect(await runPlugin(go("console.log(1, [2], 'three')"))).toMatchObject({
		lines: ["CONSOLE LOG 1 [2] three"],
		error: null,
	});
});
