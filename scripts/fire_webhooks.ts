/**
 * `npm run fire:webhooks`: requests cause events on a real server that is killed again and again, and endpoints, some of which
 * fail, get them from webhooks. Each event has to arrive at each endpoint, in order at its first arrival, with a signature
 * that the published library for Python verifies. `--events N`, `--endpoints N` and `--kills N` say how many there are,
 * `--seed N` changes the random choices, `--port N` is the server's. The command fails on any difference.
 */
import { globSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { judgeEndpoint, startEndpoints } from "../test/fire/endpoints.ts";
import { seeded } from "../test/fire/random.ts";
import { HANG_MS } from "../test/support/hang.ts";
import { freePort } from "../test/support/peers.ts";
import { pythonWith, STANDARD_WEBHOOKS } from "../test/support/python.ts";
import { keepServer, prepareState } from "./kept_server.ts";
import { fail } from "./run.ts";
import { bootstrap } from "./server.ts";

const CLIENTS = 6;
const RETRY_MS = 500;
const POLL_MS = 3000;

/** How often a failing endpoint fails, of at most a tenth of the events. Each failure costs it five seconds or more. */
const FAILURES = 8;

/** A timeout that is only reached if something hangs. */
const DELIVERED_TIMEOUT_MS = 60 * 60_000;

const { values } = parseArgs({
	options: {
		events: { type: "string", default: "10000" },
		endpoints: { type: "string", default: "20" },
		kills: { type: "string", default: "6" },
		seed: { type: "string", default: "1" },
		port: { type: "string" },
	},
});
const Options = z.object({
	events: z.coerce.number().int().positive(),
	endpoints: z.coerce.number().int().min(1).max(20),
	kills: z.coerce.number().int().min(0),
	seed: z.coerce.number().int(),
	port: z.coerce.number().int().optional(),
});
const parsed = Options.safeParse(values);
if (!parsed.success) fail(z.prettifyError(parsed.error));
const { events, endpoints: count, kills, seed, port } = parsed.data;

const work = resolve(import.meta.dirname, `../.wrangler/fire-webhooks-${process.pid}`);
process.on("exit", (code) => {
	if (code !== 0) console.error(`The evidence is in ${work}.`);
});

const Webhook = z.object({
	id: z.string(),
	url: z.string(),
	enabled: z.boolean(),
	secret: z.string().nullable(),
	next_attempt_at: z.string().nullable(),
});
type Webhook = z.infer<typeof Webhook>;

const state = prepareState(work);
const python = await pythonWith([STANDARD_WEBHOOKS]);
const receiver = await startEndpoints(python, {
	count,
	chance: Math.min(FAILURES / events, 0.1),
	random: seeded(seed),
});
const { endpoints } = receiver;

console.log("Starting the server…");
const { key } = bootstrap(state);
const server = await keepServer({
	name: "tenantry-fire-webhooks",
	port: port ?? (await freePort()),
	work,
	state,
});
const base = `${server.url}/api/organizations/@current`;

/** Sends a request, again and again while the server is down. */
async function ask(method: string, path: string, body?: object): Promise<unknown> {
	for (;;) {
		const answer = await fetch(base + path, {
			method,
			headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
			...(body && { body: JSON.stringify(body) }),
			signal: AbortSignal.timeout(HANG_MS),
		})
			.then(async (answer) => ({ status: answer.status, text: await answer.text() }))
			.catch((error: unknown) => ({ status: 599, text: String(error) }));
		if (answer.status < 300) return JSON.parse(answer.text);
		if (answer.status < 500 && answer.status !== 409) fail(`${method} ${path}: ${answer.text}`);
		await sleep(RETRY_MS);
	}
}

for (const [i, endpoint] of endpoints.entries()) {
	const made = Webhook.parse(await ask("POST", "/webhooks", { url: `${receiver.url}/${i}` }));
	endpoint.secret = made.secret ?? "";
}

let written = 0;
let cut = 0;
/** Causes events, by requests that may be repeated. */
async function write() {
	while (written < events) {
		written += 1;
		await ask("PATCH", "", { name: `Name ${written} ${crypto.randomUUID()}` });
	}
}
const total = () => endpoints.reduce((sum, { taken }) => sum + taken.size, 0);
/** Kills the server when so many events were taken in all: evenly spread. */
async function killAll() {
	for (let i = 1; i <= kills; i += 1) {
		while (total() < (i / (kills + 1)) * events * count) await sleep(50);
		const before = total();
		await server.kill();
		if (before > 0) cut += 1;
		console.log(`Killed the server ${i} times; ${total()} events were taken.`);
	}
}
const start = Date.now();
console.log(`${events} events for ${count} endpoints, and ${kills} kills…`);
const killing = killAll();
await Promise.all(Array.from({ length: CLIENTS }, write));
const seconds = (since: number) => Math.round((Date.now() - since) / 1000);
console.log(`The events are written, after ${seconds(start)} seconds.`);

const list = async () =>
	z.object({ results: z.array(Webhook) }).parse(await ask("GET", "/webhooks")).results;
const isDone = ({ enabled, next_attempt_at }: Webhook) => enabled && next_attempt_at === null;
let enabledAgain = 0;
for (let all = await list(); ; all = await list()) {
	for (const { id, enabled } of all)
		if (!enabled) {
			// An endpoint that answered 410.
			enabledAgain += 1;
			await ask("PATCH", `/webhooks/${id}`, { enabled: true });
		}
	if (all.every(isDone) && server.counts.kills === kills) break;
	if (Date.now() > start + DELIVERED_TIMEOUT_MS) break;
	await sleep(POLL_MS);
}
await killing;
const took = seconds(start);
await server.stop();
const checked = await receiver.verified();

console.log("Comparing…");
const [file] = globSync(`${state}/v3/d1/*/*.sqlite`).filter((path) => !path.includes("metadata"));
const database = new DatabaseSync(file ?? fail("There is no database."), { readOnly: true });
const feed = z
	.array(z.object({ id: z.string(), item_id: z.string() }))
	.parse(database.prepare("select id, item_id from activity_log order by position").all());
const hooks = z
	.array(z.object({ id: z.string(), url: z.string() }))
	.parse(database.prepare("select id, url from webhooks").all());
const faults: string[] = [];
const table = endpoints.map((endpoint, i): [string, object] => {
	const hook = hooks.find(({ url }) => url === `${receiver.url}/${i}`);
	// It gets what happened after it was added.
	const added = feed.findIndex(({ item_id }) => item_id === hook?.id);
	const wanted = feed.slice(added + 1).map(({ id }) => id);
	const wrong = judgeEndpoint(endpoint, wanted);
	if (wrong || added < 0) faults.push(`/${i}: ${wrong}`);
	const { way, failed, arrived } = endpoint;
	return [`/${i}`, { way, failed, events: wanted.length, arrived: arrived.length }];
});
const arrived = endpoints.reduce((sum, endpoint) => sum + endpoint.arrived.length, 0);
const distinct = endpoints.reduce((sum, endpoint) => sum + new Set(endpoint.arrived).size, 0);
if (checked !== arrived) faults.push(`Python checked ${checked} of ${arrived} messages.`);
if (server.counts.ends > server.counts.kills + 1)
	faults.push("The server ended when nobody killed it.");
console.table(Object.fromEntries(table));
console.log(
	[
		`The feed has ${feed.length} events. ${arrived} messages arrived at ${count} endpoints in ${took} seconds, ${arrived - distinct} of them again.`,
		`The server was killed ${server.counts.kills} times, ${cut} of them while it delivered. A webhook was disabled and enabled again ${enabledAgain} times.`,
		`Python verified ${checked} signatures.`,
		...faults,
	].join("\n"),
);
if (faults.length === 0) rmSync(work, { recursive: true, force: true });
process.exit(faults.length === 0 ? 0 : 1);
