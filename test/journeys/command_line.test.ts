/** The command line as a process. packages/cli/test has the tests within a process. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, expect, inject, test } from "vitest";
import { FILE, start } from "../../packages/cli/test/process.ts";
import { newMember, newOrganization } from "../console/support/browser.ts";

const home = mkdtempSync(`${tmpdir()}/tenantry-cli-`);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const { url } = inject("console");
// A user of its own: another test's new organization would become the owner's current one.
const key = await newMember((await newOrganization()).organization.id);
const loggedIn = { XDG_CONFIG_HOME: home };
const withKey = { XDG_CONFIG_HOME: home, TENANTRY_URL: url, TENANTRY_KEY: key };

const tenantry = (words: string[], environment: Record<string, string> = withKey) =>
	start(words, { environment }).result();

test("a login in a terminal doesn't show the key, and is used by the next command", async () => {
	const login = start(["login", "--key"], { environment: loggedIn, isInTerminal: true });
	await login.says(/URL of the service/);
	login.child.stdin.write(`${url}\n`);
	await login.says(/API key/);
	login.child.stdin.write(`${key}\n`);
	expect(await login.ended).toBe(0);
	expect(login.printed.out).not.toContain(key);
	const file = `${home}/tenantry/default.json`;
	expect(readFileSync(file, "utf8")).toContain(key);
	expect(statSync(file).mode & 0o777).toBe(0o600);
	const { code, out } = await tenantry(["whoami"], loggedIn);
	expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(`service  ${url}\n`) });
});

test("a key comes from stdin, and Ctrl-C at a question ends with 130", async () => {
	const words = ["login", "--url", url];
	const environment = { XDG_CONFIG_HOME: `${home}/other` };
	const saved = await start([...words, "--key-stdin"], { environment }).result(`${key}\n`);
	expect(saved).toMatchObject({ code: 0, err: "" });
	const login = start([...words, "--key"], { environment, isInTerminal: true });
	await login.says(/API key/);
	login.child.stdin.write("\u0003");
	expect(await login.ended).toBe(130);
});

test("exit codes tell an error of the service, of usage and of the network apart", async () => {
	const nowhere = { ...withKey, TENANTRY_URL: "http://127.0.0.1:1" };
	const ends = await Promise.all([
		tenantry(["domains", "get", crypto.randomUUID()]),
		tenantry(["domains", "get"]),
		tenantry(["whoami"], nowhere),
	]);
	expect(ends.map(({ code }) => code)).toEqual([1, 2, 3]);
	expect(ends.map(({ out }) => out)).toEqual(["", "", ""]);
});

test("a list ends quietly when the reader of a pipe has enough", () => {
	const list = `"${process.execPath}" "${FILE}" projects list --all --json`;
	const out = execFileSync("bash", ["-c", `{ ${list} | true; echo "\${PIPESTATUS[0]}"; } 2>&1`], {
		env: { ...process.env, ...withKey },
		encoding: "utf8",
	});
	expect(out).toBe("0\n");
});

test("logs are followed until Ctrl-C", async () => {
	const destination = JSON.stringify({ type: "R2", config: { prefix: "followed" } });
	const { out } = await tenantry([
		...["exports", "create", "--name", "Followed", "--interval", "hour"],
		...["--destination", destination, "--json"],
	]);
	const { id }: { id: string } = JSON.parse(out);
	const logs = start(["exports", "logs", id, "--follow", "--interval", "0.2"], {
		environment: withKey,
	});
	const run = await tenantry(["exports", "run", id, "--watch", "--interval", "0.2"]);
	expect(run.code, run.err).toBe(0);
	await logs.says(/The backfill from .* is complete/);
	logs.child.kill("SIGINT");
	expect(await logs.ended).toBe(130);
	const listed = await tenantry(["exports", "logs", id, "--all", "--json"]);
	const messages = listed.out
		.trimEnd()
		.split("\n")
		.map((line): string => JSON.parse(line).message);
	const followed = logs.printed.out.trimEnd().split("\n");
	expect(followed.map((line) => line.split("  ")[2])).toEqual(messages.reverse());
});

test.each([
	["bash", /^complete .*tenantry/m],
	["zsh", /^#compdef tenantry/],
	["fish", /^complete .*tenantry/m],
])("%s gets a script for completion", async (shell, registers) => {
	const { code, out } = await tenantry(["completion", shell]);
	expect(code).toBe(0);
	expect(out).toContain("tenantry complete --");
	expect(out).toMatch(registers);
	if (shell === "bash") execFileSync("bash", ["-n"], { input: out });
});
