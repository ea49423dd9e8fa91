/**
 * What the service needs at 1 thousand, 100 thousand and 10 million organizations: load, storage, money, which limit of the
 * platform is met first, and how long requests wait for a database that runs one statement at a time (docs/scale.md).
 * Change the numbers below to those of your organizations.
 *
 * npm run scale
 */
import { DatabaseSync } from "node:sqlite";
import { migrated, sizes } from "./sizes.ts";

const MONTH_SECONDS = 30 * 86_400;

/** What an organization does in a month. */
const LOAD = {
	reads: 1_350,
	writes: 150,
	/** Runs of one hourly export. */
	runs: 720,
	jobs: 1_000,
	/** Events that its projects collect. */
	events: 100_000,
	/** Events of the feed that a webhook receives. */
	deliveries: 300,
};

/** The busiest minute has this many times the requests of an average one. */
const PEAK = 4;

/** Runs of an hour start in its first twelfth (docs/exports.md#runs). */
const START_SPREAD_SECONDS = 300;

/** Rows that D1 reads and writes, index entries included, as `Server-Timing` and D1's metadata tell them. */
const ROWS = {
	read: { read: 25, written: 0 },
	write: { read: 30, written: 20 },
	run: { read: 125, written: 63 },
	job: { read: 42, written: 32 },
	event: { read: 2, written: 4 },
	delivery: { read: 12, written: 8 },
};

/** Milliseconds that D1's thread is busy: a batch of one or two small statements, and a page of 1,000 events. */
const BUSY_MS = { read: 1.3, write: 2.5, run: 8, job: 4, event: 0.05, delivery: 1.5, page: 15 };

/** Rows a database keeps of an organization, by how long they are kept. */
const KEPT = {
	organization: 1,
	members: 10,
	keys: 5,
	runs: LOAD.runs * 12,
	run_log_entries: (LOAD.runs * 3 * 7) / 30,
	activity: (LOAD.writes + LOAD.runs) * 12,
};

/** Dollars for a million, or for a gigabyte a month (developers.cloudflare.com, 2026). */
const PRICES = {
	requests: 0.3,
	cpu_ms: 0.02,
	rows_read: 0.001,
	rows_written: 1,
	d1_gigabytes: 0.75,
	kv_reads: 0.5,
	queue_operations: 0.4,
};

/** CPU time of a request, in milliseconds. */
const CPU_MS = 2;

const LIMITS = {
	database_gigabytes: 10,
	/** Above this share, waiting times grow quickly. */
	database_utilization: 0.6,
	/** src/exporter/schedule.ts: `BATCH_SIZE` × `MAX_BATCHES_PER_TICK`. */
	due_exports_a_tick: 9_000,
	/** src/exporter/launch.ts: `LAUNCH_BATCH_SIZE`, every minute. */
	launches_an_hour: 180_000,
	workflow_creations_a_second: 100,
	concurrent_workflows: 50_000,
	queue_messages_a_second: 5_000,
};

const number = (value: number) =>
	value >= 1e9
		? `${+(value / 1e9).toPrecision(3)} bn`
		: value >= 1e6
			? `${+(value / 1e6).toPrecision(3)} m`
			: Math.round(+value.toPrecision(3)).toLocaleString("en");

function table(rows: (string | number)[][]) {
	const [head = [], ...body] = rows.map((row) => `| ${row.join(" | ")} |`);
	console.log(["", head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...body].join("\n"));
}

const rowsOf = (kind: "read" | "written") =>
	LOAD.reads * ROWS.read[kind] +
	LOAD.writes * ROWS.write[kind] +
	LOAD.runs * ROWS.run[kind] +
	LOAD.jobs * ROWS.job[kind] +
	LOAD.deliveries * ROWS.delivery[kind];

const bytes = sizes(migrated(new DatabaseSync(":memory:")));
const keptBytes = Object.entries(KEPT).reduce(
	(sum, [name, rows]) => sum + rows * (bytes[name] ?? 0),
	0,
);

/** Milliseconds that an organization keeps the thread busy in a month. */
const busy =
	LOAD.reads * BUSY_MS.read +
	LOAD.writes * BUSY_MS.write +
	LOAD.runs * BUSY_MS.run +
	LOAD.jobs * BUSY_MS.job +
	LOAD.deliveries * BUSY_MS.delivery;
const eventsBusy = LOAD.events * (BUSY_MS.event + BUSY_MS.page / 1000);

const sizesOfService = [1e3, 1e5, 1e7];
const perSize = (of: (organizations: number) => number) =>
	sizesOfService.map((organizations) => number(of(organizations)));
const requests = LOAD.reads + LOAD.writes;

console.log("## Load and storage, without the events of projects");
table([
	["Organizations", ...sizesOfService.map(number)],
	["Requests a month", ...perSize((n) => n * requests)],
	["Requests a second, on average", ...perSize((n) => (n * requests) / MONTH_SECONDS)],
	["Requests a second, at the peak", ...perSize((n) => (n * requests * PEAK) / MONTH_SECONDS)],
	["Runs an hour", ...perSize((n) => (n * LOAD.runs) / 720)],
	["Rows read a month", ...perSize((n) => n * rowsOf("read"))],
	["Rows written a month", ...perSize((n) => n * rowsOf("written"))],
	["D1, gigabytes", ...perSize((n) => (n * keptBytes) / 1e9)],
	["Events of projects a month", ...perSize((n) => n * LOAD.events)],
	[
		"… kept for a month in D1, gigabytes",
		...perSize((n) => (n * LOAD.events * (bytes.event ?? 0)) / 1e9),
	],
]);

const money: Record<string, (n: number) => number> = {
	"Workers, requests": (n) =>
		(n * (requests + LOAD.runs + LOAD.jobs + LOAD.deliveries) * PRICES.requests) / 1e6,
	"Workers, CPU": (n) =>
		(n *
			(requests * CPU_MS + LOAD.runs * 30 + LOAD.jobs * 10 + LOAD.deliveries * 5) *
			PRICES.cpu_ms) /
		1e6,
	"D1, rows read": (n) => (n * rowsOf("read") * PRICES.rows_read) / 1e6,
	"D1, rows written": (n) => (n * rowsOf("written") * PRICES.rows_written) / 1e6,
	"D1, storage": (n) => (n * keptBytes * PRICES.d1_gigabytes) / 1e9,
	"KV, reads": (n) => (n * requests * PRICES.kv_reads) / 1e6,
	Queues: (n) => (n * (LOAD.jobs + LOAD.deliveries) * 3 * PRICES.queue_operations) / 1e6,
};
console.log("\n## Dollars a month, before what the plan includes");
table([
	["Organizations", ...sizesOfService.map(number)],
	...Object.entries(money).map(([name, of]) => [name, ...perSize(of)]),
	["Sum", ...perSize((n) => Object.values(money).reduce((sum, of) => sum + of(n), 0))],
	[
		"The events of projects in D1, rows written and storage",
		...perSize(
			(n) =>
				n *
				LOAD.events *
				((ROWS.event.written * PRICES.rows_written) / 1e6 +
					((bytes.event ?? 0) * PRICES.d1_gigabytes) / 1e9),
		),
	],
]);

/** How many organizations meet a limit, from what one of them needs. */
const reached = {
	"10 GB of a database, with a month of events":
		(LIMITS.database_gigabytes * 1e9) / (keptBytes + LOAD.events * (bytes.event ?? 0)),
	"10 GB of a database, events elsewhere": (LIMITS.database_gigabytes * 1e9) / keptBytes,
	"the thread of a database at the peak, with events":
		(LIMITS.database_utilization * 1000 * MONTH_SECONDS) / ((busy + eventsBusy) * PEAK),
	"the thread of a database at the peak, events elsewhere":
		(LIMITS.database_utilization * 1000 * MONTH_SECONDS) / (busy * PEAK),
	"exports that a tick schedules": LIMITS.due_exports_a_tick * (START_SPREAD_SECONDS / 60),
	"runs that ticks launch in an hour": LIMITS.launches_an_hour,
	"Workflow instances created in an hour": LIMITS.workflow_creations_a_second * 3600,
	"concurrent Workflow instances, at 20 seconds a run":
		(LIMITS.concurrent_workflows * START_SPREAD_SECONDS) / 20,
	"messages a second of one queue, at the peak":
		(LIMITS.queue_messages_a_second * MONTH_SECONDS) / ((LOAD.jobs + LOAD.deliveries) * PEAK),
};
console.log("\n## Which limit is met first");
table([
	["Limit", "Met at organizations"],
	...Object.entries(reached)
		.sort(([, a], [, b]) => a - b)
		.map(([name, organizations]) => [name, number(organizations)]),
]);

/** A random time with an exponential distribution. */
const exponential = (mean: number) => -Math.log(1 - Math.random()) * mean;

/**
 * Simulates a peak hour of one database, which runs one batch at a time in the order of arrival. Each minute a tick writes the
 * runs that are due, and in the first minutes of the hour their first statements follow.
 * @returns the share of time that it is busy, and how long a request waits, in milliseconds
 */
function simulate(organizations: number) {
	const HOUR = 3_600_000;
	const arrivals: { at: number; busy: number; isRequest: boolean }[] = [];
	const add = (perMonth: number, busy: number, isRequest: boolean, peak: number) => {
		const gap = (MONTH_SECONDS * 1000) / (perMonth * organizations * peak);
		for (let at = exponential(gap); at < HOUR; at += exponential(gap))
			arrivals.push({ at, busy: exponential(busy), isRequest });
	};
	add(LOAD.reads, BUSY_MS.read, true, PEAK);
	add(LOAD.writes, BUSY_MS.write, true, PEAK);
	add(LOAD.jobs, BUSY_MS.job, false, 1);
	add(LOAD.deliveries, BUSY_MS.delivery, false, PEAK);
	for (let i = 0; i < organizations; i += 1) {
		const at = Math.random() * START_SPREAD_SECONDS * 1000;
		arrivals.push({ at, busy: exponential(BUSY_MS.run), isRequest: false });
	}
	for (let minute = 0; minute < 60; minute += 1) {
		const due = minute < START_SPREAD_SECONDS / 60 ? organizations / 5 : 0;
		arrivals.push({ at: minute * 60_000, busy: 5 + due * 0.1, isRequest: false });
	}
	arrivals.sort((a, b) => a.at - b.at);
	let free = 0;
	let used = 0;
	const waits: number[] = [];
	for (const { at, busy, isRequest } of arrivals) {
		const start = Math.max(at, free);
		if (isRequest) waits.push(start - at);
		free = start + busy;
		used += busy;
	}
	waits.sort((a, b) => a - b);
	const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
	return { used: used / HOUR, median: at(0.5), p99: at(0.99), most: at(0.9999) };
}

console.log("\n## A peak hour of one database, simulated");
table([
	["Organizations", "Busy", "Median wait, ms", "99 %", "99.99 %"],
	...[1_000, 3_000, 10_000, 30_000, 100_000].map((organizations) => {
		const { used, median, p99, most } = simulate(organizations);
		return [
			number(organizations),
			`${(used * 100).toFixed(1)} %`,
			...[median, p99, most].map((ms) => (ms < 10 ? ms.toFixed(1) : number(ms))),
		];
	}),
]);
