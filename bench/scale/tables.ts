import {
	BUSY_MS,
	CPU_MS,
	EVENT_BYTES,
	KEPT,
	KV_WRITES,
	LIMITS,
	LOAD,
	type Operation,
	PEAK,
	PRICES,
	QUEUE_OPERATIONS,
	REQUESTS,
	ROWS,
	RUN_SECONDS,
	SHARED_ISOLATES,
	START_SPREAD_SECONDS,
	TICK,
	TRIGGERED_ROW_MS,
	WORKFLOW,
} from "./assumptions.ts";
import { busiestShare, causedBusyMs, simulate } from "./simulation.ts";

const MONTH_SECONDS = 30 * 86_400;
const HOUR_SECONDS = 3600;

const whole = (value: number) => Math.round(value).toLocaleString("en");
const rounded = (value: number) => whole(Number(value.toPrecision(3)));

/** Three digits of a number. */
const number = (value: number) =>
	value >= 1e12
		? `${rounded(value / 1e9)} bn`
		: value >= 1e9
			? `${+(value / 1e9).toPrecision(3)} bn`
			: value >= 1e6
				? `${+(value / 1e6).toPrecision(3)} m`
				: rounded(value);

function table(rows: (string | number)[][]) {
	const [head = [], ...body] = rows.map((row) => `| ${row.join(" | ")} |`);
	return [head, `|${"---|".repeat(rows[0]?.length ?? 0)}`, ...body].join("\n");
}

/** All operations but events, which are counted by themselves. */
const OPERATIONS: Operation[] = ["read", "write", "run", "job", "delivery", "use"];

const NAMES: Record<Operation, string> = {
	read: "a request that reads",
	write: "a request that writes",
	run: "a run of an hourly export",
	job: "a plugin job",
	delivery: "an event to a webhook",
	use: "counting the use of a key",
	event: "a user's event: collected, then exported",
};

/** What an organization needs in a month. */
const monthly = (costOf: (operation: Operation) => number) =>
	OPERATIONS.reduce((sum, name) => sum + LOAD[name] * costOf(name), 0);

const requests = LOAD.read + LOAD.write;
const keptBytes = (months = 12) =>
	Object.entries(KEPT).reduce(
		(sum, [name, { rows, bytes }]) =>
			sum + rows * bytes * (["runs", "activity"].includes(name) ? months / 12 : 1),
		0,
	);
const eventBytes = LOAD.event * EVENT_BYTES;
const rowsWritten = monthly((name) => ROWS[name].written);
const workflowGigabytes = (LOAD.run * WORKFLOW.kilobytes * (WORKFLOW.days / 30) * 1000) / 1e9;

const operations = () =>
	table([
		["", "A month", "Rows read", "Rows written", "D1's thread, ms", "CPU, ms", "Requests"],
		...[...OPERATIONS, "event" as const].map((name) => [
			NAMES[name],
			whole(LOAD[name]),
			ROWS[name].read,
			ROWS[name].written,
			BUSY_MS[name],
			CPU_MS[name],
			REQUESTS[name],
		]),
	]);

const kept = () =>
	table([
		["", "Rows", "Bytes of a row", "Kept"],
		...Object.entries(KEPT).map(([name, { rows, bytes, kept }]) => [
			name.replaceAll("_", " "),
			whole(rows),
			whole(bytes),
			kept,
		]),
		["events of users", whole(LOAD.event), EVENT_BYTES, "here a month"],
	]);

const arithmetic = () => {
	const sum = OPERATIONS.filter((name) => ROWS[name].written > 0)
		.map((name) => `${whole(LOAD[name])} × ${ROWS[name].written}`)
		.join(" + ");
	const all = rowsWritten * 1000;
	return `${sum} = ${whole(rowsWritten)} rows. From 1,000 organizations they are ${number(all)}, and cost $${number((all * PRICES.rows_written) / 1e6)} at $${PRICES.rows_written} a million.`;
};

const SIZES = [1e3, 1e5, 1e7];
const perSize = (title: string, one: number) => [title, ...SIZES.map((n) => number(n * one))];
const head = ["Organizations", ...SIZES.map(whole)];

const load = () =>
	table([
		head,
		perSize("Requests a month", requests),
		perSize("Requests a second, on average", requests / MONTH_SECONDS),
		perSize("Requests a second, in the busiest hour", (requests * PEAK) / MONTH_SECONDS),
		perSize("Runs an hour", LOAD.run / 720),
		perSize(
			"Rows read a month",
			monthly((name) => ROWS[name].read),
		),
		perSize("Rows written a month", rowsWritten),
		perSize("D1, gigabytes", keptBytes() / 1e9),
		perSize("Events of users a month", LOAD.event),
		perSize("… kept for a month in D1, gigabytes", eventBytes / 1e9),
	]);

/** Dollars that an organization costs in a month. */
const MONEY = {
	"Workers, requests": (monthly((name) => REQUESTS[name]) * PRICES.requests) / 1e6,
	"Workers, CPU": (monthly((name) => CPU_MS[name]) * PRICES.cpu_ms) / 1e6,
	"D1, rows read": (monthly((name) => ROWS[name].read) * PRICES.rows_read) / 1e6,
	"D1, rows written": (rowsWritten * PRICES.rows_written) / 1e6,
	"D1, storage": (keptBytes() * PRICES.d1_gigabytes) / 1e9,
	"KV, reads": (requests * PRICES.kv_reads) / 1e6,
	"KV, writes": (KV_WRITES * PRICES.kv_writes) / 1e6,
	Queues: ((LOAD.job + LOAD.delivery) * QUEUE_OPERATIONS * PRICES.queue_operations) / 1e6,
	"Workflows, steps": (LOAD.run * WORKFLOW.steps * PRICES.workflow_steps) / 1e6,
	"Workflows, storage": workflowGigabytes * PRICES.workflow_gigabytes,
	"Dynamic Workers, one a job": (LOAD.job * PRICES.isolate_days) / 1e6,
};
const total = Object.values(MONEY).reduce((sum, one) => sum + one, 0);
const sharedIsolates = (SHARED_ISOLATES * PRICES.isolate_days) / 1e6;
const eventsInD1 =
	(LOAD.event * (ROWS.event.written * PRICES.rows_written + ROWS.event.read * PRICES.rows_read)) /
		1e6 +
	(eventBytes * PRICES.d1_gigabytes) / 1e9;

const money = () =>
	table([
		head,
		...Object.entries(MONEY).map(([title, one]) => perSize(title, one)),
		perSize("Sum", total),
		perSize("In addition, users' events in D1", eventsInD1),
		perSize("Dynamic Workers, if a config's jobs shared one a day", sharedIsolates),
	]);

/** How many organizations keep a database's thread as busy as it may be, if each causes so many milliseconds in the busiest hour beside its runs. */
function threadHolds(caused = causedBusyMs()) {
	let organizations = 0;
	while (busiestShare(organizations, caused) < LIMITS.database_utilization) organizations += 100;
	return organizations;
}
const peakEventMs = (LOAD.event * PEAK * BUSY_MS.event) / 720;
const database = LIMITS.database_gigabytes * 1e9;
const account = LIMITS.account_gigabytes * 1e9;
const minutes = START_SPREAD_SECONDS / 60;
const logEntries = Math.max(KEPT.run_log_entries.rows, KEPT.job_log_entries.rows) / 7;

const holdsWithEvents = database / (keptBytes() + eventBytes);
const holdsWithoutEvents = database / keptBytes();

/** How many organizations meet a limit. */
const REACHED = {
	"10 GB of a database, with a month of users' events": holdsWithEvents,
	"10 GB of a database, users' events elsewhere": holdsWithoutEvents,
	[`audit streams, one an organization: ${LIMITS.streams_a_tick} a tick`]:
		LIMITS.streams_a_tick * 60,
	"one thread of a database in the busiest minutes, with users' events": threadHolds(
		causedBusyMs() + peakEventMs,
	),
	[`launching within five minutes: ${whole(LIMITS.launches_a_tick)} runs a tick`]:
		LIMITS.launches_a_tick * minutes,
	[`creations of one Workflow within five minutes: ${LIMITS.creations_a_second} a second`]:
		LIMITS.creations_a_second * START_SPREAD_SECONDS,
	"one thread of a database in the busiest minutes, users' events elsewhere": threadHolds(),
	[`scheduling within five minutes: ${whole(LIMITS.exports_a_tick)} exports a tick`]:
		LIMITS.exports_a_tick * minutes,
	"1 TB of an account, users' events elsewhere": account / keptBytes(),
	[`creations of all Workflows of an account within five minutes: ${LIMITS.account_creations_a_second} a second`]:
		LIMITS.account_creations_a_second * START_SPREAD_SECONDS,
	[`deleting old log entries: ${whole(LIMITS.deletions_a_tick)} of a table a tick`]:
		(LIMITS.deletions_a_tick * 1440) / logEntries,
	"launching at all: more runs an hour than an hour launches": LIMITS.launches_a_tick * 60,
	"creations of an account at all": LIMITS.account_creations_a_second * HOUR_SECONDS,
	[`rows that a trigger updates in one statement, of ${LIMITS.statement_seconds} seconds: configs of a global plugin`]:
		(LIMITS.statement_seconds * 1000) / TRIGGERED_ROW_MS,
	[`${whole(LIMITS.messages_a_second)} messages a second, if all were of one queue`]:
		(LIMITS.messages_a_second * MONTH_SECONDS) / ((LOAD.job + LOAD.delivery) * PEAK),
};

const limits = () =>
	table([
		["Limit", "Met at organizations"],
		...Object.entries(REACHED)
			.sort(([, a], [, b]) => a - b)
			.map(([title, organizations]) => [title, number(organizations)]),
		[
			`${whole(LIMITS.instances)} Workflow instances at once`,
			`never: ${whole(LIMITS.account_creations_a_second)} a second that take ${RUN_SECONDS} seconds are ${whole(LIMITS.account_creations_a_second * RUN_SECONDS)}`,
		],
		["KV, one write of a key a second", "never: a key's record is written when the key changes"],
	]);

/** Step 2 leaves so many months of runs and of events in D1. */
const MONTHS_LEFT = 2;
const holds = database / keptBytes(MONTHS_LEFT);
/** The organizations of a database that is full after step 2. */
const fullDatabase = Number(holds.toPrecision(3));

const milliseconds = (ms: number) => (ms < 10 ? ms.toFixed(1) : number(ms));

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

const waits = () =>
	table([
		[
			"Organizations in one database",
			"Busy in the hour",
			"… in its first minutes",
			"Last run starts, minute",
			"Median wait, ms",
			"99 % wait less than, ms",
			"99.99 %",
		],
		...[1_000, fullDatabase, 10_000, 15_000, 30_000, 60_000].map((organizations) => {
			const { used, startMinutes, median, p99, most } = simulate(organizations);
			return [
				whole(organizations),
				percent(used),
				percent(busiestShare(organizations)),
				startMinutes.toFixed(1),
				...[median, p99, most].map(milliseconds),
			];
		}),
	]);

const tick = () =>
	table([
		["Part", "Items a tick", "Statements"],
		...TICK.map(({ part, items, statements }) => [part, items, statements]),
		["Sum", "", TICK.reduce((sum, { statements }) => sum + statements, 0)],
	]);

/** What the steps of the page buy. */
const steps = () =>
	table([
		["Step", "What it buys", "What it costs today"],
		[
			"1. Users' events out of D1",
			`organizations in a database: ${number(holdsWithEvents)} → ${number(holdsWithoutEvents)}; $${number(eventsInD1 * 1000)} a month for 1,000`,
			"nothing",
		],
		[
			`2. ${MONTHS_LEFT} months of runs and events in D1`,
			`organizations in a database: ${number(holdsWithoutEvents)} → ${number(holds)}`,
			"an object an hour for each audit stream",
		],
		[
			"3. Read replicas",
			`organizations for a thread: ${number(threadHolds())} → ${number(threadHolds(causedBusyMs(["write", "job", "delivery", "use"])))}`,
			"a header in each response",
		],
		[
			"4. A database per range of organizations",
			`1 TB: ${number(account / keptBytes(MONTHS_LEFT))} organizations in ${number(account / database)} databases; 10,000,000 need ${number(1e7 / holds)} databases and ${number((1e7 * keptBytes(MONTHS_LEFT)) / 1e12)} TB`,
			"longer ids: UUIDs",
		],
		[
			"5. Ticks by shard",
			"all bounds of a tick for each database",
			"an index of what is due for each part",
		],
		[
			"6. Several Workflows and queues",
			`exports on time: ${number(LIMITS.launches_a_tick * minutes)} → ${number(LIMITS.account_creations_a_second * START_SPREAD_SECONDS)}; each hour: ${number(LIMITS.account_creations_a_second * HOUR_SECONDS)}`,
			"nothing",
		],
		[
			"7. An isolate for several jobs, at any time",
			`$${number((MONEY["Dynamic Workers, one a job"] - sharedIsolates) * 1000)} a month for 1,000`,
			"nothing",
		],
	]);

/** The tables of docs/scale.md, by what they are about. */
export const tables = (): Record<string, string> => ({
	"What an operation costs": operations(),
	"What is kept": kept(),
	"Rows written a month by an organization": arithmetic(),
	Load: load(),
	"Dollars a month": money(),
	"Which limit is met first": limits(),
	"The busiest hour of one database, simulated": waits(),
	"What one tick does": tick(),
	"What to do": steps(),
});
