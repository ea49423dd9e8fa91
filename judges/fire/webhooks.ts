/**
 * `npm run fire:webhooks`: requests cause events on a real server that is killed repeatedly, and
 * webhooks send the events to endpoints, some of which fail. Each event must arrive at each
 * endpoint, in order (repeated messages excepted), with a signature that the published Python
 * library verifies. `--events N`, `--endpoints N` and `--kills N` set the numbers, `--seed N`
 * selects other random choices, and `--port N` sets the server's port. The command fails on any
 * difference.
 */
import { globSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { fail } from "../../build/run.ts";
import { freePort } from "../../test/support/peers.ts";
import { pythonWith, STANDARD_WEBHOOKS } from "../../test/support/python.ts";
import { seeded } from "../../test/support/random.ts";
import { bootstrap } from "../../test/support/serve.ts";
import { keepServer, prepareState } from "../kept_server.ts";
import { judgeEndpoint, startEndpoints } from "./endpoints.ts";
import { asking, folderOf, readOptions } from "./fire.ts";

const CLIENTS = 6;
const POLL_MS = 3000;

/**
 * How often a failing endpoint fails, but at most for a tenth of the events. Each failure delays it
 * by five seconds or more.
 */
const FAILURES = 8;

/** A timeout that is reached only if something hangs. */
const DELIVERED_TIMEOUT_MS = 60 * 60_000;

const {
	events,
	endpoints: count,
	kills,
	seed,
	port,
} = readOptions(
	z.object({
		events: z.coerce.number().int().positive().default(10_000),
		endpoints: z.coerce.number().int().min(1).max(20).default(20),
		kills: z.coerce.number().int().min(0).default(6),
		seed: z.coerce.number().int().default(1),
		port: z.coerce.number().int().optional(),
	}),
);

const work = folderOf(`fire-webhooks-${process.pid}`);

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
const ask = asking(`${server.url}/api/organizations/@current`, key);

for (const [i, endpoint] of endpoints.entries()) {
	const made = Webhook.parse(await ask("POST", "/webhooks", { url: `${receiver.url}/${i}` }));
	endpoint.secret = made.secret ?? "";
}

let written = 0;
let cut = 0;
/** Causes events with requests that can be repeated. */
async function write() {
	while (written < events) {
		written += 1;
		await ask("PATCH", "", { name: `Name ${written} ${crypto.randomUUID()}` });
	}
}
const total = () => endpoints.reduce((sum, { taken }) => sum + taken.size, 0);
/** Kills the server after equal shares of the deliveries. */
async function killAll() {
	for (let i = 1; i <= kills; i += 1) {
		while (total() < (i / (kills + 1)) * events * count) await sleep(50);
		const before = total();
		await server.kill();
		if (before > 0) cut += 1;
		console.log(`Killed the server ${i} times; ${total()} events have been delivered.`);
	}
}
const start = Date.now();
console.log(
	`Sending ${events} events to ${count} endpoints, and killing the server ${kills} times…`,
);
const killing = killAll();
await Promise.all(Array.from({ length: CLIENTS }, write));
const seconds = (since: number) => Math.round((Date.now() - since) / 1000);
console.log(`All events were created after ${seconds(start)} seconds.`);

const list = async () =>
	z.object({ results: z.array(Webhook) }).parse(await ask("GET", "/webhooks")).results;
const isDone = ({ enabled, next_attempt_at }: Webhook) => enabled && next_attempt_at === null;
let enabledAgain = 0;
for (let all = await list(); ; all = await list()) {
	for (const { id, enabled } of all)
		if (!enabled) {
			// The endpoint responded with 410.
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
const database = new DatabaseSync(file ?? fail("The state has no database."), { readOnly: true });
const feed = z.array(z.object({ id: z.string(), item_id: z.string() })).parse(
	database
		.prepare(`select printf('%08x-%04x-7%03x-%04x-%012x', created_at >> 16, created_at & 65535, nonce >> 14, nonce & 16383 | 32768, position) as id,
			item_id from activity_log order by position`)
		.all(),
);
const hooks = z
	.array(z.object({ id: z.string(), url: z.string() }))
	.parse(database.prepare("select id, url from webhooks").all());
const faults: string[] = [];
const table = endpoints.map((endpoint, i): [string, object] => {
	const hook = hooks.find(({ url }) => url === `${receiver.url}/${i}`);
	// The webhook gets the events after its creation.
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
	faults.push("The server ended without being killed.");
console.table(Object.fromEntries(table));
console.log(
	[
		`The feed has ${feed.length} events. ${arrived} messages arrived at ${count} endpoints in ${took} seconds, ${arrived - distinct} of them repeated.`,
		`The server was killed ${server.counts.kills} times, ${cut} of them during deliveries. Webhooks were disabled and enabled again ${enabledAgain} times.`,
		`Python verified ${checked} signatures.`,
		...faults,
	].join("\n"),
);
process.exit(faults.length === 0 ? 0 : 1);
