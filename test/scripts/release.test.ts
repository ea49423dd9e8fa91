import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pack } from "../../scripts/release.ts";

const root = `${import.meta.dirname}/../..`;

describe("the packed client and command line, installed in an empty folder,", () => {
	let folder: string;
	const execute = (command: string, ...words: string[]) =>
		execFileSync(command, words, { cwd: folder, encoding: "utf8", stdio: "pipe" });

	beforeAll(() => {
		folder = realpathSync(mkdtempSync(`${tmpdir()}/release-`));
		const files = pack(`${folder}/packed`);
		expect(files).toHaveLength(2);
		writeFileSync(`${folder}/package.json`, '{ "private": true }');
		execute("npm", "install", "--offline", "--no-audit", "--no-fund", ...files);
	});
	afterAll(() => rmSync(folder, { recursive: true }));

	const USE = `
const tenantry = new Tenantry({ baseUrl: "http://localhost" });
console.log(typeof tenantry.members.list, typeof verifyWebhook);
`;

	test("work in Node as an ES module and in CommonJS", () => {
		writeFileSync(
			`${folder}/a.mjs`,
			`import { Tenantry, verifyWebhook } from "tenantry-client";${USE}`,
		);
		writeFileSync(
			`${folder}/a.cjs`,
			`const { Tenantry, verifyWebhook } = require("tenantry-client");${USE}`,
		);
		// Without this flag, newer versions of Node let CommonJS load ES modules.
		for (const words of [["a.mjs"], ["--no-require-module", "a.cjs"]])
			expect(execute(process.execPath, ...words)).toBe("function function\n");
		expect(execute("node_modules/.bin/tenantry", "--help")).toContain("projects");
	});

	test("work for tools that don't know exports, in CommonJS", () => {
		// A folder has no exports, so Node looks for `main`.
		writeFileSync(
			`${folder}/b.cjs`,
			`const { Tenantry, verifyWebhook } = require("./node_modules/tenantry-client");${USE}`,
		);
		expect(execute(process.execPath, "--no-require-module", "b.cjs")).toBe("function function\n");
	});

	const IN_NODE = [
		["types.mts", "tenantry-client"],
		["types.cts", "tenantry-client"],
		// The folder's package.json has no type, so this is a CommonJS project.
		["types.ts", "tenantry-client"],
		["folder.ts", "./node_modules/tenantry-client"],
	] as const;

	test.each([
		["node16", "node16", IN_NODE],
		["bundler", "esnext", [["types.ts", "tenantry-client"]] as const],
	])("have types for the resolution %s", (resolution, module, files) => {
		for (const [file, name] of files)
			writeFileSync(
				`${folder}/${file}`,
				`import { type Member, Tenantry } from "${name}";
export async function levels(tenantry: Tenantry): Promise<Member["level"][]> {
	// @ts-expect-error this resource doesn't exist
	tenantry.memberz;
	const { results } = await tenantry.members.list({ organization: "@current" });
	return results.map(({ level }) => level satisfies 1 | 8 | 15);
}
`,
			);
		expect(
			execute(
				`${root}/node_modules/.bin/tsc`,
				...["--noEmit", "--strict", "--target", "es2022", "--lib", "es2024,dom,dom.asynciterable"],
				...["--types", "", "--module", module, "--moduleResolution", resolution],
				...files.map(([file]) => file),
			),
		).toBe("");
	});
});
