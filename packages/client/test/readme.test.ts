import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { findProgram } from "../../../test/support/peers.ts";

const execute = promisify(execFile);
const root = `${import.meta.dirname}/../../..`;

/** Returns the programs in JavaScript or TypeScript on a page. */
const programsOf = (page: string) =>
	Array.from(
		readFileSync(`${root}/${page}`, "utf8").matchAll(/```[jt]s\n(import .*?)```/gs),
		([, program = ""]) => program,
	);

const [example = ""] = programsOf("packages/client/README.md");

/** Writes a file where the package is found by its name, and executes a program with its path. */
async function withFile(name: string, text: string, program: string, ...words: string[]) {
	mkdirSync(`${root}/node_modules/.cache`, { recursive: true });
	const folder = mkdtempSync(`${root}/node_modules/.cache/readme-`);
	try {
		writeFileSync(`${folder}/${name}`, text);
		const { stdout } = await execute(program, [...words, `${folder}/${name}`], {
			env: { ...process.env, KEY: inject("keys").readme },
		});
		return stdout;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

const runExample = (program: string, ...words: string[]) =>
	withFile(
		"example.mjs",
		example.replace("http://localhost:8787", inject("url")),
		...[program, ...words],
	);

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

test.each(["README.md", "packages/client/README.md", "docs/webhooks.md"])(
	"the programs in %s compile in strict TypeScript",
	async (page) => {
		const programs = programsOf(page);
		expect(programs.length).toBeGreaterThan(0);
		for (const program of programs)
			await withFile(
				"example.mts",
				program,
				...[`${root}/node_modules/.bin/tsc`, "--ignoreConfig", "--noEmit", "--strict"],
				...["--target", "es2022", "--module", "node16", "--types", "node"],
			);
	},
);
