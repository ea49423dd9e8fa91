import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { environment } from "../../build/run.ts";
import { findSlowness } from "../../scripts/check/startup.ts";
import { cloneOfProject, discard, folder, npm } from "../support/server.ts";

test("npm run setup creates what wrangler dev needs, and keeps the developer's own settings", async () => {
	const clone = cloneOfProject();
	writeFileSync(`${clone}/.dev.vars`, "MAIL_FROM=me@example.com\n");
	const env = { ...environment, XDG_CONFIG_HOME: `${clone}/config`, STATE_DIR: undefined };
	const run = promisify(execFile);
	const { stdout } = await run("npm", ["run", "--silent", "setup"], { cwd: clone, env });
	const [, key = ""] = /export KEY=(\S+)/.exec(stdout) ?? [];
	expect(stdout).toMatch(/Applied \d+ migrations/);
	expect(readFileSync(`${clone}/.wrangler/state/example-key`, "utf8")).toBe(key);
	const settings = readFileSync(`${clone}/.dev.vars`, "utf8");
	expect(settings).toMatch(/^MAIL_FROM=me@example\.com\nSECRETS_KEY="/);
	for (const name of ["APP_URL", "NPM_REGISTRY_URL", "ALLOW_PRIVATE_DESTINATIONS"])
		expect(settings).toMatch(new RegExp(`^${name}=".+"$`, "m"));
	discard(clone);
});

test("npm run deploy builds a worker for an environment", async () => {
	const outdir = folder();
	const words = ["--dry-run", "--outdir", outdir, "--env", "staging"];
	const { code, out } = await npm("deploy", words, {});
	expect(code).toBe(0);
	expect(out).toContain("env.DB (tenantry-staging) ");
	expect(out).not.toMatch(/warning/i);
	expect(findSlowness(readFileSync(`${outdir}/worker.js`, "utf8"))).toEqual([]);
	discard(outdir);
});
