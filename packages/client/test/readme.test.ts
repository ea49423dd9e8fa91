import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { findProgram } from "../../../test/support/peers.ts";

const execute = promisify(execFile);
const root = `${import.meta.dirname}/../../..`;

const readme = readFileSync(`${import.meta.dirname}/../README.md`, "utf8");
const [, example = ""] = /```js\n(.*?)```/s.exec(readme) ?? [];

/** Runs the example where the package is found by its name. */
async function runExample(program: string, ...words: string[]) {
	mkdirSync(`${root}/node_modules/.cache`, { recursive: true });
	const folder = mkdtempSync(`${root}/node_modules/.cache/readme-`);
	try {
		writeFileSync(`${folder}/example.mjs`, example.replace("http://localhost:8787", inject("url")));
		const { stdout } = await execute(program, [...words, `${folder}/example.mjs`], {
			env: { ...process.env, KEY: inject("keys").readme },
		});
		return stdout;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const OUTPUT = /^\S+@example\.com is a member of .+\.\nOur website has the id \d+\.\n$/;

test("the README's example has at most ten lines of code, and works in Node", async () => {
	expect(example.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
	expect(await runExample(process.execPath)).toMatch(OUTPUT);
});

test.skipIf(!findProgram("deno"))("the README's example works in Deno", async () => {
	expect(await runExample("deno", "run", "--allow-all")).toMatch(OUTPUT);
});

test.skipIf(!findProgram("bun"))("the README's example works in Bun", async () => {
	expect(await runExample("bun", "run")).toMatch(OUTPUT);
});
