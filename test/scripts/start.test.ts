import { once } from "node:events";
import { rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { discard, folder, freePort, npm, processes, Server } from "../support/server.ts";

let port: number;
let state: string;
let server: Server;
let key: string;

/** Shorter than the default, but longer than a busy machine delays a server's response. */
const HANG_SECONDS = 20;

const environment = () => ({
	PORT: String(port),
	STATE_DIR: state,
	HANG_SECONDS: String(HANG_SECONDS),
});

beforeAll(async () => {
	port = await freePort();
	state = folder();
	server = new Server(environment());
	[, key = ""] = await server.says(/export KEY=(\S+)/);
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

const get = (path: string) =>
	fetch(`http://127.0.0.1:${port}${path}`, {
		headers: { authorization: `Bearer ${key}` },
	});

const allStopped = () => expect.poll(() => processes(state)).toEqual([]);

test("a response without a body is empty, whatever encodings the client accepts", async () => {
	const path = "/api/projects/@current/plugin_configs/rearrange/";
	for (const encoding of ["gzip, deflate, br", "gzip", "br", "*", "identity"]) {
		const response = await fetch(`http://127.0.0.1:${port}${path}`, {
			method: "PATCH",
			headers: {
				authorization: `Bearer ${key}`,
				"accept-encoding": encoding,
			},
		});
		expect(response.status).toBe(200);
		expect(response.headers.get("content-length")).toBe("0");
		expect(response.headers.get("content-encoding")).toBeNull();
		expect((await response.arrayBuffer()).byteLength).toBe(0);
	}
});

test("200 aborted requests do not block 200 others", async () => {
	await Promise.all(
		Array.from({ length: 200 }, async (_, i) => {
			const socket = connect(port, "127.0.0.1");
			socket.on("error", () => {});
			await new Promise<void>((resolve) => {
				socket.write(
					`GET /api/organizations/@current/ HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`,
					() => resolve(),
				);
			});
			await sleep(i % 20);
			socket.destroy();
		}),
	);
	for (let i = 0; i < 10; i++) {
		const responses = await Promise.all(
			Array.from({ length: 20 }, () => get("/api/organizations/@current/")),
		);
		expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
		await Promise.all(responses.map((response) => response.text()));
	}
});

test.each(["start", "setup"])("npm run %s has no options, and says so", async (script) => {
	const { code, out, err } = await npm(script, ["--port", "8788"], environment());
	expect({ code, out }).toEqual({ code: 2, out: "" });
	expect(err).toMatch(/^Unexpected argument: --port\n\nUsage: npm .+\n/);
	expect(await npm(script, ["--help"], environment())).toMatchObject({ code: 0, err: "" });
});

test("a second server on the same port says so and exits", async () => {
	const second = new Server(environment());
	expect(await second.ended()).toBe(1);
	expect(second.printed).toContain(
		`Tenantry is already running at http://localhost:${port}. Stop it, or start another one with its own port and data: PORT=${port + 1} STATE_DIR=.wrangler/state-${port + 1} npm start\n`,
	);
});

test("a port that another program uses is named", async () => {
	const other = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
	await once(other, "listening");
	const { port: taken } = Object(other.address());
	const second = new Server({ ...environment(), PORT: String(taken) });
	expect(await second.ended()).toBe(1);
	expect(second.printed).toContain(
		`Port ${taken} is not available. Use another port: PORT=${taken + 1} npm start\n`,
	);
	other.close();
});

test.skipIf(process.platform !== "linux").each(["/proc", "/proc/x/y", "/dev/null/x"])(
	"a state in %s can't be used, which npm start says",
	async (path) => {
		const second = new Server({ PORT: String(await freePort()), STATE_DIR: path });
		expect(await second.ended()).toBe(1);
		expect(second.printed).toContain(`Data can't be stored in ${path}: `);
		expect(second.printed).toMatch(/To use another folder, set STATE_DIR\.\n/);
		expect(second.printed).not.toContain("    at ");
	},
);

test("a second server on the same state says who uses it and exits", async () => {
	const second = new Server({
		...environment(),
		PORT: String(await freePort()),
	});
	await second.says(/is in use by npm start \(process \d+\)\. Stop it, or/);
	expect(await second.ended()).toBe(1);
});

test("a request is printed as one line, without its query and without secrets", async () => {
	await get("/api/organizations/@current/?search=somebody");
	await server.says(/GET \/api\/organizations\/@current 200 \d+ ms 1 trip\n/);
	const token = "a".repeat(43);
	await get(`/api/invites/${token}`);
	await server.says(/GET \/api\/invites\/… 404 \d+ ms 1 trip\n/);
	await get(`/api/organizations/${key}`);
	await server.says(/GET \/api\/organizations\/tnt_… 404 \d+ ms/);
	expect(server.printed).not.toMatch(new RegExp(`somebody|${token}`));
	// To try the API with, and in the link to the console.
	expect(server.printed.split(key)).toHaveLength(3);
});

test("a server that a plugin in an endless loop hangs is restarted after HANG_SECONDS, with its state, and the job fails", async () => {
	const ask = async (method: string, path: string, body?: unknown) => {
		const response = await fetch(`http://127.0.0.1:${port}/api${path}`, {
			method,
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
		return JSON.parse((await response.text()) || "null");
	};
	const plugins = "/organizations/@current/pipeline_frontend_apps";
	const plugin = await ask("POST", plugins, {});
	await ask("PATCH", `${plugins}/${plugin.id}/update_source`, {
		"index.js": "exports.jobs = { spin() { for (;;); } };",
	});
	const configs = "/projects/@current/plugin_configs";
	const config = await ask("POST", configs, { plugin: plugin.id, order: 1 });
	const from = server.printed.length;
	const path = `${configs}/${config.id}`;
	const before = performance.now();
	await ask("POST", `${path}/job`, { job: { type: "spin" } });
	await server.says(/has not responded for 20 seconds/, { from });
	expect(performance.now() - before).toBeGreaterThan((HANG_SECONDS - 1) * 1000);
	await server.says(/is running at \S+ again\./, { from });
	const scheduled = `http://127.0.0.1:${port}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`;
	await expect
		.poll(
			async () => {
				await fetch(scheduled);
				return (await ask("GET", path)).error;
			},
			{ interval: 2000 },
		)
		.toBe("The job was interrupted by a restart. It isn't run again.");
	expect((await get("/api/organizations/@current/")).status).toBe(200);
});

test("if npm start is killed, all processes end, and the next start has the same data and prints the same key", async () => {
	await server.abandon();
	await allStopped();
	// For the next test.
	rmSync(`${state}/server.log`);
	symlinkSync("/dev/full", `${state}/server.log`);
	server = new Server(environment());
	await server.says(new RegExp(`export KEY=${key}`));
	await server.says(/export ID=/);
});

test("a full disk, on which neither logs nor mails can be stored, does not stop the server", async () => {
	rmSync(`${state}/mail`, { recursive: true });
	const response = await fetch(`http://127.0.0.1:${port}/api/organizations/@current/invites`, {
		method: "POST",
		headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
		body: JSON.stringify({ target_email: "full@example.com" }),
	});
	expect(response.status).toBe(201);
	await server.says(/A mail was sent, but could not be stored: Error: ENOENT/);
	expect((await get("/api/organizations/@current/")).status).toBe(200);
	rmSync(`${state}/server.log`);
});

test("Ctrl-C stops all processes, and the next start replaces a key that was revoked", async () => {
	const response = await fetch(`http://127.0.0.1:${port}/api/personal_api_keys/@current`, {
		method: "DELETE",
		headers: { authorization: `Bearer ${key}` },
	});
	expect(response.status).toBe(204);
	await server.stop();
	await allStopped();
	server = new Server(environment());
	const [, next = ""] = await server.says(/export KEY=(\S+)/);
	expect(next).not.toBe(key);
	key = next;
	expect((await get("/api/organizations/@current/")).status).toBe(200);
});

test("the server stops when the npm process that started it ends", async () => {
	await server.orphan();
	await allStopped();
});
