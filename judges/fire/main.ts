/**
 * `npm run fire`: clients post events to a real server that is killed repeatedly, and seven exports
 * write the events. Meanwhile, users pause the exports, change their intervals, and repeat runs.
 * DuckDB compares the exported events with the acknowledged ones. `--minutes N` sets how long
 * clients post, `--kills N` how often the server is killed, and `--seed N` selects other random
 * choices. The command fails on any difference. It needs PostgreSQL (Debian: `postgresql`), Java, Maven
 * and Python.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { fail } from "../../build/run.ts";
import { MINUTE_MS } from "../../src/lib/time.ts";
import { buckets } from "../../test/support/bucket.ts";
import { freePort } from "../../test/support/peers.ts";
import { databases } from "../../test/support/postgres.ts";
import { saveR2 } from "../../test/support/r2.ts";
import { type Random, seeded } from "../../test/support/random.ts";
import { bootstrap } from "../../test/support/serve.ts";
import { keepServer, prepareState } from "../kept_server.ts";
import { startCatalog } from "./catalog.ts";
import { changeExport } from "./changes.ts";
import { postEvents } from "./clients.ts";
import { folderOf, readOptions } from "./fire.ts";
import { isFaultless, judge } from "./judge.ts";
import { createTable, outputs, saveBucket, savePostgres } from "./outputs.ts";
import { startReceiver } from "./receiver.ts";
import { exportsOf, INTERVAL_MS, judgeRuns, windowEnd } from "./runs.ts";

/** When the runs of a window are most likely in progress, in milliseconds after its end. */
const RUNS_FROM_MS = 30_000;
const RUNS_UNTIL_MS = 2 * MINUTE_MS;

/** What DuckDB reads of the table of Iceberg. */
const BY_DUCKDB = "iceberg-duckdb";

const work = folderOf("fire");

const { minutes, kills, seed } = readOptions(
	z.object({
		minutes: z.coerce.number().positive().default(10),
		kills: z.coerce.number().int().min(0).default(10),
		seed: z.coerce.number().int().default(1),
	}),
);

const until = (moment: number) => sleep(Math.max(0, moment - Date.now()));

/**
 * Returns when to kill the server: half of the times at random, half of the times while runs are
 * likely in progress.
 */
function killMoments(random: Random, start: number, end: number) {
	const ends: [number, ...number[]] = [windowEnd(start)];
	for (let at = ends[0]; at < end; at += INTERVAL_MS) ends.push(at + INTERVAL_MS);
	return Array.from({ length: kills }, (_, i) => {
		if (i % 2 === 0) return random.between(start, end);
		const window = random.pick(ends);
		return random.between(window + RUNS_FROM_MS, window + RUNS_UNTIL_MS);
	}).sort((a, b) => a - b);
}

/** Starts the destinations of the exports. */
async function startPeers(random: Random) {
	const { POSTGRES_PORT: postgres } = await databases();
	if (!postgres) fail("npm run fire needs PostgreSQL (Debian: postgresql).");
	await createTable(postgres);
	const { S3_URL: s3 } = await buckets();
	const receiver = await startReceiver(`${work}/outputs/http`, random);
	const catalog = await startCatalog(s3, random);
	return { s3, postgres, receiver, catalog };
}

const state = prepareState(work);
const random = seeded(seed);
const { s3, postgres, receiver, catalog } = await startPeers(seeded(seed - 1));
const wanted = outputs({ s3, postgres, receiver: receiver.url, catalog: catalog.url });
const names = wanted.map(({ name }) => name);

console.log("Starting the server…");
const owner = bootstrap(state);
const server = await keepServer({ name: "tenantry-fire", port: await freePort(), work, state });
const exports = exportsOf(server.url, owner);
const ids: string[] = [];
for (const output of wanted) ids.push(await exports.create(output));

const start = Date.now();
const end = start + minutes * MINUTE_MS;
const moments = killMoments(random, start, end);
console.log(
	`Posting for ${minutes} minutes, and killing the server ${kills} times, for the last time at ${new Date(moments.at(-1) ?? end).toISOString()}…`,
);
/** Kills the server at the chosen times. Returns how many runs were in progress then. */
async function killAll() {
	let cut = 0;
	for (const moment of moments) {
		await until(moment);
		const runs = await Promise.all(ids.map(exports.runs));
		cut += runs.flat().filter((run) => run.finished_at === null).length;
		await server.kill();
	}
	return cut;
}
const killing = killAll();
const changing = Promise.all(
	ids.map((id, i) => changeExport(exports, id, end, seeded(seed + 100 + i))),
);
const posted = await postEvents(
	{
		url: `${server.url}/api/projects/${owner.project}/events/`,
		key: owner.key,
	},
	work,
	end,
	seed,
);
const lastEnd = windowEnd(Date.now());
const cut = await killing;
const changed = await changing;
console.log(`Waiting for the runs of the window that ends at ${new Date(lastEnd).toISOString()}…`);
await exports.waitForRuns(ids, lastEnd);
const advised = await Promise.all(ids.map(exports.followAdvice));
const runs = await exports.waitForRuns(ids, lastEnd);
await server.stop();

console.log("Comparing…");
await saveBucket(s3, `${work}/outputs`);
await saveR2(state, work, `${work}/outputs/r2`);
await savePostgres(postgres, `${work}/outputs/postgres`);
await catalog.save("pyiceberg", `${work}/outputs/iceberg`);
await catalog.save("duckdb", `${work}/outputs/${BY_DUCKDB}`);
/** Two readers have read the table of Iceberg, after the runs of one export. */
const found: [string, (typeof runs)[number]][] = [...names, BY_DUCKDB].map((name) => [
	name,
	runs[names.indexOf(name === BY_DUCKDB ? "iceberg" : name)] ?? [],
]);
const verdicts = await judge(
	work,
	found.map(([name]) => name),
);

/** The differences between rows, and the errors of runs. */
const faults: string[] = [];
const table = found.map(([name, list]): [string, object] => {
	const verdict = verdicts.get(name);
	if (!verdict) return fail(`${name} was not compared.`);
	const rows = list.reduce((sum, run) => sum + run.records_completed, 0);
	const wrong = judgeRuns(list, windowEnd(start) - INTERVAL_MS, lastEnd);
	if (wrong) faults.push(`${name}: ${wrong}`);
	if (rows !== verdict.rows) faults.push(`${name}: its runs report ${rows} rows`);
	if (!isFaultless(verdict)) faults.push(`${name}: its rows differ`);
	return [name, { runs: list.length, ...verdict }];
});
const sum = (numbers: number[]) => numbers.reduce((all, n) => all + n, 0);
const { counts } = receiver;
const failures = sum(Object.values(counts.failed));
const ways = Object.entries(counts.failed).map(([way, n]) => `${n} ${way}`);
if (counts.conflicts > 0)
	faults.push(
		`http: ${counts.conflicts} posts without an Idempotency-Key, or with the key of another content`,
	);
const { counts: asked } = catalog;
if (server.counts.ends > server.counts.kills + 1)
	faults.push("The server ended without being killed.");
console.table(Object.fromEntries(table));
console.log(
	[
		`${posted.acknowledged} of ${posted.events} events were acknowledged, in ${posted.posts} posts: ${posted.lost} were lost, ${posted.repeated} repeated, and ${posted.givenUp} batches given up.`,
		`The server was killed ${server.counts.kills} times, which interrupted ${cut} runs.`,
		`The exports were paused ${sum(changed.map(({ pauses }) => pauses))} times, had another interval ${sum(changed.map(({ intervals }) => intervals))} times, and ${sum(changed.map(({ repeated }) => repeated))} runs were repeated. The log named ${sum(advised)} ranges that were not exported, which backfills then exported.`,
		`The receiver failed ${failures} of ${counts.posts} posts (${ways.join(", ")}), and ${counts.repeated} were repeated.`,
		`The catalog lost ${asked.lost} of ${asked.requests} responses. Others committed just before ${asked.overtaken} of ${asked.commits} commits, of which ${asked.conflicts} conflicted.`,
		...faults,
	].join("\n"),
);
process.exit(faults.length === 0 ? 0 : 1);
