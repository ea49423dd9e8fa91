import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environment as offline, signalGroup } from "../../build/run.ts";
import { discard, folder, freePort, Server } from "../support/server.ts";

type Block = {
	commands: string;
	/** What they print, as the page shows it; undefined if it shows nothing. */
	output?: string | undefined;
};

/** The commands of a page, each with the output below it. */
function blocks(name = "getting-started.md"): Block[] {
	const page = readFileSync(`docs/${name}`, "utf8");
	const fences = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)];
	return fences.flatMap(([, language, text = ""], i) =>
		language === "sh"
			? [
					{
						commands: text,
						output: fences[i + 1]?.[1] === "sh" ? undefined : fences[i + 1]?.[2],
					},
				]
			: [],
	);
}

/** Values that differ in each run. */
const ANY: [pattern: RegExp, any: string][] = [
	[/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g, "<uuid>"],
	[/"(id|plugin)": \d+/g, '"$1": <number>'],
];

const withoutValues = (text: string) =>
	ANY.reduce((text, [pattern, any]) => text.replace(pattern, any), text).trim();

/** Matches an output as the page shows it, where `…` stands for any text. */
const pattern = (output: string) =>
	new RegExp(
		`^${withoutValues(output)
			.split("…")
			.map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
			.join("[\\s\\S]*?")}$`,
	);

let state: string;
let server: Server;
let shell: ChildProcess;
/** The lines that the shell prints. */
let lines: AsyncIterator<string>;
let replacements: [string, string][];

beforeAll(async () => {
	state = folder();
	mkdirSync(`${state}/tmp`);
	const [port, receiver] = [await freePort(), await freePort()];
	replacements = [
		["8790", String(receiver)],
		["/tmp/", `${state}/tmp/`],
	];
	server = new Server({ PORT: String(port), STATE_DIR: state });
	await server.says(/Press Ctrl-C/);
	// The page asks for these lines to be pasted. No other variable is set.
	const variables = server.printed.match(/^ *export .+$/gm) ?? [];
	shell = spawn("bash", [], {
		env: offline,
		stdio: ["pipe", "pipe", "inherit"],
		detached: true,
	});
	if (!shell.stdout) throw new Error("The shell has no output.");
	lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
	shell.stdin?.write(`${variables.join("\n")}\n`);
});

afterAll(async () => {
	signalGroup(shell, "SIGKILL");
	await server.stop();
	discard(state);
});

/** What a shell prints to stdout when the commands are pasted into it. */
async function paste(commands: string) {
	const printed: string[] = [];
	const text = replacements.reduce((text, [from, to]) => text.replaceAll(from, to), commands);
	shell.stdin?.write(`${text}\necho; echo "done with the block"\n`);
	for (;;) {
		const { value, done } = await lines.next();
		if (done || value === "done with the block") return withoutValues(printed.join("\n"));
		printed.push(value);
	}
}

/**
 * Whether the commands can be repeated until they print what is expected, because they change
 * nothing or only test.
 */
const isRepeatable = (commands: string) =>
	commands.includes("/test/") || !/ -d | -X |--data|&$/m.test(commands);

test("npm start prints an example that works, and where the documentation is", async () => {
	const [example = ""] = /curl .*@current.*/.exec(server.printed) ?? [];
	const printed = await paste(example);
	expect(printed).toContain('"name": "My organization"');
	expect(printed).toContain('"membership_level": 15');
	const [, docs = ""] = await server.says(/documentation is at (\S+\/docs),/);
	expect((await fetch(docs)).status).toBe(200);
	const document = await (await fetch(new URL("/openapi.json", docs))).json();
	expect(document).toMatchObject({ openapi: "3.1.0", info: { title: "Tenantry" } });
});

test("the commands of docs/getting-started.md print what the page shows", async () => {
	expect(blocks().length).toBeGreaterThan(10);
	for (const { commands, output } of blocks()) {
		const printed = await paste(commands);
		if (output === undefined) continue;
		if (pattern(output).test(printed)) continue;
		expect(isRepeatable(commands), `${commands}\n${printed}`).toBe(true);
		await expect
			.poll(() => paste(commands), { timeout: 300_000, interval: 1000 })
			.toMatch(pattern(output));
	}
});

test("all commands can be pasted at once", async () => {
	await paste("api /organizations/@current/domains/$DOMAIN/ -X DELETE");
	const printed = await paste(
		`${blocks()
			.map(({ commands }) => commands)
			.join("\n")}\napi /projects/@current/batch_exports/ | grep '"name"'; wait; jobs`,
	);
	expect(printed).toContain('"message": "Hello Ada, greeting number 1"');
	expect(printed).toContain('"total_runs": 3');
	const [, after] = printed.split('"event":"paid"\n');
	// Only the export that npm start created is left, and no receiver.
	expect(after?.trim()).toMatch(/^"name": "Sample events[^\n]+$/);
});

/**
 * The requests in the examples of the other pages. They use the functions that this page defines.
 * Generated clients have their own test (packages/client/test/generators.test.ts).
 */
const requests = readdirSync("docs")
	.filter((name) => name.endsWith(".md") && name !== "getting-started.md")
	.flatMap((page) => blocks(page).map(({ commands }) => ({ page, commands })))
	.filter(({ commands }) => /\b(api \/|curl )/.test(commands) && !commands.includes("go run"));

test("the requests in the other pages succeed", async () => {
	expect(requests.length).toBeGreaterThan(5);
	await paste('cd /tmp/; curl() { command curl -sS "$@"; }');
	for (const { page, commands } of requests) {
		const printed = await paste(`${commands.trimEnd()}; echo "exit code $?"`);
		expect(printed, page).toMatch(/exit code 0$/);
		expect(printed, page).not.toMatch(/"detail": |"isError":true/);
	}
});

test("npm start prints the requests, and the link in the invite's mail", async () => {
	const lines = [
		/POST \/api\/organizations\/@current\/invites 201 \d+ ms 2 trips/,
		/POST \/api\/invites\/…\/accept 200 \d+ ms \d trips/,
		/A mail was sent to \S+@example\.\w+: \S+\.txt, with the link http:\/\/localhost:\d+\/invites\/[\w-]{43}/,
	];
	await expect.poll(() => lines.filter((line) => !line.test(server.printed))).toEqual([]);
});
