/**
 * What a row costs: events of one window from D1 to R2 as JSONLines with gzip, ever more of them. Prints rows per second,
 * the cost of a row as a share of that in the smallest window, and by how much the runtime's memory grew at its peak,
 * which includes the simulators of D1 and R2.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { createTestHarness } from "wrangler";

const SIZES = process.argv.slice(2).map(Number);
const sizes = SIZES.length > 0 ? SIZES : [10_000, 100_000, 1_000_000];

/** In one statement: more take D1 too long. */
const A_STATEMENT = 10_000;

const START = "2026-01-01T00:00:00.000Z";
const END = "2026-01-01T01:00:00.000Z";

type Row = Record<string, unknown>;

const server = createTestHarness({
	workers: [
		{
			configPath: "./wrangler.toml",
			vars: { SECRETS_KEY: Buffer.alloc(32).toString("base64") },
		},
	],
});
await server.listen();
const worker = server.getWorker<Env>();
await worker.applyD1Migrations("DB");
const { DB, EXPORTS } = await worker.getEnv();

const write = (query: string, ...values: unknown[]) =>
	DB.prepare(query)
		.bind(...values)
		.run();

/** `n` events that came in the window, of some 500 bytes each. */
async function fill(team_id: number, n: number) {
	for (let from = 0; from < n; from += A_STATEMENT)
		await write(
			`insert into events (team_id, uuid, event, distinct_id, person_id, properties, person_properties, elements_chain, timestamp, created_at, _inserted_at)
			with recursive n(i) as (select ?2 union all select i + 1 from n where i + 1 < ?3)
			select ?1, printf('%08x-0000-4000-8000-%012x', ?1, i), 'event ' || (i % 20), 'person ' || (i % 1000), null,
				json_object('$browser', 'Chrome', 'path', '/page/' || (i * 7919 % 5000), 'value', i, 'token', hex(randomblob(40)), 'text', 'some words that are always the same, as in most events of most products'),
				null, '', ?4, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', ?4, '+' || (i * 3599.0 / ?5) || ' seconds') from n`,
			team_id,
			from,
			Math.min(n, from + A_STATEMENT),
			START,
			n,
		);
}

/** An hourly export whose window is due. */
async function prepare(team_id: number) {
	const id = v7();
	await write(
		`insert into batch_exports (id, organization_id, project_id, name, destination, interval, created_at, last_updated_at, next_end_at, due_at)
		values (?1, 'bench', ?2, 'Bench', '{"type":"R2","config":{"prefix":"bench","compression":"gzip"}}', 'hour', ?3, ?3, ?4, ?4)`,
		id,
		team_id,
		START,
		END,
	);
	return id;
}

async function ended(id: string): Promise<Row> {
	for (;;) {
		const row = await DB.prepare(
			"select * from batch_export_runs where batch_export_id = ? and finished_at is not null",
		)
			.bind(id)
			.first<Row>();
		if (row) return row;
		await sleep(200);
	}
}

/** The runtime: the child of ours that is called workerd. */
const runtime = () =>
	execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" })
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.find(
			([, parent, name]) =>
				Number(parent) === process.pid && name === "workerd",
		)?.[0];

/** In MiB, since the last `forget`; null where the system doesn't tell. */
function memory(which: "VmHWM" | "VmRSS") {
	const file = `/proc/${runtime()}/status`;
	if (!existsSync(file)) return null;
	const [, kib] =
		new RegExp(`${which}:\\s+(\\d+)`).exec(readFileSync(file, "utf8")) ?? [];
	return kib ? Number(kib) / 1024 : null;
}
const forget = () => {
	const file = `/proc/${runtime()}/clear_refs`;
	if (existsSync(file)) writeFileSync(file, "5");
};

let first: number | undefined;
for (const [team, n] of sizes.entries()) {
	await fill(team + 1, n);
	const id = await prepare(team + 1);
	forget();
	const before = memory("VmRSS");
	const began = performance.now();
	await worker.scheduled({
		cron: "* * * * *",
		scheduledTime: new Date("2026-01-01T01:06:00Z"),
	});
	const row = await ended(id);
	const seconds = (performance.now() - began) / 1000;
	const peak = memory("VmHWM");
	if (row.status !== "Completed" || row.records_completed !== n)
		throw new Error(`The run of ${n} rows: ${JSON.stringify(row)}`);
	const { objects } = await EXPORTS.list({ prefix: `${team + 1}/` });
	const bytes = objects.reduce((sum, { size }) => sum + size, 0);
	first ??= seconds / n;
	console.log(
		[
			`${n} rows`,
			`${Math.round(n / seconds)} rows/s`,
			`${(seconds / n / first).toFixed(2)} of the first's cost a row`,
			`${(bytes / 2 ** 20).toFixed(1)} MiB written`,
			peak === null || before === null
				? "memory unknown"
				: `memory grew by ${Math.round(peak - before)} MiB to ${Math.round(peak)} MiB`,
		].join(" · "),
	);
}
await server.close();
