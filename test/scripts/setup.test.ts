import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environment } from "../../build/run.ts";
import { newValue } from "../../src/keys/keys.ts";
import { cloneOfProject, discard, freePort } from "../support/server.ts";

/** A folder like a fresh clone of the repository. */
let clone: string;
let port: number;
let server: ChildProcess | undefined;
let printed = "";

beforeAll(async () => {
	clone = cloneOfProject();
	port = await freePort();
});

afterAll(async () => {
	await stop();
	discard(clone);
});

/**
 * The environment of a developer's terminal. It has its own registry of local servers, which all
 * servers of a machine share by default, so that these tests find no other servers.
 */
function env() {
	const variables = { ...environment, XDG_CONFIG_HOME: `${clone}/config` };
	for (const name of ["STATE_DIR", "CLOUDFLARE_DEV_REGISTRY_PATH"])
		Reflect.deleteProperty(variables, name);
	return variables;
}

/** Runs `npx wrangler dev`, and waits until it responds. */
async function wranglerDev() {
	server = spawn("wrangler", ["dev", "--port", String(port)], {
		cwd: clone,
		env: env(),
		stdio: ["ignore", "pipe", "pipe"],
		detached: true,
	});
	printed = "";
	for (const stream of [server.stdout, server.stderr])
		stream?.on("data", (data) => (printed += data));
	await expect
		.poll(
			() =>
				get("/").then(
					({ status }) => status,
					() => printed,
				),
			{
				timeout: 300_000,
			},
		)
		.toBe(200);
}

async function stop() {
	if (!server?.pid || server.exitCode !== null) return;
	const ended = new Promise((ended) => server?.once("exit", ended));
	process.kill(-server.pid, "SIGINT");
	await ended;
}

const get = (path: string, key = "") =>
	fetch(`http://127.0.0.1:${port}${path}`, {
		headers: { authorization: `Bearer ${key}` },
	});

const script = (name: string, ...words: string[]) =>
	promisify(execFile)("node", [`scripts/${name}.ts`, ...words], {
		cwd: clone,
		env: env(),
	});

test("before the setup, /healthz and every request say what is missing", async () => {
	await wranglerDev();
	const health = await get("/healthz");
	expect(health.status).toBe(503);
	expect(await health.json()).toEqual({
		d1: true,
		kv: true,
		migrations: false,
	});
	const response = await get("/api/organizations/", newValue());
	expect(response.status).toBe(503);
	expect(response.headers.get("retry-after")).toBe("60");
	expect(await response.json()).toMatchObject({
		type: "server_error",
		code: "not_set_up",
	});
	await expect.poll(() => printed).toContain("run npm run setup");
	await stop();
});

test("after the setup, wrangler dev has what it needs", async () => {
	const { stdout } = await script("setup");
	const [, key = ""] = /export KEY=(\S+)/.exec(stdout) ?? [];
	await wranglerDev();
	const health = await get("/healthz");
	expect(await health.json()).toEqual({ d1: true, kv: true, migrations: true });
	expect(health.status).toBe(200);
	expect((await get("/api/organizations/@current/", key)).status).toBe(200);
	const { stdout: again } = await script("admin", "user", "list", "--json");
	expect(JSON.parse(again)).toMatchObject({ count: 1 });
	expect(existsSync(`${clone}/.wrangler/state/registry/tenantry`)).toBe(true);
});

test("the setup rejects to run beside a running server", async () => {
	await expect(script("setup")).rejects.toMatchObject({
		stderr: expect.stringContaining("A server is already running on"),
	});
	await stop();
});

test("a second setup changes nothing, and prints the same key", async () => {
	const files = [".dev.vars", ".env"].map((name) => `${clone}/${name}`);
	const read = () => files.map((file) => readFileSync(file, "utf8"));
	const before = [...read(), readFileSync(`${clone}/.wrangler/state/example-key`, "utf8")];
	const { stdout } = await script("setup");
	expect(stdout).toContain(`export KEY=${before[2]}`);
	expect(stdout).not.toContain("Applied");
	expect(read()).toEqual(before.slice(0, 2));
});

/** Opens the local D1 database in a folder of Wrangler's. */
function open(state: string) {
	const folder = `${state}/v3/d1/miniflare-D1DatabaseObject`;
	const [file = ""] = readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
	return new DatabaseSync(`${folder}/${file}`);
}

/** The rows of a local database by table, with its schema as `sqlite_schema`. */
function contentOf(state: string) {
	const database = open(state);
	const all = (query: string) => database.prepare(query).all();
	const schema = all(
		"select type, name, sql from sqlite_schema where sql is not null and name not glob '_cf_*' order by name",
	);
	const rows = schema
		.filter(({ type }) => type === "table")
		.map(({ name }) => [name, all(`select * from "${name}" order by 1, 2`)]);
	database.close();
	return { ...Object.fromEntries(rows), sqlite_schema: schema };
}

test("wrangler d1 export writes a file from which wrangler d1 execute restores the whole database", async () => {
	const d1 = (...words: string[]) =>
		promisify(execFile)("wrangler", ["d1", ...words], { cwd: clone, env: env() });
	const file = `${clone}/backup.sql`;
	await d1("export", "DB", "--local", "--output", file);
	await d1(
		"execute",
		"DB",
		"--local",
		"--persist-to",
		`${clone}/restored`,
		"--file",
		file,
		"--yes",
	);
	const original = contentOf(`${clone}/.wrangler/state`);
	expect(original).toMatchObject({ organizations: [{}], members: [{}], personal_api_keys: [{}] });
	expect(contentOf(`${clone}/restored`)).toEqual(original);
});

test("a database of an earlier build is left as it is, with what to do about it", async () => {
	const database = open(`${clone}/.wrangler/state`);
	database.exec("update d1_migrations set name = '0000_tenants.sql' where id = 1");
	database.close();
	await expect(script("setup")).rejects.toMatchObject({
		stderr: expect.stringContaining("set STATE_DIR to another folder, or delete"),
	});
	expect(contentOf(`${clone}/.wrangler/state`)).toMatchObject({ organizations: [{}] });
});
