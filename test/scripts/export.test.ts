import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { saveR2 } from "../support/r2.ts";
import { discard, folder, freePort, Server } from "../support/server.ts";

type Json = Record<string, unknown>;

let port: number;
let state: string;
let server: Server;
let key: string;
let export_id: string;

const environment = () => ({ PORT: String(port), STATE_DIR: state });

async function start() {
	const started = new Server(environment());
	const [, value = ""] = await started.says(/export KEY=(\S+)/);
	key = value;
	return started;
}

beforeAll(async () => {
	port = await freePort();
	state = folder();
	server = await start();
	const [, id = ""] = await server.says(/export ID=(\S+)/);
	export_id = id;
});

afterAll(async () => {
	await server.stop();
	discard(state);
});

async function ask(method: string, path: string, body?: unknown) {
	const answer = await fetch(`http://127.0.0.1:${port}/api/projects/@current${path}`, {
		method,
		headers: {
			authorization: `Bearer ${key}`,
			"content-type": "application/json",
		},
		...(body !== undefined && { body: JSON.stringify(body) }),
	});
	return answer.json() as Promise<{ id: string; results: Json[] }>;
}

/** Waits until the export has `n` runs and all are completed. */
const completed = (id: string, n: number) =>
	expect
		.poll(async () => {
			const { results } = await ask("GET", `/batch_exports/${id}/runs/`);
			return results.map(({ status }) => status);
		})
		.toEqual(Array(n).fill("Completed"));

test("the example export's files contain the sample events", async () => {
	await completed(export_id, 6);
	const { results } = await ask(
		"GET",
		`/batch_exports/${export_id}/logs/?search=complete&limit=1000`,
	);
	const keys = results.flatMap(({ message }) => {
		const [, key] = /, in (\S+\.jsonl\.gz)\.$/.exec(String(message)) ?? [];
		return key ? [key] : [];
	});
	expect(keys).toHaveLength(6);
	const files = `${state}/files`;
	await saveR2(state, state, files);
	const lines = keys.flatMap((key) =>
		gunzipSync(readFileSync(`${files}/${key}`))
			.toString()
			.trim()
			.split("\n"),
	);
	expect(new Set(lines.map((line) => JSON.parse(line).uuid)).size).toBe(3000);
	expect(lines).toHaveLength(3000);
});

test("a run continues after its server is killed, without losing or repeating an event", async () => {
	/**
	 * The batches received, by Idempotency-Key. The third gets no response until the server is
	 * killed.
	 */
	const received = new Map<string, Json[]>();
	let held: ServerResponse | undefined;
	let holding = true;
	const receiver = createServer((request, response) => {
		let text = "";
		request.on("data", (data) => (text += data));
		request.on("end", () => {
			received.set(String(request.headers["idempotency-key"]), JSON.parse(text).batch);
			if (holding && received.size === 3) held = response;
			else response.end("{}");
		});
	});
	const listening = await freePort();
	receiver.listen(listening, "127.0.0.1");
	try {
		const { id } = await ask("POST", "/batch_exports/", {
			name: "To the receiver",
			interval: "day",
			destination: {
				type: "HTTP",
				config: { url: `http://127.0.0.1:${listening}/` },
			},
		});
		const events = Array.from({ length: 3500 }, (_, i) => ({
			uuid: `10000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`,
			event: "counted",
			distinct_id: "nobody",
			timestamp: "2020-05-05T05:05:05Z",
		}));
		for (let from = 0; from < events.length; from += 1750)
			await ask("POST", "/events/", events.slice(from, from + 1750));
		await ask("POST", `/batch_exports/${id}/backfill/`, {
			start_at: "2020-05-05T00:00:00Z",
			end_at: "2020-05-06T00:00:00Z",
		});
		await expect.poll(() => held).toBeDefined();
		await server.kill(state);
		holding = false;
		server = await start();
		const later = Date.now() + 10 * 60_000;
		const tick = await fetch(
			`http://127.0.0.1:${port}/cdn-cgi/local/scheduled?cron=*+*+*+*+*&time=${later}`,
		);
		expect(tick.status).toBe(200);
		await completed(id, 1);
		const { results } = await ask("GET", `/batch_exports/${id}/runs/`);
		expect(results).toMatchObject([{ records_completed: 3500 }]);
		const uuids = [...received.values()].flat().map(({ uuid }) => uuid);
		expect(uuids).toHaveLength(3500);
		expect(new Set(uuids)).toEqual(new Set(events.map(({ uuid }) => uuid)));
	} finally {
		receiver.closeAllConnections();
		receiver.close();
	}
});
