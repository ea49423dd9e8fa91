/**
 * `npm run bench:exports`: measures the CPU time of exports, compared with common tools that export
 * the same rows, and the memory of runs. Measurements alternate in rounds, so that other load on
 * the computer affects all of them.
 *
 * npm run bench:exports -- [rows] [rounds] [memory rows] [memory runs] [JSONLines, Parquet or Iceberg] [part of the
 * name of the exports]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pythonWithDuckDb, sqliteWithGzip } from "./files.ts";
import { startIceberg } from "./iceberg.ts";
import { watchMemory } from "./memory.ts";
import { startPostgres } from "./postgres.ts";
import { startService } from "./service.ts";

const [rows = 100_000, rounds = 7, largeRows = 1_000_000, runs = 10] = process.argv
	.slice(2, 6)
	.map(Number);

const toR2 = (config: object) => (n: number) => ({
	type: "R2",
	config: { prefix: `export-${n}`, ...config },
});

const iceberg = await startIceberg();

/** The exports whose memory can be measured, and how much they may use, in MiB. */
const FORMATS = {
	JSONLines: { name: "JSONLines with gzip", to: toR2({ compression: "gzip" }), goal: 64 },
	Parquet: {
		name: "Parquet with zstd",
		to: toR2({ file_format: "Parquet", compression: "zstd" }),
		goal: 64,
	},
	...(iceberg && { Iceberg: { name: "a table of Iceberg", to: iceberg.toTable, goal: 128 } }),
};
const [, format = FORMATS.JSONLines] =
	Object.entries(FORMATS).find(([name]) => name === process.argv[6]) ?? [];

/** Only exports with this in their name are compared. */
const only = process.argv[7] ?? "";

/** The interval of garbage collections in the run that measures memory without garbage. */
const COLLECT_MS = 500;

/** Time for the server to finish the work after a run. */
const SETTLE_MS = 200;

const service = await startService(rows, largeRows);
const { state, database, small, large } = service;
const postgres = await startPostgres(`${state}/rows.copy`);
const sqlite = sqliteWithGzip({
	database,
	window: small,
	output: `${state}/out.gz`,
});
const duckDb = await pythonWithDuckDb({
	database,
	window: small,
	output: `${state}/out.parquet`,
});

let exports = 0;

/** Runs an export to its own destination. Returns the server's CPU time in seconds. */
async function exported(destination: (n: number) => object) {
	exports += 1;
	const before = service.cpu();
	await service.runExport(destination(exports), small);
	await sleep(SETTLE_MS);
	return service.cpu() - before;
}

const jsonLines = () => exported(FORMATS.JSONLines.to);

const parquet = () => exported(FORMATS.Parquet.to);

const noOp = () => exported(() => ({ type: "NoOp" }));

type Postgres = NonNullable<typeof postgres>;

let table = "";

/** Runs an export to a new table. Returns the CPU time in seconds, including the database's. */
async function toPostgres({ config, measure }: Postgres) {
	let ofServer = 0;
	const ofDatabase = await measure(async () => {
		ofServer = await exported((n) => {
			table = `events_${n}`;
			return { type: "Postgres", config: { ...config, table_name: table } };
		});
	});
	return ofServer + ofDatabase;
}

/** An export and the tool that it is compared with. `tool` is null if it isn't installed. */
type Comparison = {
	name: string;
	measure: () => Promise<number>;
	beside: string;
	tool: (() => Promise<number>) | null;
};

const all: Comparison[] = [
	{
		name: "JSONLines, gzip",
		measure: jsonLines,
		beside: "`sqlite3` into `gzip -6`",
		tool: sqlite,
	},
	{
		name: "Parquet, zstd",
		measure: parquet,
		beside: "Python's `sqlite3`, DuckDB",
		tool: duckDb,
	},
	...(postgres
		? [
				{
					name: "PostgreSQL",
					measure: () => toPostgres(postgres),
					beside: "`\\copy` of a file",
					tool: () => postgres.copy(table),
				},
			]
		: []),
	...(iceberg
		? [
				{
					name: "Iceberg",
					measure: () => exported(iceberg.toTable),
					beside: "the same export as Parquet to S3",
					tool: () => exported(iceberg.toFiles),
				},
			]
		: []),
];
const comparisons = all.filter(({ name }) => name.includes(only));

const median = (numbers: number[]) =>
	numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const range = (numbers: number[]) =>
	`${median(numbers).toFixed(2)} (${Math.min(...numbers).toFixed(2)} to ${Math.max(...numbers).toFixed(2)})`;

/** The ratios of all rounds, by the line of the table. */
const ratios = new Map<string, { beside: string; of: number[] }>();

function add(name: string, beside: string, ratio: number) {
	const line = ratios.get(name) ?? { beside, of: [] };
	line.of.push(ratio);
	ratios.set(name, line);
}

for (const { beside, tool } of comparisons)
	if (!tool) console.log(`Skipped, because it isn't installed: ${beside}`);
if (!postgres) console.log("Skipped, because it isn't installed: PostgreSQL");
if (!iceberg) console.log("Skipped, because it isn't installed: Iceberg's catalog");

// The first round warms up.
for (let round = 0; round <= rounds; round += 1) {
	const seconds: string[] = [];
	for (const { name, measure, beside, tool } of comparisons) {
		if (!tool) continue;
		const first = await measure();
		const other = await tool();
		const second = await measure();
		seconds.push([first, second, other].map((n) => n.toFixed(2)).join(" "));
		if (round === 0) continue;
		add(name, beside, first / other);
		add(`${name}, again`, "itself", second / first);
		if (name !== "PostgreSQL") continue;
		add(`${name}, its write alone`, beside, (first - (await noOp())) / other);
		const reading = await postgres?.copyOfD1?.(table, { database, window: small });
		if (reading !== undefined)
			add(
				`${name}, compared with a copy that reads D1`,
				"`sqlite3` into `\\copy`",
				first / reading,
			);
	}
	console.log(`round ${round}: ${seconds.join(" · ")} s`);
}

console.log(`\n${rows} rows, ${rounds} rounds`);
console.log("| Export | Compared with | CPU time relative to it: median (min to max) |");
console.log("|---|---|---|");
for (const [name, { beside, of }] of ratios) console.log(`| ${name} | ${beside} | ${range(of)} |`);

const memory = await watchMemory(service.inspector, service.collections);

/** Exports the large window. */
const largeRun = () => {
	exports += 1;
	return service.runExport(format.to(exports), large);
};

// The first run warms up. Frequent garbage collections in it show the memory without garbage.
if (runs > 0) {
	const timer = setInterval(memory.collect, COLLECT_MS);
	await largeRun();
	clearInterval(timer);
	const { held } = memory.take();
	console.log(
		`\n${largeRows} rows as ${format.name}: after garbage collections, the isolate used at most ${held?.toFixed(0)} MiB.`,
	);
	console.log("Including garbage that V8 hadn't collected yet, in MiB:\n");
	console.log("| Run | Peak | Young objects | Old objects | Script | Buffers |");
	console.log("|---|---|---|---|---|---|");
}
let within = 0;
for (let run = 1; run <= runs; run += 1) {
	await largeRun();
	const { peak, spaces } = memory.take();
	const { fresh, old, script, buffers } = spaces;
	const cells = [peak, fresh, old, script, buffers].map((size) => size.toFixed(0));
	console.log(`| ${[run, ...cells].join(" | ")} |`);
	if (peak <= format.goal) within += 1;
}
memory.close();
if (runs > 0) console.log(`\n${within} of ${runs} runs stayed within ${format.goal} MiB.`);
process.exit(0);
