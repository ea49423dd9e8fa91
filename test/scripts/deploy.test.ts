import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { expect, test } from "vitest";
import { bundle } from "../../build/bundle.ts";
import { discard, folder, script } from "../support/server.ts";

test.each([
	[["--env", "nowhere"], {}, 'No environment found in configuration with name "nowhere"'],
	[["-e", "nowhere"], {}, 'No environment found in configuration with name "nowhere"'],
	// As npm runs `npm run deploy --env=staging`.
	[["--dry-run"], { npm_config_env: "staging" }, "npm run deploy -- --env"],
])("npm run deploy %j with %j deploys nothing", async (words, environment, message) => {
	const { code, out, err } = await script("deploy", words, environment);
	expect({ code, out }).toEqual({ code: 2, out: "" });
	expect(err).toContain(message);
	expect(err).not.toContain("    at ");
});

/**
 * Runs `npm run deploy` with a program `wrangler` that records its commands instead of calling
 * Cloudflare. It bundles the worker only if no other test has.
 * @param databases the names of the account's databases
 * @param failing the beginning of the commands that fail
 */
async function deployTo(databases: string[], failing = "none") {
	const bin = folder();
	const list = JSON.stringify(databases.map((name) => ({ name })));
	writeFileSync(
		`${bin}/wrangler`,
		`#!/bin/sh
case "$*" in
	*--dry-run*) [ -f dist/readable/worker.js ] && exit; exec "${process.cwd()}/node_modules/.bin/wrangler" "$@" ;;
	"d1 list --json") echo '${list}' ;;
	*) echo "$1 $2" >> "${bin}/calls" ;;
esac
case "$*" in "${failing}"*) exit 1 ;; esac
`,
		{ mode: 0o755 },
	);
	const result = await script("deploy", [], { PATH: `${bin}:${process.env.PATH}` });
	const calls = readFileSync(`${bin}/calls`, "utf8").trim().split("\n");
	discard(bin);
	return { ...result, calls: calls.map((call) => call.replace(/ \/.*/, "")) };
}

test.each([
	["migrations are applied before a new version", ["tenantry"], "", ["d1 migrations", "deploy"]],
	["migrations that fail deploy nothing", ["tenantry"], "d1 migrations", ["d1 migrations"]],
	["the first deployment creates the database", ["other"], "", ["deploy", "d1 migrations"]],
	["a first deployment that fails migrates nothing", ["other"], "deploy", ["deploy"]],
])("%s", async (_, databases, failing, expected) => {
	const { code, err, calls } = await deployTo(databases, failing || undefined);
	expect(calls).toEqual(expected);
	expect(code).toBe(failing ? 1 : 0);
	if (failing) expect(err).toMatch(new RegExp(`^wrangler ${failing} .*failed\\.`, "m"));
	expect(err.includes("change database_name")).toBe(failing === "d1 migrations");
});

/** Loads all parts of a bundle in Node.js, and returns the names of exports that are undefined. */
function undefinedExports(outdir: string): string[] {
	const text = readFileSync(`${outdir}/worker.js`, "utf8");
	const parts = Array.from(
		text.matchAll(/^var (require_\w+) = __commonJS\(/gm),
		([, name]) => name,
	);
	expect(parts.length).toBeGreaterThan(0);
	const file = `${outdir}/parts.mjs`;
	writeFileSync(
		file,
		`${text.replace(/^import \{ (?:\w+ as )?(\w+) \} from "cloudflare:workers";$/gm, "class $1 {}")}
		const all = Object.entries({ ${parts.join(", ")} });
		console.log(JSON.stringify(all.flatMap(([part, load]) => {
			const loaded = load();
			return Object.keys(loaded).filter((name) => loaded[name] === undefined).map((name) => part + "." + name);
		})));`,
	);
	return JSON.parse(execFileSync(process.execPath, [file], { encoding: "utf8" }));
}

test("the source map of the deployed script leads to the source, and its parts lack no export", () => {
	const outdir = folder();
	const { script } = bundle(outdir);
	const lines = readFileSync(script, "utf8").split("\n");
	expect(lines.at(-2)).toBe("//# sourceMappingURL=worker.js.map");
	const map = new SourceMap(JSON.parse(readFileSync(`${script}.map`, "utf8")));
	const message = '"The compiler failed or took too long."';
	const line = lines.findIndex((text) => text.includes(message));
	const entry = map.findEntry(line, lines[line]?.indexOf(message) ?? -1);
	const [source, row] =
		"originalSource" in entry ? [entry.originalSource, entry.originalLine] : ["", 0];
	expect(source).toMatch(/src\/plugins\/plugins\/compiled_file\.ts$/);
	const original = readFileSync("src/plugins/plugins/compiled_file.ts", "utf8").split("\n");
	expect(original[row]).toContain(message);
	expect(undefinedExports(`${outdir}/readable`)).toEqual([]);
	discard(outdir);
});
