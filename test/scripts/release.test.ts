import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isNewer, pack, released, unannounced } from "../../scripts/release.ts";

const root = `${import.meta.dirname}/../..`;

test("a release must have a newer version", () => {
	expect(isNewer("0.2.0", "0.1.9")).toBe(true);
	expect(isNewer("1.0.0", "0.10.0")).toBe(true);
	for (const version of ["0.1.9", "0.1.8", "0.0.10", "0.2", "v0.2.0", "0.2.0-rc.1", ""])
		expect([version, isNewer(version, "0.1.9")]).toEqual([version, false]);
});

test("the changelog's unreleased entries are moved under the version, and there must be some", () => {
	const before =
		"# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 0.1.0 - 2026-01-01\n\n- B.\n";
	const after = released(before, "0.2.0", "2026-11-26") ?? "";
	expect(after).toBe(before.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-11-26\n"));
	expect(released(after, "0.3.0", "2026-11-27")).toBeUndefined();
	expect(released("# Changelog\n\n## Unreleased\n\n- A.\n", "0.2.0", "2026-11-26")).toContain(
		"## 0.2.0 - 2026-11-26\n\n- A.\n",
	);
});

test("a change that breaks clients needs a new version of the API", () => {
	const before = "version 2026-01-01\nGET /api/a getA 200 A\nA object\nA.id integer\n";
	const after = before.replace("A.id integer\n", "");
	expect(unannounced(before, after)).toEqual(["A.id was removed."]);
	expect(unannounced(before, after.replace("01-01", "02-01"))).toEqual([]);
});

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
