import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { bundle } from "../../build/bundle.ts";
import { discard, folder, script } from "../support/server.ts";

test.each([
	[["--env", "nowhere"], {}, 'No environment found in configuration with name "nowhere"'],
	[["-e", "nowhere"], {}, 'No environment found in configuration with name "nowhere"'],
	// As npm runs `npm run deploy --env=staging`.
	[["--dry-run"], { npm_config_env: "staging" }, "npm run deploy -- --env"],
	[["--jurisdiction", "mars"], {}, "--jurisdiction must be one of: eu, us, fedramp."],
	[["--jurisdiction"], {}, "--jurisdiction must be one of: eu, us, fedramp."],
	[[], { npm_config_jurisdiction: "eu" }, "npm run deploy -- --jurisdiction"],
])("npm run deploy %j with %j deploys nothing", async (words, environment, message) => {
	const { code, out, err } = await script("deploy", words, environment);
	expect({ code, out }).toEqual({ code: 2, out: "" });
	expect(err).toContain(message);
	expect(err).not.toContain("    at ");
});

type Database = { name: string; jurisdiction?: string | null };

/**
 * Runs `npm run deploy` with a program `wrangler` that records its commands instead of calling
 * Cloudflare. It bundles the worker only if no other test has.
 * @param databases the account's databases
 * @param failing the beginning of the commands that fail
 * @returns its commands, and the configuration that it deployed with
 */
async function deployTo(databases: Database[], failing = "none", words: string[] = []) {
	const bin = folder();
	writeFileSync(
		`${bin}/wrangler`,
		`#!/bin/sh
case "$*" in
	*--dry-run*) [ -f dist/readable/worker.js ] && exit; exec "${process.cwd()}/node_modules/.bin/wrangler" "$@" ;;
	"d1 list --json") echo '${JSON.stringify(databases)}' ;;
	*) echo "$@" >> "${bin}/calls" ;;
esac
case "$*" in *--config=*) cp dist/wrangler.json "${bin}" ;; esac
case "$*" in "${failing}"*) exit 1 ;; esac
`,
		{ mode: 0o755 },
	);
	const result = await script("deploy", words, { PATH: `${bin}:${process.env.PATH}` });
	const calls = existsSync(`${bin}/calls`) ? readFileSync(`${bin}/calls`, "utf8") : "";
	const config = `${bin}/wrangler.json`;
	const env = words.includes("--env") ? words.at(-1) : undefined;
	const placed = existsSync(config) ? unstable_readConfig({ config, ...(env && { env }) }) : null;
	discard(bin);
	return { ...result, calls: calls.trim().split("\n"), placed };
}

/** The first two words of a command, without the path of the script. */
const short = (call: string) => call.split(" ").slice(0, 2).join(" ").replace(/ \/.*/, "");

test.each([
	["migrations are applied before a new version", ["tenantry"], "", ["d1 migrations", "deploy"]],
	["migrations that fail deploy nothing", ["tenantry"], "d1 migrations", ["d1 migrations"]],
	["the first deployment creates the database", ["other"], "", ["deploy", "d1 migrations"]],
	["a first deployment that fails migrates nothing", ["other"], "deploy", ["deploy"]],
])("%s", async (_, names, failing, expected) => {
	const databases = names.map((name) => ({ name }));
	const { code, err, calls, placed } = await deployTo(databases, failing || undefined);
	expect(calls.map(short)).toEqual(expected);
	expect(code).toBe(failing ? 1 : 0);
	expect(placed).toBeNull();
	if (failing) expect(err).toMatch(new RegExp(`^wrangler ${failing} .*failed\\.`, "m"));
	expect(err.includes("change database_name")).toBe(failing === "d1 migrations");
});

const UPDATE = ["d1 migrations", "deploy"];

test.each<[string, Database[], string[], string[]]>([
	["a first deployment", [], ["--jurisdiction", "eu"], ["d1 create", ...UPDATE]],
	[
		"a later one with it",
		[{ name: "tenantry", jurisdiction: "eu" }],
		["--jurisdiction=eu"],
		UPDATE,
	],
	["a later one without it", [{ name: "tenantry", jurisdiction: "eu" }], [], UPDATE],
	[
		"an environment",
		[{ name: "tenantry", jurisdiction: "us" }],
		["--jurisdiction", "eu", "--env", "staging"],
		["d1 create", ...UPDATE],
	],
])("%s in a jurisdiction has the database, the bucket and the Workflow there", async (...args) => {
	const [, databases, words, expected] = args;
	const { code, calls, placed } = await deployTo(databases, undefined, words);
	expect({ code, calls: calls.map(short) }).toEqual({ code: 0, calls: expected });
	const env = words.includes("--env") ? "staging" : undefined;
	const config = unstable_readConfig({ config: "wrangler.toml", ...(env && { env }) });
	const [database] = config.d1_databases;
	if (expected[0] === "d1 create")
		expect(calls[0]).toBe(
			`d1 create ${database?.database_name} --jurisdiction=eu --update-config=false --env=${env ?? ""}`,
		);
	const place = (binding: object) => ({ ...binding, jurisdiction: "eu" });
	expect(placed).toMatchObject({
		name: config.name,
		vars: config.vars,
		d1_databases: config.d1_databases,
		kv_namespaces: config.kv_namespaces,
		queues: config.queues,
		r2_buckets: config.r2_buckets.map(place),
		workflows: config.workflows.map(place),
		assets: { ...config.assets, directory: `${process.cwd()}/public` },
	});
	expect(placed?.r2_buckets.length).toBe(1);
	expect(placed?.workflows.length).toBe(1);
});

test.each([
	[null, "in no jurisdiction"],
	["us", "in the jurisdiction us"],
])("a database that is elsewhere (%j) stays there: nothing is deployed", async (other, where) => {
	const databases = [{ name: "tenantry", jurisdiction: other }];
	const { code, err, calls } = await deployTo(databases, undefined, ["--jurisdiction", "eu"]);
	expect({ code, calls }).toEqual({ code: 2, calls: [""] });
	expect(err).toContain(`The database tenantry is ${where}, which can't be changed.`);
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
