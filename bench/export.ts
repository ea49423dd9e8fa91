/**
 * What a row costs: events of a window from D1 to R2 as JSONLines with gzip, ever more of them. Prints rows per second,
 * the cost of a row as a share of that in the first window, and the most memory that the worker's isolate held.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { environment, run } from "../scripts/run.ts";

const asked = process.argv.slice(2).map(Number);
const sizes = asked.length > 0 ? asked : [10_000, 100_000, 1_000_000];

/** In one statement: more take D1 too long. */
const A_STATEMENT = 20_000;

const HOUR = 3_600_000;

const state = mkdtempSync(`${tmpdir()}/tenantry-bench-`);
environment.STATE_DIR = state;

const freePort = () =>
	new Promise<number>((resolve) => {
		const probe = createServer().listen(0, "127.0.0.1", () => {
			const { port } = Object(probe.address());
			probe.close(() => resolve(Number(port)));
		});
	});

const d1 = (...words: string[]) =>
	run("wrangler", "d1", ...words, "--local", "--persist-to", state);

/** The hour of the i-th size. */
const window = (i: number) => ({
	start_at: new Date(Date.UTC(2026, 0, 1 + i)).toISOString(),
	end_at: new Date(Date.UTC(2026, 0, 1 + i) + HOUR).toISOString(),
});

/** Statements that put `n` events of some 400 bytes into the i-th window. */
const events = (project: number, i: number, n: number) =>
	Array.from({ length: Math.ceil(n / A_STATEMENT) }, (_, part) => {
		const from = part * A_STATEMENT;
		const { start_at } = window(i);
		return `insert into events with recursive n(i) as (select ${from} union all select i + 1 from n where i + 1 < ${Math.min(n, from + A_STATEMENT)}),
			told as (select i, strftime('%Y-%m-%dT%H:%M:%fZ', '${start_at}', '+' || (i * 3599.0 / ${n}) || ' seconds') as at from n)
			select ${project}, printf('%08x-0000-4000-8000-%012x', ${i}, i), 'event ' || (i % 20), 'person ' || (i % 1000), null,
				json_object('$browser', 'Chrome', 'path', '/page/' || (i * 7919 % 5000), 'value', i, 'token', hex(randomblob(40)),
					'text', 'some words that are the same in all, as in most events'),
				null, '', at, at, at from told;`;
	});

/** The answers of an inspector (Chrome DevTools Protocol) that matter here. */
const Usage = z.object({
	result: z.object({
		usedSize: z.number(),
		embedderHeapUsedSize: z.number().default(0),
		backingStorageSize: z.number().default(0),
	}),
});

/** Asks the isolate again and again what it holds; answers the most since the last time it was asked for, in MiB. */
async function watch(port: number) {
	const [{ webSocketDebuggerUrl }] = z
		.tuple([z.object({ webSocketDebuggerUrl: z.string() })])
		.rest(z.unknown())
		.parse(await (await fetch(`http://127.0.0.1:${port}/json`)).json());
	// The inspector talks to pages of this machine alone; that Node can say where it comes from is not in its types.
	const socket: WebSocket = Reflect.construct(WebSocket, [
		webSocketDebuggerUrl,
		{ headers: { origin: "http://localhost" } },
	]);
	let most = 0;
	socket.addEventListener("message", ({ data }) => {
		const { data: usage } = Usage.safeParse(JSON.parse(String(data)));
		if (!usage) return;
		const { usedSize, embedderHeapUsedSize, backingStorageSize } = usage.result;
		const held = usedSize + embedderHeapUsedSize + backingStorageSize;
		most = Math.max(most, held / 2 ** 20);
	});
	await new Promise((opened) => socket.addEventListener("open", opened));
	let id = 0;
	const timer = setInterval(() => {
		id += 1;
		socket.send(JSON.stringify({ id, method: "Runtime.getHeapUsage" }));
	}, 20);
	return {
		peak() {
			const peak = most;
			most = 0;
			return peak;
		},
		close() {
			clearInterval(timer);
			socket.close();
		},
	};
}

const Made = z.object({ id: z.string(), team_id: z.int() });
const Runs = z.object({
	results: z.array(
		z.object({
			status: z.string(),
			finished_at: z.string().nullable(),
			records_completed: z.int(),
		}),
	),
});

const [port, inspector] = [await freePort(), await freePort()];
d1("migrations", "apply", "DB");
const { key } = JSON.parse(
	run(
		"node",
		"scripts/admin.ts",
		...["bootstrap", "--email", "bench@example.com", "--json"],
	),
);
for (const [i, n] of sizes.entries()) {
	const file = `${state}/events.sql`;
	writeFileSync(file, events(1, i, n).join("\n"));
	d1("execute", "DB", "--yes", "--file", file);
}
const server = spawn(
	"wrangler",
	[
		"dev",
		...["--port", String(port), "--inspector-port", String(inspector)],
		...["--persist-to", state, "--log-level", "error"],
		...["--var", `SECRETS_KEY:${Buffer.alloc(32).toString("base64")}`],
		"--show-interactive-dev-session=false",
	],
	{ env: environment, stdio: ["ignore", "ignore", "inherit"], detached: true },
);
for (const name of ["SIGINT", "SIGTERM"] as const)
	process.once(name, () => process.exit(1));
process.on("exit", () => {
	if (server.pid) process.kill(-server.pid, "SIGKILL");
	rmSync(state, { recursive: true, force: true });
});

async function ask(method: string, path: string, body?: unknown) {
	const answer = await fetch(
		`http://127.0.0.1:${port}/api/projects/1/batch_exports${path}`,
		{
			method,
			headers: {
				authorization: `Bearer ${key}`,
				"content-type": "application/json",
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
	);
	if (!answer.ok) throw new Error(await answer.text());
	return answer.json();
}

const up = () =>
	ask("GET", "/").then(
		() => true,
		() => false,
	);
while (!(await up())) await sleep(200);
const memory = await watch(inspector);

let first: number | undefined;
for (const [i, n] of sizes.entries()) {
	const { id } = Made.parse(
		await ask("POST", "/", {
			name: `${n} rows`,
			interval: "hour",
			paused: true,
			destination: {
				type: "R2",
				config: { prefix: "bench", compression: "gzip" },
			},
		}),
	);
	memory.peak();
	const began = performance.now();
	await ask("POST", `/${id}/backfill/`, window(i));
	for (;;) {
		const [done] = Runs.parse(await ask("GET", `/${id}/runs/`)).results;
		if (done?.finished_at) {
			if (done.status !== "Completed" || done.records_completed !== n)
				throw new Error(JSON.stringify(done));
			break;
		}
		await sleep(50);
	}
	const seconds = (performance.now() - began) / 1000;
	first ??= seconds / n;
	console.log(
		[
			`${n} rows`,
			`${Math.round(n / seconds)} rows/s`,
			`${(seconds / n / first).toFixed(2)} of the first window's cost a row`,
			`${Math.round(memory.peak())} MiB at most in the isolate`,
		].join(" · "),
	);
}
memory.close();
process.exit(0);
