/**
 * `npm run mutants`: makes careless changes in the folders that decide who may do what and what is
 * delivered, one at a time, and runs the tests that should notice. `--folder auth` selects a
 * folder, `--sample 40` the number of changes in each (all by default), `--seed 1` which ones.
 * Lists the changes that no test noticed, and how many were noticed in each folder, by the tests of
 * `npm test` and by those of `npm run test:all` (docs/internals/mutants.md). Changed files are never
 * written to disk.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type * as z from "zod";
import { environment, fail, signalGroup } from "../../build/run.ts";
import { seeded } from "../../test/support/random.ts";
import { type Change, changed, changesOf } from "./changes.ts";
import { Answer, type Task } from "./messages.ts";

const root = realpathSync(`${import.meta.dirname}/../..`);

const SECURITY = "test/keys/security";

/**
 * The tests of each folder: its own, which run first, and slower ones and others through which it
 * is used.
 */
const FOLDERS: Record<string, [own: string[], others: string[]]> = {
	access: [
		[
			"test/access/",
			"test/db/tenant",
			"test/people/project_members/",
			"test/organizations/projects/",
			"test/http/etag",
		],
		[
			"test/app.test.ts",
			"test/people/members/",
			"test/activity/webhooks/webhooks",
			"test/http/retries",
			SECURITY,
		],
	],
	keys: [
		["addresses", "authenticate", "cookie", "key", "private_key", "ranges", "secrets", "usage"]
			.map((name) => `test/keys/${name}`)
			.concat("test/people/personal_api_keys/"),
		[
			...["test/app.test.ts", "test/people/service_accounts/", "test/sign_in/totp/"],
			...["test/oauth/", SECURITY],
		],
	],
	"people/invites": [
		["test/people/invites/"],
		["test/outbound/mail", "test/db/races", "test/http/retries"],
	],
	"sign_in/link": [
		["test/sign_in/link/", "test/sign_in/totp/"],
		["test/sign_in/passkey/", "test/people/users/mails", "test/keys/authenticate"],
	],
	"exports/engine": [
		["test/exports/engine/schedule", "test/exports/engine/windows", "test/exports/engine/run"],
		["test/exports/formats", "test/exports/engine/sources", "test/exports/destinations/"],
	],
	"exports/batch_exports": [
		["test/exports/batch_exports/"],
		["test/exports/engine/run", "test/exports/engine/schedule", "test/db/races"],
	],
	"activity/webhooks": [["test/activity/webhooks/"], ["test/activity/events/", "test/db/races"]],
};

const { values } = parseArgs({
	options: {
		folder: { type: "string", multiple: true, default: Object.keys(FOLDERS) },
		sample: { type: "string", default: "Infinity" },
		seed: { type: "string", default: "1" },
	},
});

type Mutant = { file: string; code: string; change: Change };

/** Returns all changes of a folder. */
const mutantsOf = (folder: string): Mutant[] =>
	readdirSync(`${root}/src/${folder}`, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".ts"))
		.sort()
		.map((name) => `${root}/src/${folder}/${name}`)
		.flatMap((file) => {
			const code = readFileSync(file, "utf8");
			return changesOf(code).map((change) => ({ file, code, change }));
		});

/** Returns some of the changes, in their order. */
function sampleOf(all: Mutant[], count: number, random: ReturnType<typeof seeded>) {
	const rest = [...all];
	const chosen = new Set<Mutant>();
	while (rest.length > 0 && chosen.size < count)
		for (const mutant of rest.splice(random.integer(0, rest.length - 1), 1)) chosen.add(mutant);
	return all.filter((mutant) => chosen.has(mutant));
}

const ENDED = "the end of the process";

/** Starts a process that runs tests. */
async function startRunner() {
	const child = fork(`${root}/judges/mutants/runner.ts`, {
		cwd: root,
		env: environment,
		detached: true,
		stdio: ["ignore", "ignore", "inherit", "ipc"],
	});
	const stop = () => signalGroup(child, "SIGKILL");
	process.once("exit", stop);
	let settle = (_failed: string | null) => {};
	child.on("message", (message) => settle(Answer.parse(message).failed));
	const ended = once(child, "exit").then(() => settle(ENDED));
	const answer = () =>
		new Promise<string | null>((resolve) => {
			settle = resolve;
		});
	if ((await answer()) === ENDED) fail("The tests can't be started.");
	return {
		/** Returns the first test that fails; null if none does. */
		run(task: z.infer<typeof Task>) {
			child.send(task);
			return answer();
		},
		async stop() {
			process.off("exit", stop);
			stop();
			await ended;
		},
	};
}

/** A change that makes the tests take this much longer hangs. */
const HANG_FACTOR = 4;
const HANG_MORE_MS = 120_000;

const lineOf = ({ code, change }: Mutant) => code.slice(0, change.start).split("\n").length;

/** Returns the lines that a change replaces, and what it replaces them by. */
function diffOf({ code, change }: Mutant) {
	const from = code.lastIndexOf("\n", change.start - 1) + 1;
	const to = code.indexOf("\n", change.end);
	const old = code.slice(from, to);
	const now = code.slice(from, change.start) + change.text + code.slice(change.end, to);
	const marked = (sign: string, text: string) =>
		text.split("\n").map((line) => `    ${sign} ${line.trim()}`);
	return [...marked("-", old), ...marked("+", now)].join("\n");
}

let runner = await startRunner();

/** Returns the test that notices a change, "a hang", or null. */
async function noticedBy({ file, code, change }: Mutant, tests: string[][], limit: number) {
	const hang = new AbortController();
	const result = await Promise.race([
		runner.run({ tests, file, code: changed(code, change) }),
		sleep(limit, "a hang", { signal: hang.signal }).catch(() => null),
	]);
	hang.abort();
	if (result === "a hang" || result === ENDED) {
		await runner.stop();
		runner = await startRunner();
	}
	return result;
}

/** Whether a test is one that only `npm run test:all` runs. */
const isOfFull = (test: string) => test.includes(".full.test.ts");

const scores: { folder: string; early: number; late: number; all: number }[] = [];
for (const folder of values.folder) {
	const tests = FOLDERS[folder];
	if (!tests) fail(`There is no folder ${folder}, only ${Object.keys(FOLDERS).join(", ")}.`);
	const all = mutantsOf(folder);
	const mutants = sampleOf(all, Number(values.sample), seeded(Number(values.seed)));
	console.log(`\n${folder}: ${mutants.length} of ${all.length} changes`);
	const start = performance.now();
	const failed = await runner.run({ tests });
	if (failed) fail(`Without a change, this fails: ${failed}`);
	const limit = HANG_FACTOR * (performance.now() - start) + HANG_MORE_MS;
	const score = { folder, early: 0, late: 0, all: mutants.length };
	for (const mutant of mutants) {
		const place = `${relative(root, mutant.file)}:${lineOf(mutant)}`;
		const by = await noticedBy(mutant, tests, limit);
		if (by) score[isOfFull(by) ? "late" : "early"] += 1;
		console.log(
			`  ${by ? "noticed" : "SURVIVED"} ${place} ${mutant.change.what}${by ? `, by ${by}` : ""}`,
		);
		if (!by) console.log(diffOf(mutant));
	}
	scores.push(score);
}
console.log("\nNoticed by npm test, only by npm run test:all, and not at all:");
for (const { folder, early, late, all } of scores)
	console.log(
		`  ${folder.padEnd(22)} ${[early, late, all - early - late].map((n) => String(n).padStart(4)).join("")} of ${all}`,
	);
await runner.stop();
process.exit();
