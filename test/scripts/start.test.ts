import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
	discard,
	folder,
	freePort,
	processes,
	Server,
} from "../support/server.ts";

let port: number;
let state: string;
let server: Server;
let key: string;

const environment = () => ({ PORT: String(port), STATE_DIR: state });

beforeAll(async () => {
	port = await freePort();
	state = folder();
	server = new Server(environment());
	const [, address, value] = await server
		.says(/Authorization: Bearer (\S+)' (\S+)/)
		.then((match) => [match[0], match[2], match[1]]);
	key = value ?? "";
	expect(address).toBe(`http://localhost:${port}/api/organizations/@current/`);
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

const get = (path: string) =>
	fetch(`http://127.0.0.1:${port}${path}`, {
		headers: { authorization: `Bearer ${key}` },
	});

const nothingLeft = () => expect.poll(() => processes(state)).toEqual([]);

test("the example that npm start prints works", async () => {
	const answer = await get("/api/organizations/@current/");
	expect(answer.status).toBe(200);
	expect(await answer.json()).toMatchObject({
		name: "My organization",
		membership_level: 15,
	});
});

test("the OpenAPI document is served", async () => {
	const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`);
	expect(await answer.json()).toMatchObject({
		openapi: "3.1.0",
		info: { title: "Tenantry" },
	});
});

test("200 aborted requests do not keep 200 others waiting", async () => {
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
		const answers = await Promise.all(
			Array.from({ length: 20 }, () => get("/api/organizations/@current/")),
		);
		expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
		await Promise.all(answers.map((answer) => answer.text()));
	}
});

test("a second server on the same port says so and leaves", async () => {
	const second = new Server(environment());
	await second.says(new RegExp(`Port ${port} is taken`));
});

test("a server that hangs is started again, with its state", async () => {
	const workers = processes(`entry=127.0.0.1:${port}`);
	expect(workers).toHaveLength(1);
	for (const pid of workers) process.kill(pid, "SIGSTOP");
	await server.says(/does not answer/);
	await server.says(/again\./);
	expect((await get("/api/organizations/@current/")).status).toBe(200);
});

test("a plugin that spins hangs the server, which is started again, with the job failed", async () => {
	const ask = async (method: string, path: string, body?: unknown) => {
		const answer = await fetch(`http://127.0.0.1:${port}/api${path}`, {
			method,
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
		return JSON.parse((await answer.text()) || "null");
	};
	const here = "/organizations/@current/pipeline_frontend_apps";
	const plugin = await ask("POST", here, {});
	await ask("PATCH", `${here}/${plugin.id}/update_source`, {
		"index.js": "exports.jobs = { spin() { for (;;); } };",
	});
	const configs = "/projects/@current/plugin_configs";
	const config = await ask("POST", configs, { plugin: plugin.id, order: 1 });
	const from = server.printed.length;
	const one = `${configs}/${config.id}`;
	await ask("POST", `${one}/job`, { job: { type: "spin" } });
	await server.says(/does not answer/, { from });
	await server.says(/again\./, { from });
	const scheduled = `http://127.0.0.1:${port}/cdn-cgi/local/scheduled?cron=*+*+*+*+*`;
	await expect
		.poll(
			async () => {
				await fetch(scheduled);
				return (await ask("GET", one)).error;
			},
			{ interval: 2000 },
		)
		.toBe("The job was cut off by a restart, and is not run again.");
	expect((await get("/api/organizations/@current/")).status).toBe(200);
});

test("Ctrl-C stops it, and leaves no process behind; the next start prints the same key", async () => {
	await server.stop();
	await nothingLeft();
	server = new Server(environment());
	await server.says(new RegExp(key));
});

test("a key that no longer works is not printed again", async () => {
	const answer = await fetch(
		`http://127.0.0.1:${port}/api/personal_api_keys/@current`,
		{ method: "DELETE", headers: { authorization: `Bearer ${key}` } },
	);
	expect(answer.status).toBe(204);
	await server.stop();
	await nothingLeft();
	server = new Server(environment());
	const [, next = ""] = await server.says(/Authorization: Bearer (\S+)'/);
	expect(next).not.toBe(key);
	key = next;
	expect((await get("/api/organizations/@current/")).status).toBe(200);
});

test("it doesn't outlive the npm that started it", async () => {
	await server.orphan();
	await nothingLeft();
});
