import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { bundle } from "../../scripts/bundle.ts";
import { findSlowness } from "../../scripts/startup.ts";
import { discard, folder, script } from "../support/server.ts";

type Binding = { binding: string };

/** The part of a configuration that these tests read. */
type Config = {
	name: string;
	vars: Record<string, string>;
	d1_databases: (Binding & { database_name: string; database_id?: string })[];
	kv_namespaces: (Binding & { id?: string })[];
	r2_buckets: (Binding & { bucket_name: string })[];
	ratelimits: { name: string; namespace_id: string }[];
	send_email: { name: string }[];
	worker_loaders: Binding[];
	workflows: (Binding & { name: string })[];
	queues: { producers: Binding[]; consumers: { queue: string }[] };
};

const read = (env?: string): Config =>
	unstable_readConfig({ config: "wrangler.toml", ...(env && { env }) });

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

test.each([
	['import{connect as a}from"node:net";', "node:net is loaded when an isolate starts."],
	['import"fs";', "fs is loaded when an isolate starts."],
	["var a=/\u00e9/;", "A non-ASCII character"],
])("a script with %s is one that isolates read slowly", (script, complaint) => {
	expect(findSlowness(`import{a as b}from"cloudflare:workers";${script}`)).toEqual([
		expect.stringContaining(complaint),
	]);
});

test("the staging environment has every variable and binding, none of them shared with production", () => {
	const [production, staging] = [read(), read("staging")];
	expect(Object.keys(staging.vars)).toEqual(Object.keys(production.vars));
	const bindings = (config: Config) => ({
		databases: config.d1_databases.map(({ binding }) => binding),
		keys: config.kv_namespaces.map(({ binding }) => binding),
		buckets: config.r2_buckets.map(({ binding }) => binding),
		limits: config.ratelimits.map(({ name }) => name),
		mail: config.send_email.map(({ name }) => name),
		loaders: config.worker_loaders.map(({ binding }) => binding),
		workflows: config.workflows.map(({ binding }) => binding),
		producers: config.queues.producers.map(({ binding }) => binding),
		consumers: config.queues.consumers.length,
	});
	expect(bindings(staging)).toEqual(bindings(production));
	const names = (config: Config) => [
		config.name,
		...config.d1_databases.map(({ database_name }) => database_name),
		...config.r2_buckets.map(({ bucket_name }) => bucket_name),
		...config.ratelimits.map(({ namespace_id }) => namespace_id),
		...config.workflows.map(({ name }) => name),
		...config.queues.consumers.map(({ queue }) => queue),
	];
	const shared = new Set(names(production));
	expect(names(staging).filter((name) => shared.has(name))).toEqual([]);
});

test("the configuration has no ids of an account, so wrangler creates what is missing", () => {
	for (const config of [read(), read("staging")]) {
		expect(config.d1_databases[0]?.database_id).toBeUndefined();
		expect(config.kv_namespaces[0]?.id).toBeUndefined();
	}
});
