import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { GROUPS } from "../src/generated.ts";
import { programOf } from "../src/program.ts";
import { tenantry } from "./program.ts";

const environment = { TENANTRY_KEY: "tnt_key" };

test.each<[string[], string]>([
	[["domains", "get"], "Error: missing required argument 'id'\nSee: tenantry domains get --help\n"],
	[["domain"], "Error: unknown command 'domain' (Did you mean domains?)\nSee: tenantry --help\n"],
	[
		["projects", "list", "--limit", "x"],
		"Error: option '--limit <number>' argument 'x' is invalid. It must be an integer.\nSee: tenantry projects list --help\n",
	],
	[
		["projects", "list", "--all", "--limit", "1"],
		"Error: option '--all' cannot be used with option '--limit <number>'\nSee: tenantry projects list --help\n",
	],
	[
		["domains", "create"],
		"Error: domains create requires --domain (or --data). See: tenantry domains create --help\n",
	],
	[
		["exports", "create"],
		"Error: exports create requires --name, --destination, --interval (or --data). See: tenantry exports create --help\n",
	],
	[
		["invites", "create-many"],
		"Error: invites create-many requires --data. See: tenantry invites create-many --help\n",
	],
	[
		["domains", "create", "--data", "{"],
		"Error: --data must be JSON, @ and the name of a file with JSON, or - for stdin.\n",
	],
	[["domains", "create", "--data", "@/nowhere"], "Error: Can't read /nowhere: ENOENT.\n"],
	[
		["domains", "create", "--data", "[]", "--domain", "a.example"],
		"Error: --data must be an object, because options set its fields.\n",
	],
])("%j has exit code 2, and says where help is", async (words, err) => {
	expect(await tenantry(words, { environment })).toEqual({ code: 2, out: "", err });
});

describe("commands", () => {
	test("are in groups that the guide names", () => {
		const guide = readFileSync(`${import.meta.dirname}/../../../docs/cli.md`, "utf8");
		const [, rows = ""] = /\| Objects \| Groups \|\n(.+?)\n\n/s.exec(guide) ?? [];
		const named = [...rows.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
		expect(named.sort()).toEqual(GROUPS.map(({ name }) => name).sort());
	});

	test("exist for each operation of the API but the one that sends files, which has its own", () => {
		const document = JSON.parse(
			readFileSync(`${import.meta.dirname}/../../../public/openapi.json`, "utf8"),
		);
		const operations = Object.entries<Record<string, { summary: string }>>(document.paths)
			.filter(([path]) => path !== "/openapi.json" && !/^\/(invites|restorations|sso)\//.test(path))
			.flatMap(([, verbs]) => Object.values(verbs).map(({ summary }) => summary))
			.filter((summary) => summary !== "Download a file of a run");
		const commands = GROUPS.flatMap(({ commands }) => commands.map(({ summary }) => summary));
		expect(commands.sort()).toEqual(operations.sort());
	});

	test("have examples that they accept", async () => {
		const leaves = (command: Command): Command[] =>
			command.commands.length > 0 ? command.commands.flatMap(leaves) : [command];
		const pathOf = (command: Command): string[] =>
			command.parent ? [...pathOf(command.parent), command.name()] : [];
		let examples = 0;
		const program = programOf();
		for (const leaf of leaves(program)) {
			const path = pathOf(leaf);
			if (["complete", "completion", "help"].includes(path[0] ?? "")) continue;
			let help = "";
			leaf.configureOutput({ writeOut: (text) => (help += text) });
			leaf.outputHelp();
			const lines = [...help.replaceAll("\\\n", "").matchAll(/\$ tenantry (.+)/g)];
			expect(lines, path.join(" ")).not.toEqual([]);
			for (const [, line = ""] of lines) {
				const [first = ""] = line.split(/ [<&|]/);
				const words = [...first.matchAll(/'[^']*'|\S+/g)].map(([word]) =>
					word.replaceAll("'", "").replace("@file.json", "{}"),
				);
				if (words.slice(0, path.length).join() !== path.join()) continue;
				let ran = false;
				leaf.action(() => {
					ran = true;
				});
				await program.parseAsync(words, { from: "user" });
				expect(ran, line).toBe(true);
				examples += 1;
			}
		}
		expect(examples).toBeGreaterThan(200);
	});
});

describe("help", () => {
	test("shows the options of a command, and examples", async () => {
		const { code, out } = await tenantry(["exports", "create", "--help"], { environment });
		expect(code).toBe(0);
		expect(out).toContain("--interval <text>");
		expect(out).toContain(
			"\nExamples:\n  $ tenantry exports create --name 'My name' --destination @file.json --interval hour\n",
		);
	});

	test("of the program names every command", async () => {
		const { out } = await tenantry(["--help"], { environment });
		const text = out.replace(/\s+/g, " ");
		for (const group of programOf().commands) {
			if (group.commands.length === 0) continue;
			const names = group.commands.map((command) => command.name()).filter((n) => n !== "help");
			expect(text).toContain(` ${group.name()} ${names.join(", ")} `);
		}
		expect(text).toMatch(/ exports list, [^.]*, cancel-backfill, [^.]*run, download, once /);
	});

	test("of the program lists the groups by topic, people first", async () => {
		const { out } = await tenantry(["--help"], { environment });
		const topics = [...new Set(GROUPS.map(({ topic }) => topic))];
		const places = topics.map((topic) => out.indexOf(`\n${topic}:\n`));
		expect(places).toEqual(places.toSorted((a, b) => a - b));
		expect(places[0]).toBeGreaterThan(0);
		expect(out.indexOf("  members ")).toBeLessThan(out.indexOf("  exports "));
		expect(out).toMatch(/\nLogging in:\n {2}login /);
	});

	test("without a command is an error of usage", async () => {
		const { code, out, err } = await tenantry([], { environment });
		expect({ code, out }).toEqual({ code: 2, out: "" });
		expect(err).toContain("Usage: tenantry [options] [command]");
	});
});

test("completion knows commands, options and their values", async () => {
	const log = vi.spyOn(console, "log").mockReturnValue();
	const { argv } = process;
	onTestFinished(() => {
		process.argv = argv;
		log.mockRestore();
	});
	const complete = async (...given: string[]) => {
		const words = ["complete", "--", ...given];
		process.argv = ["node", "tenantry", ...words];
		log.mockClear();
		await tenantry(words, { environment });
		return log.mock.calls.slice(0, -1).map(([text]) => String(text).split("\t")[0]);
	};
	expect(await complete("exp")).toEqual(["exports"]);
	expect(await complete("exports", "b")).toEqual(["backfill", "backfills"]);
	expect(await complete("exports", "logs", "01a1fee4", "--fo")).toEqual(["--follow"]);
	expect(await complete("members", "update", "x", "--level", "")).toEqual([
		...["member", "admin", "owner"],
	]);
	expect(await complete("exports", "logs", "--level", "")).toEqual([
		...["DEBUG", "INFO", "WARNING", "ERROR"],
	]);
});
