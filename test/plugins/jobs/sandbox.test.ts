import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Run } from "../../../src/plugins/jobs/sandbox.ts";
import { stopClock, withoutPatience } from "../../support/time.ts";
import { go, runPlugin } from "./run_plugin.ts";

// Each call of a plugin compares the time with the limit of its run.
beforeEach(() => stopClock());

describe("a plugin is run", () => {
	test.each([
		["an ES module", "export const jobs = { go: () => console.log('ran') };"],
		["a default export", "export default { jobs: { go() { console.log('ran') } } };"],
		[
			"TypeScript",
			"export const jobs = { go: (n: number): void => { console.log('ran' as string) } };",
		],
		["module.exports", "module.exports = { jobs: { go: () => console.log('ran') } };"],
		["exports.jobs", "exports.jobs = { go: () => console.log('ran') };"],
		["a top-level name", "const jobs = { go: () => console.log('ran') }; // the end"],
		["an alias", "const x = { go: () => console.log('ran') }; export { x as jobs };"],
		[
			"code with top-level await",
			"const word = await 'ran'; export const jobs = { go: () => console.log(word) };",
		],
		[
			"sloppy-mode code",
			"ran = 'ran'; with ({ a: 1 }) { module.exports = { jobs: { go: () => console.log(ran) } } }",
		],
	])("that is %s", async (_, source) => {
		expect(await runPlugin(source)).toMatchObject({
			lines: ["CONSOLE LOG ran"],
			error: null,
		});
	});

	test("with its payload, config, logger and storage, after setupPlugin", async () => {
		const { lines, error, stored } = await runPlugin(
			`let ready = "no";
			export async function setupPlugin({ config, global }) { ready = config.name; global.x = 1; }
			export const jobs = { async go(payload, { config, storage, logger, global }) {
				logger.log(ready, payload); logger.info(1n); logger.debug(undefined); logger.warn([]); logger.error(new TypeError("x"));
				console.debug("d"); console.info("i"); console.warn("w"); console.error("e", null);
				await storage.set("k", { a: [1] });
				logger.log(await storage.get("k"), await storage.get("none"), await storage.get("none", 5), global.x);
			} };`,
			{
				call: { kind: "job", type: "go", payload: { a: 1 } },
				config: { name: "n" },
			},
		);
		expect(lines).toEqual([
			'PLUGIN LOG n {"a":1}',
			"PLUGIN INFO 1",
			"PLUGIN DEBUG undefined",
			"PLUGIN WARN []",
			"PLUGIN ERROR TypeError: x",
			"CONSOLE DEBUG d",
			"CONSOLE INFO i",
			"CONSOLE WARN w",
			"CONSOLE ERROR e null",
			'PLUGIN LOG {"a":[1]} null 5 1',
		]);
		expect(error).toBeNull();
		expect([...stored]).toEqual([["k", '{"a":[1]}']]);
	});

	test.each([
		"export const runEveryHour = (meta) => meta.logger.log('tick');",
		"function runEveryHour(meta) { meta.logger.log('tick') }",
	])("as a scheduled task, which is the function of its name: %s", async (source) => {
		const call = { kind: "task", name: "runEveryHour" } as const;
		expect(await runPlugin(source, { call })).toMatchObject({ lines: ["PLUGIN LOG tick"] });
	});

	test("in a new isolate, where nothing is left from the run before, if it has none to share", async () => {
		const source = go("console.log(globalThis.seen); globalThis.seen = true;");
		await runPlugin(source);
		expect((await runPlugin(source)).lines).toEqual(["CONSOLE LOG undefined"]);
	});

	test("without the runtime's cache, which all plugins would share", async () => {
		const source = go("console.log(typeof caches, typeof globalThis.caches)");
		expect((await runPlugin(source)).lines).toEqual(["CONSOLE LOG undefined undefined"]);
	});
});

describe("a run in the isolate of an earlier one", () => {
	const source = `let top; export const runEveryHour = go; export const jobs = { go };
		function go(...args) {
			const { global } = args.at(-1);
			console.log(globalThis.seen, top, global.seen);
			globalThis.seen = top = global.seen = true;
		}`;
	const NOTHING = ["CONSOLE LOG undefined undefined undefined"];
	const EVERYTHING = ["CONSOLE LOG true true true"];
	const sharing = () => ({ isolate: v7(), config: { token: "a" } });
	const calling = (payload: unknown): Partial<Run> => ({
		call: { kind: "job", type: "go", payload },
	});

	test("finds what that left in globals, in the plugin's module scope and in meta.global", async () => {
		const shared = sharing();
		expect((await runPlugin(source, shared)).lines).toEqual(NOTHING);
		expect((await runPlugin(source, shared)).lines).toEqual(EVERYTHING);
	});

	test("is the same for jobs and scheduled tasks", async () => {
		const shared = { ...sharing(), tasks: ["runEveryHour"] };
		await runPlugin(source, shared);
		const call = { kind: "task", name: "runEveryHour" } as const;
		expect((await runPlugin(source, { ...shared, call })).lines).toEqual(EVERYTHING);
	});

	test.each<[string, Partial<Run>, string?]>([
		["config or generation", { isolate: "another" }],
		["source", {}, `${source} // changed`],
		["values of the config", { config: { token: "b" } }],
		["network", { hosts: ["example.com"] }],
		["limits", { timeout: 9000 }],
		["isolate of its own", { isolate: null }],
	])("never is that of a run with another %s", async (_, other, changed = source) => {
		const shared = sharing();
		await runPlugin(source, shared);
		expect((await runPlugin(changed, { ...shared, ...other })).lines).toEqual(NOTHING);
		expect((await runPlugin(source, shared)).lines).toEqual(EVERYTHING);
	});

	test("has its own log, and the earlier run's logger writes nowhere", async () => {
		const shared = sharing();
		const source = go(
			"globalThis.log?.('old'); meta.logger.log(payload); globalThis.log ??= meta.logger.log;",
		);
		for (const payload of [1, 2])
			expect((await runPlugin(source, { ...shared, ...calling(payload) })).lines).toEqual([
				`PLUGIN LOG ${payload}`,
			]);
	});

	test("can't use the earlier run's storage", async () => {
		const shared = sharing();
		const source = go(`const { storage } = (globalThis.first ??= meta);
			await storage.set("k", 1);`);
		expect((await runPlugin(source, shared)).error).toBeNull();
		const again = await runPlugin(source, { ...shared, timeout: 10_000 });
		expect(again.error).toEqual(expect.any(String));
		expect([...again.stored]).toEqual([]);
	});

	test("isn't disturbed by what the earlier run left unfinished", async () => {
		const shared = sharing();
		const source = go(`if (payload === 1) setInterval(() => console.log("late"), 1);
			await new Promise((resolve) => setTimeout(resolve, 50));
			if (payload === 2) console.log("done");`);
		expect(await runPlugin(source, { ...shared, ...calling(1) })).toMatchObject({ error: null });
		expect(await runPlugin(source, { ...shared, ...calling(2) })).toMatchObject({
			lines: ["CONSOLE LOG done"],
			error: null,
		});
	});
});

describe("a failure is reported", () => {
	test.each([
		["throws", go("throw new TypeError('no')"), "TypeError: no"],
		["throws a text", go("throw 'no'"), "no"],
		["throws nothing", go("throw undefined"), "undefined"],
		["throws an object", go("throw { a: 1 }"), '{"a":1}'],
		[
			"throws an unreadable value",
			go(
				"throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } , getPrototypeOf() { throw 3 } })",
			),
			"[unreadable]",
		],
		[
			"throws an error whose message throws",
			go(
				"const e = new Error(); Object.defineProperty(e, 'message', { get() { throw e } }); throw e",
			),
			"[unreadable]",
		],
		["rejects", go("return Promise.reject(new RangeError('no'))"), "RangeError: no"],
		[
			"rejects a promise that nothing awaits",
			go("Promise.reject(new RangeError('no'))"),
			"Unhandled rejection: RangeError: no",
		],
		[
			"throws in an async function that nothing awaits",
			go(
				"(async () => { await meta.storage.get('k'); throw 'no' })(); await meta.storage.get('k');",
			),
			"Unhandled rejection: no",
		],
		[
			"rejects in setupPlugin",
			`export const setupPlugin = () => { Promise.reject(undefined) }; ${go("")}`,
			"Unhandled rejection: undefined",
		],
		["throws at the top level", `throw new Error('no'); ${go("")}`, "Error: no"],
		[
			"throws in setupPlugin",
			`export const setupPlugin = () => { throw new Error('no') }; ${go("")}`,
			"Error: no",
		],
		[
			"has a getter that throws",
			"module.exports = { get jobs() { throw new Error('no') } }",
			"Error: no",
		],
		[
			"has a syntax error",
			"export const = 5",
			"The plugin can't be parsed: Unexpected token (1:14)",
		],
		[
			"breaks out of its function",
			"} console.log(1); {",
			"The plugin can't be parsed: Unexpected token (1:1)",
		],
		["has no such job", "export const jobs = {}", "The plugin has no job 'go'."],
		["has no jobs", "", "The plugin has no job 'go'."],
		["exports nothing", "module.exports = null", "The plugin has no job 'go'."],
		[
			"has a job that is not a function",
			"export const jobs = { go: 1 }",
			"The plugin has no job 'go'.",
		],
		[
			"imports a module",
			`import fs from "fs"; ${go("fs.x()")}`,
			"Error: Cannot find module 'fs': plugins can't import modules.",
		],
		["exits", go("process.exit(1)"), "ReferenceError: process is not defined"],
		[
			"calls eval",
			go("eval('1')"),
			"EvalError: Code generation from strings disallowed for this context",
		],
		[
			"calls fetch",
			go("await fetch('http://127.0.0.1:1/')"),
			expect.stringContaining("not permitted to access the internet"),
		],
		[
			"opens a socket",
			go("const { connect } = await import('cloudflare:sockets'); connect('127.0.0.1:1')"),
			expect.any(String),
		],
		[
			"overflows the stack",
			go("const f = () => f() + 1; f()"),
			"RangeError: Maximum call stack size exceeded",
		],
	])("a plugin that %s", async (_, source, message) => {
		const { error, entries } = await runPlugin(source);
		expect(error).toEqual(message);
		expect(entries.at(-1)).toMatchObject({ source: "SYSTEM", level: "ERROR", message: error });
	});

	test("each unhandled rejection is in the log, also of a job that throws", async () => {
		const { lines, error } = await runPlugin(
			go("Promise.reject(1); Promise.reject(2); throw new Error('no')"),
		);
		expect(error).toBe("Error: no");
		expect(lines).toEqual([
			"PLUGIN ERROR Unhandled rejection: 1",
			"PLUGIN ERROR Unhandled rejection: 2",
			"SYSTEM ERROR Error: no",
		]);
	});

	test("a rejection that is handled later is no failure", async () => {
		const source = go(`const late = Promise.reject(new Error("no"));
			await new Promise((resolve) => setTimeout(resolve, 5));
			await late.catch((error) => console.log(error.message));`);
		expect(await runPlugin(source)).toMatchObject({ error: null, lines: ["CONSOLE LOG no"] });
	});

	test("a job or task with a name of another meaning doesn't exist", async () => {
		for (const [call, error] of [
			[{ kind: "job", type: "constructor", payload: {} }, /^The plugin has no job 'constructor'/],
			[{ kind: "task", name: "x: 1 }; throw 1; ({ y" }, /^The plugin has no task/],
		] as const)
			expect((await runPlugin("export const jobs = {}", { call })).error).toMatch(error);
	});

	test.each([
		"return () => 1",
		"const a = {}; a.a = a; return a",
		"return 'x'.repeat(50_000_000)",
		"return 10n ** 1000n",
		"return { then(resolve) { resolve({ entries: [{ source: 'SYSTEM' }] }) } }",
		"return new Proxy({}, { get(_, name) { if (name !== 'then') throw 1 } })",
		"return Symbol()",
	])("an invalid return value is ignored: %s", async (body) => {
		expect(await runPlugin(go(body))).toMatchObject({ entries: [], error: null });
	});

	test("any value can be logged", async () => {
		const { lines } = await runPlugin(
			go(`const a = { n: 1n }; a.a = a; console.log(a, Symbol("s"), () => 1, new Map(), 10n);
			console.log({ get x() { throw 1 } }, { toJSON() { throw 1 } }, Object.create(null), { toJSON() {} });
			console.log("\\ud800", "a\\0b"); console.log(); console.log("x".repeat(50_000_000));`),
		);
		expect(lines).toHaveLength(5);
		expect(lines[0]).toBe('CONSOLE LOG {"n":"1n","a":"[seen]"} Symbol(s) () => 1 {} 10');
		expect(lines[4]).toBe(`CONSOLE LOG ${"x".repeat(4000)}…`);
	});

	test("of a flood of log entries, the first thousand are kept", async () => {
		const { lines, error } = await runPlugin(
			go("for (let i = 0; i < 100_000; i++) console.log(i);"),
		);
		expect(error).toBeNull();
		expect(lines).toHaveLength(1001);
		expect(lines[999]).toBe("CONSOLE LOG 999");
		expect(lines[1000]).toMatch(/^SYSTEM WARN The run wrote more than 1000 entries/);
	});

	test("a run that never ends is stopped, and its log is kept", async () => {
		const { promise: waiting, resolve } = Promise.withResolvers<void>();
		const storage = {
			get: async () => null,
			set: async () => true,
			del: async () => resolve(),
		};
		const run = () =>
			runPlugin(
				go(
					"console.log('waiting'); await meta.storage.set('k', 1); await meta.storage.del('k'); await new Promise((resolve) => setTimeout(resolve, 60_000));",
				),
				{ storage },
			);
		const { lines, error } = await withoutPatience(run, waiting);
		expect(error).toBe("The run was stopped: it took longer than 10 s.");
		expect(lines).toEqual(["CONSOLE LOG waiting", `SYSTEM ERROR ${error}`]);
	});

	test("a run ends at its time limit while its storage calls hang, and none starts after it", async () => {
		const full = Promise.withResolvers<void>();
		const released = Promise.withResolvers<null>();
		const get = vi.fn(() => {
			if (get.mock.calls.length === 50) full.resolve();
			return released.promise;
		});
		const storage = { get, set: async () => true, del: async () => {} };
		const source = go(
			'await Promise.all(Array.from({ length: 800 }, (_, i) => meta.storage.get("k" + i)));',
		);
		const { error } = await withoutPatience(() => runPlugin(source, { storage }), full.promise);
		expect(error).toBe("The run was stopped: it took longer than 10 s.");
		released.resolve(null);
		expect(await runPlugin(go("console.log('next')"))).toMatchObject({
			lines: ["CONSOLE LOG next"],
			error: null,
		});
		expect(get).toHaveBeenCalledTimes(50);
	});

	test("nothing is stored or logged after a run is over", async () => {
		const waiting = Promise.withResolvers<void>();
		const released = Promise.withResolvers<null>();
		const get = () => {
			waiting.resolve();
			return released.promise;
		};
		const set = vi.fn(async () => true);
		const source = go(
			'await meta.storage.get("k"); console.log("late"); await meta.storage.set("late", 1);',
		);
		const run = () => runPlugin(source, { storage: { get, set, del: async () => {} } });
		const { entries } = await withoutPatience(run, waiting.promise);
		released.resolve(null);
		await scheduler.wait(60);
		expect(set).not.toHaveBeenCalled();
		expect(entries).toHaveLength(1);
	});

	test.each([
		"JSON.stringify = JSON.parse = () => { throw 1 }",
		"globalThis.Promise = null",
		"Promise.prototype.then = Promise.prototype.catch = () => { throw 1 }",
		"globalThis.console = { log() { throw 1 } }",
		"Array.prototype.push = Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw 1 }",
		"Object.prototype.then = (resolve) => resolve('SYSTEM')",
		"Object.defineProperty(Object.prototype, 'source', { set() { throw 1 }, get: () => 'SYSTEM' })",
		"Object.defineProperty(Array.prototype, '0', { set(line) { line.source = 'SYSTEM' } })",
		"String.prototype.slice = () => ({})",
		"globalThis.queueMicrotask = () => { throw 1 }",
		"for (const name of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[name] } catch {}",
	])("a plugin can't forge entries by tampering with globals: %s", async (body) => {
		const { lines } = await runPlugin(go(`${body}; meta.logger.log('x');`), {
			timeout: 1000,
		});
		expect(lines.filter((line) => line.startsWith("SYSTEM LOG"))).toEqual([]);
	});

	test("an invalid log entry is ignored", async () => {
		const { lines } = await runPlugin(
			go(`const set = function () {
				Object.defineProperty(this, 0, { value: [["forged"]], configurable: true, enumerable: true, writable: true });
			};
			Object.defineProperty(Array.prototype, 0, { configurable: true, set });
			meta.logger.log("replaced");
			delete Array.prototype[0];
			meta.logger.log("honest");`),
		);
		expect(lines).toEqual(["PLUGIN LOG honest"]);
	});

	test("a plugin that aborts its isolate fails", async () => {
		const { error } = await runPlugin(
			go("const { abortIsolate } = await import('cloudflare:workers'); abortIsolate('gone')"),
			{ timeout: 1000 },
		);
		expect(error).toEqual(expect.any(String));
	});

	test("a plugin that starts the guest code again gets a separate console, and the log stays that of the first", async () => {
		const { lines, error } = await runPlugin(
			`export const jobs = {
				async go(payload, meta) {
					const { default: Guest } = await import("./guest.js");
					const host = { log: async (lines) => received.push(...lines.map(({ message }) => message)) };
					const call = { kind: "job", type: "inner" };
					const result = await new Guest({}, {}).run({ call, config: {}, host, maxEntries: 9, maxLength: 99 });
					console.log("after");
					await null;
					meta.logger.log(result, received);
				},
				inner: (payload, meta) => meta.logger.log("inner"),
			};
			const received = [];`,
			{ timeout: 1000 },
		);
		expect(lines).toEqual(['PLUGIN LOG null ["inner","after"]']);
		expect(error).toBeNull();
	});

	test("a rejected storage call throws its reason, up to the limits of a run", async () => {
		const { lines, stored, error } = await runPlugin(
			go(`await meta.storage.set("", 1).catch((error) => console.log(error.message));
			await meta.storage.set("nothing", undefined);
			await meta.storage.set("gone", 1); await meta.storage.del("gone");
			for (let i = 0; i < 1000; i++) await meta.storage.set("k" + i % 3, i);`),
		);
		expect(lines[0]).toBe("CONSOLE LOG A key must be a string of 1 to 200 characters.");
		expect(error).toBe("Error: A run may call the storage at most 900 times.");
		expect([...stored.keys()]).toEqual(["nothing", "k0", "k1", "k2"]);
		expect(stored.get("nothing")).toBe("null");
	});

	test("a value that a plugin sets without awaiting is stored when its run ends", async () => {
		const { stored } = await runPlugin(go("meta.storage.set('k', 1)"));
		expect([...stored]).toEqual([["k", "1"]]);
	});
});

describe("a plugin can connect to its allowed hosts", () => {
	const hosts = ["127.0.0.1:9"];

	test("a plugin can't connect to hosts that aren't allowed", async () => {
		const { error } = await runPlugin(go("await fetch('https://example.com/secret')"), { hosts });
		expect(error).toBe("Error: This plugin may not reach example.com.");
	});

	test("a plugin receives the responses of its allowed hosts", async () => {
		const { lines } = await runPlugin(
			go(
				"const answer = await fetch('https://example.com/'); console.log(answer.status, await answer.text())",
			),
			{ hosts: ["example.com"] },
		);
		expect(lines).toEqual(["CONSOLE LOG 599 Tests reach no host."]);
	});

	test("a plugin doesn't follow redirects to hosts that aren't allowed", async () => {
		const { host } = new URL(env.NPM_REGISTRY_URL);
		const url = `${env.NPM_REGISTRY_URL}straying/-/1.1.0.tgz`;
		const { lines, error } = await runPlugin(
			go(
				`const answer = await fetch("${url}", { redirect: "manual" }); console.log(answer.status);
				await fetch("${url}");`,
			),
			{ hosts: [host] },
		);
		expect(lines[0]).toBe("CONSOLE LOG 302");
		expect(error).toBe(`Error: This plugin may not reach ${new URL(env.FOREIGN_URL).host}.`);
	});

	test("a plugin opens no sockets, not even to its allowed hosts", async () => {
		const { host, hostname, port } = new URL(env.DOH_SILENT);
		const { lines } = await runPlugin(
			go(
				`const { connect } = await import("cloudflare:sockets");
				const socket = connect({ hostname: "${hostname}", port: ${port} });
				const { done, value } = await socket.readable.getReader().read();
				console.log(done, value);`,
			),
			{ hosts: [host] },
		);
		expect(lines).toEqual(["CONSOLE LOG true undefined"]);
	});
});

test("secrets appear in no entry and no error", async () => {
	const config = { a: "hunter22", b: 'quo"te\n5', c: "hunter22extended" };
	const { lines, error } = await runPlugin(
		go(`console.log(meta.config.a, meta.config); throw new Error("x" + meta.config.a)`),
		{ secrets: Object.values(config), config },
	);
	expect(lines[0]).toBe('CONSOLE LOG *** {"a":"***","b":"***","c":"***"}');
	expect(error).toBe("Error: x***");
});
