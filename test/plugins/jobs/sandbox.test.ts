import { env } from "cloudflare:workers";
import { v7 } from "uuid";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { type Run, run } from "../../../src/plugins/jobs/sandbox.ts";
import { toScript } from "../../support/compiler.ts";
import { stopClock, withoutPatience } from "../../support/time.ts";

// Each call of a plugin compares the time with the limit of its run.
beforeEach(() => stopClock());

/** Runs the job `go` of a plugin with an empty storage, unless `options` say otherwise. */
async function runPlugin(source: string, options: Partial<Run> = {}) {
	const stored = new Map<string, string>();
	const result = await run(env.LOADER, {
		isolate: null,
		script: await toScript(source),
		call: { kind: "job", type: "go", payload: {} },
		config: {},
		secrets: [],
		storage: {
			get: async (key) => stored.get(key) ?? null,
			set: async (key, json) => Boolean(stored.set(key, json)),
			del: async (key) => void stored.delete(key),
		},
		...options,
	});
	for (const entry of result.entries)
		expect(entry).toEqual({
			timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
			source: expect.stringMatching(/^(SYSTEM|PLUGIN|CONSOLE)$/),
			level: expect.stringMatching(/^(DEBUG|LOG|INFO|WARN|ERROR)$/),
			message: expect.any(String),
		});
	return {
		...result,
		stored,
		lines: result.entries.map(({ source, level, message }) => `${source} ${level} ${message}`),
	};
}

const go = (body: string) => `export const jobs = { go: async (payload, meta) => { ${body} } };`;

/** Checks that another run still works, whatever the one before did. */
const expectNextRunToWork = async () =>
	expect(await runPlugin(go("console.log(1, [2], 'three')"))).toMatchObject({
		lines: ["CONSOLE LOG 1 [2] three"],
		error: null,
	});

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

	test("a scheduled task runs the function of its name", async () => {
		const call = { kind: "task", name: "runEveryHour" } as const;
		const source = "export const runEveryHour = (meta) => meta.logger.log('tick');";
		expect(await runPlugin(source, { call })).toMatchObject({
			lines: ["PLUGIN LOG tick"],
		});
		expect(
			await runPlugin("function runEveryHour() { console.log('tick') }", { call }),
		).toMatchObject({
			lines: ["CONSOLE LOG tick"],
		});
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

	test("a run fails if the runtime has no sandbox", async () => {
		const message = "This runtime has no sandbox (LOADER), so plugins don't run.";
		const { entries, error } = await run(undefined, {
			isolate: null,
			script: await toScript(go("")),
			call: { kind: "job", type: "go", payload: {} },
			config: {},
			secrets: [],
			storage: {
				get: async () => null,
				set: async () => true,
				del: async () => {},
			},
		});
		expect({ entries, error }).toMatchObject({
			entries: [{ source: "SYSTEM", level: "ERROR", message }],
			error: message,
		});
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

describe("a failure is reported and affects no other run", () => {
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
		expect(entries.at(-1)).toMatchObject({
			source: "SYSTEM",
			level: "ERROR",
			message: error,
		});
		await expectNextRunToWork();
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

	test("a job named like a method of Object.prototype doesn't exist", async () => {
		expect(
			(
				await runPlugin("export const jobs = {}", {
					call: { kind: "job", type: "constructor", payload: {} },
				})
			).error,
		).toBe("The plugin has no job 'constructor'.");
	});

	test("a task whose name is code doesn't exist", async () => {
		expect(
			(
				await runPlugin("", {
					call: { kind: "task", name: "x: 1 }; throw 1; ({ y" },
				})
			).error,
		).toMatch(/^The plugin has no task/);
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
		await expectNextRunToWork();
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
			go("for (let i = 0; i < 1_000_000; i++) console.log(i);"),
		);
		expect(error).toBeNull();
		expect(lines).toHaveLength(1001);
		expect(lines[999]).toBe("CONSOLE LOG 999");
		expect(lines[1000]).toBe(
			"SYSTEM WARN The run wrote more than 1000 entries; the others were dropped.",
		);
		const exactly = await runPlugin(go("for (let i = 0; i < 1000; i++) console.log(i);"));
		expect(exactly.lines).toHaveLength(1000);
		await expectNextRunToWork();
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
		const never = await runPlugin(go("await new Promise(() => {})"), {
			timeout: 300,
		});
		expect(never.error).toEqual(expect.any(String));
		await expectNextRunToWork();
	});

	test("nothing is stored or logged after a run is over", async () => {
		const { stored, entries } = await runPlugin(
			go(
				"setTimeout(() => { console.log('late'); meta.storage.set('late', 1) }, 100); await new Promise((resolve) => setTimeout(resolve, 60_000));",
			),
			{ timeout: 50 },
		);
		await scheduler.wait(200);
		expect(stored.size).toBe(0);
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
		await expectNextRunToWork();
	});

	test.each([
		"{ source: 'SYSTEM', type: 'INFO', message: 'forged' }",
		"{ source: 'PLUGIN', type: 'FATAL', message: 'forged' }",
		"{ source: 'PLUGIN', type: 'INFO', message: { forged: 1 } }",
		"{ source: 'PLUGIN', type: 'INFO', message: () => 'forged' }",
		"null",
		"'forged'",
		"() => 'forged'",
		"[['forged']]",
	])("an invalid log entry is ignored: %s", async (forged) => {
		const { lines } = await runPlugin(
			go(`const set = function () {
				Object.defineProperty(this, 0, { value: ${forged}, configurable: true, enumerable: true, writable: true });
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
		await expectNextRunToWork();
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
		await expectNextRunToWork();
	});

	test("a plugin can't exceed the limits of the storage", async () => {
		const { lines, stored, error } = await runPlugin(
			go(`const attempt = async (key, value) => { try { await meta.storage.set(key, value) } catch (error) { console.log(error.message) } };
			await attempt("", 1); await attempt("x".repeat(201), 1); await attempt({}, 1); await attempt("big", "x".repeat(65536)); await attempt("cycle", (() => { const a = {}; a.a = a; return a })());
			await attempt("fits", "x".repeat(65534)); await attempt("nothing", undefined); await attempt("gone", 1); await meta.storage.del("gone");
			for (let i = 0; i < 1000; i++) await meta.storage.set("k" + i % 3, i);`),
		);
		expect(lines.slice(0, 4)).toEqual([
			"CONSOLE LOG A key must be a string of 1 to 200 characters.",
			"CONSOLE LOG A key must be a string of 1 to 200 characters.",
			"CONSOLE LOG A key must be a string of 1 to 200 characters.",
			"CONSOLE LOG A value must be JSON of at most 65536 characters.",
		]);
		expect(error).toBe("Error: A run may call the storage at most 900 times.");
		expect([...stored.keys()]).toEqual(["fits", "nothing", "k0", "k1", "k2"]);
	});

	test("the error of a failed storage call reveals no reason", async () => {
		const { error } = await runPlugin(go("await meta.storage.set('k', 1)"), {
			storage: {
				get: async () => null,
				set: async () => {
					throw new Error("D1 at 10.0.0.1 is down");
				},
				del: async () => {},
			},
		});
		expect(error).toBe("Error: The storage failed.");
	});

	describe("storage calls", () => {
		/** A storage that counts its calls. Each is in progress until `work` resolves. */
		const counting = (work: () => Promise<unknown>) => {
			const count = { started: 0, inProgress: 0, max: 0 };
			const call = async () => {
				count.started += 1;
				count.inProgress += 1;
				count.max = Math.max(count.max, count.inProgress);
				await work();
				count.inProgress -= 1;
				return null;
			};
			return {
				count,
				storage: { get: call, set: async () => true, del: async () => {} },
			};
		};
		const concurrently = (calls: number) =>
			`await Promise.all(Array.from({ length: ${calls} }, (_, i) => meta.storage.get("k" + i)));`;

		test("wait while 50 others are in progress", async () => {
			const full = Promise.withResolvers<void>();
			const { count, storage } = counting(async () => {
				if (count.inProgress === 50) full.resolve();
				await full.promise;
			});
			const { error } = await runPlugin(go(concurrently(800)), { storage });
			expect(error).toBeNull();
			expect(count).toEqual({ started: 800, inProgress: 0, max: 50 });
		});

		test("don't keep timers from firing", async () => {
			const { storage } = counting(() => env.DB.prepare("select 1").run());
			let fired = 0;
			const timer = setInterval(() => {
				fired += 1;
			}, 1);
			await runPlugin(go(concurrently(800)), { storage });
			clearInterval(timer);
			expect(fired).toBeGreaterThan(0);
		});

		test("don't delay the end of a run at its time limit, and none starts after it", async () => {
			const full = Promise.withResolvers<void>();
			const released = Promise.withResolvers<void>();
			const { count, storage } = counting(() => {
				if (count.inProgress === 50) full.resolve();
				return released.promise;
			});
			const run = () => runPlugin(go(concurrently(3000)), { storage });
			const { error } = await withoutPatience(run, full.promise);
			expect(error).toBe("The run was stopped: it took longer than 10 s.");
			expect(count.started).toBe(50);
			released.resolve();
			await expectNextRunToWork();
			expect(count).toMatchObject({ started: 50, inProgress: 0 });
		});

		test("check the time limit themselves, since a timer may not fire while calls keep arriving", async () => {
			vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
			try {
				const { count, storage } = counting(async () => vi.setSystemTime(Date.now() + 1000));
				const { error } = await runPlugin(go(`for (;;) await meta.storage.get("k");`), { storage });
				expect(error).toBe("The run was stopped: it took longer than 10 s.");
				expect(count.started).toBe(10);
			} finally {
				vi.useRealTimers();
			}
		});

		test("are rejected with a result instead of an error, which the runtime would report as uncaught", async () => {
			type Call = (...values: unknown[]) => Promise<object>;
			const results: object[] = [];
			const load = () => ({
				getEntrypoint: () => ({
					async run({ host }: { host: Record<"get" | "set" | "del", Call> }) {
						for (const call of [host.get, host.set, host.del])
							results.push(await call("", "1"), await call("k", "1"));
						results.push(await host.set("k", "no JSON"));
						for (let i = 0; i < 900; i++) await host.get("");
						results.push(await host.get("k"));
						return null;
					},
				}),
			});
			const fails = async () => {
				throw new Error("It is down.");
			};
			const { error } = await run(Object.assign(Object.create(env.LOADER), { load }), {
				isolate: null,
				script: await toScript(go("")),
				call: { kind: "job", type: "go", payload: {} },
				config: {},
				secrets: [],
				storage: { get: fails, set: async () => false, del: async () => {} },
			});
			expect(error).toBeNull();
			const rejection = expect.any(String);
			expect(results).toEqual([
				{ rejection },
				{ rejection: "The storage failed." },
				{ rejection },
				{ rejection: "The storage is full: it can hold 1,000 keys and 1 MiB." },
				{ rejection },
				{},
				{ rejection },
				{ rejection: "A run may call the storage at most 900 times." },
			]);
		});

		test.each([
			["too many", `get("k")`, 900],
			["without a key", `get("")`, 0],
			["with too large a value", `set("k", "x".repeat(65_536))`, 0],
		])("that continue after being rejected (%s) stop the run", async (_, call, started) => {
			const { storage, count } = counting(async () => {});
			const { error } = await runPlugin(
				go(`for (;;) await meta.storage.${call}.catch(() => {});`),
				{
					storage,
				},
			);
			expect(error).toBe("The run was stopped: it called the storage more than 5000 times.");
			expect(count.started).toBe(started);
			await expectNextRunToWork();
		});
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

describe("secrets", () => {
	const secrets = ["hunter22", 'quo"te\n5', "abc", "hunter22extended"];

	test("appear in no entry and no error", async () => {
		const { lines, error } = await runPlugin(
			go(
				`console.log(meta.config.a, meta.config, "abc"); throw new Error("x" + meta.config.a + meta.config.c)`,
			),
			{
				secrets,
				config: { a: "hunter22", b: 'quo"te\n5', c: "hunter22extended" },
			},
		);
		expect(lines[0]).toBe('CONSOLE LOG *** {"a":"***","b":"***","c":"***"} abc');
		expect(error).toBe("Error: x******");
	});

	test("appear in no truncated entry, not even in part", async () => {
		const { lines } = await runPlugin(
			go(
				`console.log("x".repeat(3995) + meta.config.a); console.log(meta.config.a.repeat(3000)); console.log("x" + meta.config.a.repeat(3000));`,
			),
			{ secrets, config: { a: "hunter22" } },
		);
		const filled = (text: string) => `CONSOLE LOG ${text}…`;
		expect(lines).toEqual([
			filled("x".repeat(3995)),
			filled("***".repeat(500)),
			filled(`x${"***".repeat(500)}`),
		]);
	});
});
