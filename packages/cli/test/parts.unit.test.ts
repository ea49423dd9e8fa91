import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	rmSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { type Command, CommanderError } from "commander";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { configPath, saved } from "../src/config.ts";
import { UsageError } from "../src/failure.ts";
import { follow } from "../src/follow.ts";
import { GROUPS } from "../src/generated.ts";
import { locked } from "../src/lock.ts";
import { headsOf } from "../src/output.ts";
import { isScope } from "../src/path.ts";
import { programOf } from "../src/program.ts";
import type { Pages } from "../src/session.ts";
import { cell, columns } from "../src/text.ts";

afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
	vi.unstubAllEnvs();
});

describe("an id that @me or @current can replace", () => {
	/** The commands whose first argument has such an id. */
	const commands = GROUPS.flatMap(({ name, commands }) =>
		commands
			.filter(({ path }) => path.filter((field) => !isScope(field))[0]?.alias !== undefined)
			.map((command) => ({ words: [name, command.name], command })),
	);

	/** Runs a command without arguments. Returns whether it started. */
	async function starts(program: Command, [group = "", name = ""]: string[]) {
		const leaf = program.commands
			.find((command) => command.name() === group)
			?.commands.find((command) => command.name() === name);
		if (!leaf) throw new Error(`There is no command ${group} ${name}.`);
		const run = vi.fn();
		leaf.action(run).configureOutput({ outputError: () => undefined });
		await program.parseAsync([group, name], { from: "user" }).catch((error: unknown) => {
			if (!(error instanceof CommanderError && error.code === "commander.missingArgument"))
				throw error;
		});
		return run.mock.calls.length === 1;
	}

	test("must be given to commands that change something, and not to those that read", async () => {
		const program = programOf();
		const started: Record<string, boolean> = {};
		const expected: Record<string, boolean> = {};
		for (const { words, command } of commands) {
			const isOnly = command.path.filter((field) => !isScope(field)).length === 1;
			started[words.join(" ")] = await starts(program, words);
			expected[words.join(" ")] = command.verb === "GET" && isOnly;
		}
		expect(started).toEqual(expected);
		expect(started).toMatchObject({
			"organizations get": true,
			"organizations delete": false,
			"organizations update": false,
			"keys get": true,
			"keys revoke": false,
			"keys roll": false,
			"users update": false,
		});
	});
});

describe("a cell of a table", () => {
	test("has one line", () => {
		expect(cell("one\ntwo\r\n\tthree\u2028four\u00a0 five")).toBe("one two three four five");
	});

	test("has no characters that control a terminal or turn text around", () => {
		expect(cell("\u001b[31m")).toBe("\ufffd[31m");
		for (const [first, last] of [
			[0x00, 0x08],
			[0x0e, 0x1f],
			[0x7f, 0x9f],
			[0x202a, 0x202e],
			[0x2066, 0x2069],
		] as const)
			for (let code = first; code <= last; code += 1) {
				const text = cell(`a${String.fromCodePoint(code)}b`);
				expect([code.toString(16), text]).toEqual([code.toString(16), "a\ufffdb"]);
			}
		expect(cell("é 日本 👩‍👩‍👧")).toBe("é 日本 👩‍👩‍👧");
	});

	test("has objects as JSON, and nothing for null", () => {
		expect(cell({ a: ["\u0007"] })).toBe('{"a":["\\u0007"]}');
		expect(cell(null)).toBe("");
		expect(cell(0)).toBe("0");
		expect(cell(false)).toBe("false");
	});
});

describe("a table in a terminal", () => {
	const ids = [
		"01a21a4e-434b-7593-816a-ae83cd96bad8",
		"01a21a4e-1a22-7242-b395-74f181542b44",
	] as const;
	const rows = [
		["ID", "NAME", "LEVEL", "RUN ID"],
		[ids[0], "A name of forty characters, or a little", "8", ids[1]],
	];

	test("is complete if it fits", () => {
		expect(columns(rows, 122)).toEqual(columns(rows));
	});

	test("omits other ids before it shortens anything, and keeps the first id whole", () => {
		expect(columns(rows, 121)).toEqual([
			`ID${" ".repeat(36)}NAME${" ".repeat(37)}LEVEL`,
			`${ids[0]}  A name of forty characters, or a little  8`,
		]);
		expect(columns(rows, 80)).toEqual([
			`ID${" ".repeat(36)}NAME${" ".repeat(33)}LEVEL`,
			`${ids[0]}  A name of forty characters, or a l…  8`,
		]);
	});

	test("omits a column rather than making it too narrow to read", () => {
		expect(columns(rows, 62)[1]).toBe(`${ids[0]}  A name of forty charact…`);
		expect(columns(rows, 61)[1]).toBe(`${ids[0]}  8`);
	});

	test("has a different head for each column", () => {
		expect(headsOf(["id", "created_by.email", "is_verified", "verified_at", "joined_at"])).toEqual([
			...["ID", "CREATED BY", "IS VERIFIED", "VERIFIED AT", "JOINED"],
		]);
		for (const { name, commands } of GROUPS)
			for (const { name: command, columns: fields = [] } of commands) {
				const heads = headsOf(fields);
				expect(new Set(heads).size, `${name} ${command}: ${heads}`).toBe(heads.length);
				// Longer ones could be shortened.
				for (const head of heads) expect(head.length, head).toBeLessThanOrEqual(24);
			}
	});

	test("starts with the id that other commands take, and ends with other ids", () => {
		const columnsOf = (group: string, command: string) =>
			GROUPS.find(({ name }) => name === group)?.commands.find(({ name }) => name === command)
				?.columns ?? [];
		expect(columnsOf("exports", "runs").slice(0, 3)).toEqual(["id", "status", "records_completed"]);
		expect(columnsOf("exports", "runs").at(-1)).toBe("backfill_id");
		expect(columnsOf("exports", "logs")).toEqual([
			...["timestamp", "level", "message", "id", "run_id"],
		]);
		expect(columnsOf("exports", "list").slice(0, 3)).toEqual([
			"id",
			"paused",
			"latest_runs.0.status",
		]);
		expect(columnsOf("exports", "list")).toContain("latest_runs.0.latest_error");
		expect(columnsOf("members", "list").slice(0, 2)).toEqual(["user.uuid", "user.email"]);
		expect(columnsOf("projects", "list")).toEqual([
			...["id", "name", "access_control", "created_at", "timezone", "organization"],
		]);
	});
});

describe("the saved key", () => {
	const SAVED = { url: "https://tenantry.test", key: "tnt_key" };

	/** Saves a file with these permissions. */
	function save(mode: number, text = JSON.stringify(SAVED)) {
		const home = mkdtempSync(`${tmpdir()}/tenantry-config-`);
		onTestFinished(() => rmSync(home, { recursive: true, force: true }));
		vi.stubEnv("XDG_CONFIG_HOME", home);
		mkdirSync(`${home}/tenantry`);
		writeFileSync(configPath(), text);
		chmodSync(configPath(), mode);
	}

	test.skipIf(process.platform === "win32")(
		"is used only if nobody else has any permission for the file",
		() => {
			for (const mode of [0o600, 0o400, 0o700]) {
				save(mode);
				expect(saved()).toEqual(SAVED);
			}
			for (const mode of [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o666]) {
				save(mode);
				expect(saved, mode.toString(8)).toThrow(
					new UsageError(`Others can read ${configPath()}. Run: chmod 600 ${configPath()}`),
				);
			}
		},
	);

	test("is never part of an error", () => {
		for (const text of ["{tnt_secret", '{"key":"tnt_secret"}', '"tnt_secret"']) {
			save(0o600, text);
			expect(saved).toThrow(new UsageError(`${configPath()} is damaged. Run: tenantry login`));
		}
	});
});

describe("a lock", () => {
	/** Returns the path of a file, and a function that makes its lock as old as one of a killed program. */
	function file() {
		const folder = mkdtempSync(`${tmpdir()}/tenantry-lock-`);
		onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
		const path = `${folder}/file`;
		const long = new Date(Date.now() - 120_000);
		return { path, age: () => utimesSync(`${path}.lock`, long, long) };
	}

	/** Takes the lock, and keeps it until `end` is called. */
	async function hold(path: string) {
		const { promise, resolve } = Promise.withResolvers<undefined>();
		const has = Promise.withResolvers<undefined>();
		const done = locked(path, () => {
			has.resolve(undefined);
			return promise;
		});
		const end = () => {
			resolve(undefined);
			return done;
		};
		return { has: has.promise, end };
	}

	test("that another program has taken over, because this one slept, stays with the other", async () => {
		const { path, age } = file();
		const slept = await hold(path);
		await slept.has;
		age();
		const other = await hold(path);
		await other.has;
		await slept.end();
		expect(existsSync(`${path}.lock`)).toBe(true);
		await other.end();
		expect(existsSync(`${path}.lock`)).toBe(false);
	});
});

describe("a log that is followed", () => {
	const NOW = Date.UTC(2026, 2, 10, 12);
	const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();

	/** Follows a log whose requests get these entries in turn. Returns what was asked and printed. */
	async function following(answers: { id: string; timestamp: string }[][]) {
		vi.useFakeTimers({ toFake: ["Date"], now: NOW });
		const asked: unknown[] = [];
		let printed = "";
		vi.spyOn(process.stdout, "write").mockImplementation((text, ...rest) => {
			printed += text;
			for (const done of rest) if (typeof done === "function") done();
			return true;
		});
		const end = new Error("There are no more answers.");
		const read = (parameters: Record<string, unknown>): Pages => {
			const entries = answers[asked.length];
			asked.push(parameters.after);
			if (!entries) throw end;
			vi.setSystemTime(Date.now() + 1000);
			const page = { results: entries, count: entries.length, next: null };
			return Object.assign(Promise.resolve(page), {
				async *[Symbol.asyncIterator]() {
					yield* entries;
				},
			});
		};
		const options = { json: true, interval: 0 };
		await expect(follow(read, [], options)).rejects.toBe(end);
		const ids = printed.split("\n").filter((line) => line !== "");
		return { asked, ids: ids.map((line) => JSON.parse(line).id) };
	}

	test("is read again from a minute before its newest entry, and prints each entry once", async () => {
		const [a, b, c, d] = [
			{ id: "a", timestamp: at(-600) },
			{ id: "b", timestamp: at(-500) },
			// This one appears later than `b`, but is older.
			{ id: "c", timestamp: at(-530) },
			{ id: "d", timestamp: at(-400) },
		];
		const { asked, ids } = await following([[b, a], [b, c], [d, b], []]);
		expect(asked).toEqual([undefined, at(-560), at(-560), at(-460), at(-460)]);
		expect(ids).toEqual(["a", "b", "c", "d"]);
	});

	test("that is empty at first is read from a minute before the command started", async () => {
		const a = { id: "a", timestamp: at(-30) };
		const { asked, ids } = await following([[], [], [a]]);
		expect(asked).toEqual([undefined, at(-60), at(-60), at(-90)]);
		expect(ids).toEqual(["a"]);
	});
});
