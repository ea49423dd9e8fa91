import {
	BUSY_MS,
	CPU_MS,
	EVENT_BYTES,
	ISOLATE_DAYS,
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
	START_SPREAD_SECONDS,
	TICK,
	WORKFLOW,
} from "./assumptions.ts";
import { busiestShare, causedBusyMs, simulate } from "./simulation.ts";

const MONTH_SECONDS = 30 * 86_400;
const HOUR_SECONDS = 3600;

const whole = (value: number) => Math.round(value).toLocaleString("en");
const rounded = (value: number) => whole(Number(value.toPrecision(3)));

/** Formats a number with three significant digits. */
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

/** All operations except user events, which are counted separately. */
const OPERATIONS: Operation[] = ["read", "write", "run", "job", "delivery", "use"];

const NAMES: Record<Operation, string> = {
	read: "read request",
	write: "write request",
	run: "run of an hourly export",
	job: "plugin job",
	delivery: "webhook delivery",
	use: "update of a key's usage",
	event: "user event: ingested, then exported",
};

/** Returns the sum of a cost over the operations of an organization in a month. */
const monthly = (costOf: (operation: Operation) => number) =>
	OPERATIONS.reduce((sum, name) => sum + LOAD[name] * costOf(name), 0);

const requests = LOAD.read + LOAD.write;
const keptBytes = (months = 12) =>
	Object.entries(KEPT).reduce(
		(sum, [name, { rows, bytes }]) => sum + rows * bytes * (name === "activity" ? months / 12 : 1),
		0,
	);
const eventBytes = LOAD.event * EVENT_BYTES;
const rowsWritten = monthly((name) => ROWS[name].written);
const workflowGigabytes = (LOAD.run * WORKFLOW.kilobytes * (WORKFLOW.days / 30) * 1000) / 1e9;

const operations = () =>
	table([
		["", "Per month", "Rows read", "Rows written", "D1 thread, ms", "CPU, ms", "Requests"],
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
		["", "Rows", "Bytes per row", "Retention"],
		...Object.entries(KEPT).map(([name, { rows, bytes, kept }]) => [
			name.replaceAll("_", " "),
			whole(rows),
			whole(bytes),
			kept,
		]),
		["user events", whole(LOAD.event), EVENT_BYTES, "here one month"],
	]);

const arithmetic = () => {
	const sum = OPERATIONS.filter((name) => ROWS[name].written > 0)
		.map((name) => `${whole(LOAD[name])} × ${ROWS[name].written}`)
		.join(" + ");
	const all = rowsWritten * 1000;
	return `${sum} = ${whole(rowsWritten)} rows. For 1,000 organizations, these are ${number(all)} rows and cost $${number((all * PRICES.rows_written) / 1e6)} at $${PRICES.rows_written} per million.`;
};

const SIZES = [1e3, 1e5, 1e7];
const perSize = (title: string, one: number) => [title, ...SIZES.map((n) => number(n * one))];
const head = ["Organizations", ...SIZES.map(whole)];

const load = () =>
	table([
		head,
		perSize("Requests per month", requests),
		perSize("Requests per second, average", requests / MONTH_SECONDS),
		perSize("Requests per second, busiest hour", (requests * PEAK) / MONTH_SECONDS),
		perSize("Runs per hour", LOAD.run / 720),
		perSize(
			"Rows read per month",
			monthly((name) => ROWS[name].read),
		),
		perSize("Rows written per month", rowsWritten),
		perSize("D1 storage, GB", keptBytes() / 1e9),
		perSize("User events per month", LOAD.event),
		perSize("D1 storage of one month of user events, GB", eventBytes / 1e9),
	]);

/** The monthly cost of an organization, in dollars. */
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
	"Dynamic Workers": (ISOLATE_DAYS * PRICES.isolate_days) / 1e6,
};
const total = Object.values(MONEY).reduce((sum, one) => sum + one, 0);
const eventsInD1 =
	(LOAD.event * (ROWS.event.written * PRICES.rows_written + ROWS.event.read * PRICES.rows_read)) /
		1e6 +
	(eventBytes * PRICES.d1_gigabytes) / 1e9;

const money = () =>
	table([
		head,
		...Object.entries(MONEY).map(([title, one]) => perSize(title, one)),
		perSize("Total", total),
		perSize("In addition: user events in D1", eventsInD1),
	]);

/**
 * Returns how many organizations fill a database's thread. Each causes `caused` milliseconds in the
 * busiest hour, in addition to its runs.
 */
function threadHolds(caused = causedBusyMs()) {
	let organizations = 0;
	while (busiestShare(organizations, caused) < LIMITS.database_utilization) organizations += 100;
	return organizations;
}
const peakEventMs = (LOAD.event * PEAK * BUSY_MS.event) / 720;
const database = LIMITS.database_gigabytes * 1e9;
const account = LIMITS.account_gigabytes * 1e9;
const minutes = START_SPREAD_SECONDS / 60;
const logRows = Math.max(KEPT.run_logs.rows, KEPT.job_logs.rows) / 7;

const holdsWithEvents = database / (keptBytes() + eventBytes);
const holdsWithoutEvents = database / keptBytes();

/** How many organizations reach each limit. */
const REACHED = {
	"10 GB per database, with one month of user events": holdsWithEvents,
	"10 GB per database, without user events": holdsWithoutEvents,
	[`audit streams, one per organization: ${LIMITS.streams_a_tick} per tick`]:
		LIMITS.streams_a_tick * 60,
	"the thread of a database in the busiest minutes, with user events": threadHolds(
		causedBusyMs() + peakEventMs,
	),
	[`launching on time: ${whole(LIMITS.launches_a_tick)} runs per tick`]:
		LIMITS.launches_a_tick * minutes,
	[`creating instances of one Workflow on time: ${LIMITS.creations_a_second} per second`]:
		LIMITS.creations_a_second * START_SPREAD_SECONDS,
	"the thread of a database in the busiest minutes, without user events": threadHolds(),
	[`scheduling on time: ${whole(LIMITS.exports_a_tick)} exports per tick`]:
		LIMITS.exports_a_tick * minutes,
	"1 TB per account, without user events": account / keptBytes(),
	[`creating instances of all Workflows of an account on time: ${LIMITS.account_creations_a_second} per second`]:
		LIMITS.account_creations_a_second * START_SPREAD_SECONDS,
	[`deleting old rows of logs: ${whole(LIMITS.deletions_a_tick)} per table and tick`]:
		(LIMITS.deletions_a_tick * 1440) / logRows,
	"launching within the hour: 60 ticks": LIMITS.launches_a_tick * 60,
	"creating instances of all Workflows of an account within the hour":
		LIMITS.account_creations_a_second * HOUR_SECONDS,
	[`${whole(LIMITS.messages_a_second)} messages per second, if all used one queue`]:
		(LIMITS.messages_a_second * MONTH_SECONDS) / ((LOAD.job + LOAD.delivery) * PEAK),
};

const limits = () =>
	table([
		["Limit", "Organizations"],
		...Object.entries(REACHED)
			.sort(([, a], [, b]) => a - b)
			.map(([title, organizations]) => [title, number(organizations)]),
		[
			`${whole(LIMITS.instances)} concurrent Workflow instances`,
			`never: ${whole(LIMITS.account_creations_a_second)} per second that take ${RUN_SECONDS} seconds are ${whole(LIMITS.account_creations_a_second * RUN_SECONDS)}`,
		],
		[
			"one write per second to a KV key",
			"never: an API key's record is written once a day, and when the API key changes",
		],
	]);

/** How many months of activity stay in D1 after step 2. */
const MONTHS_LEFT = 2;
const holds = database / keptBytes(MONTHS_LEFT);
/** How many organizations fill a database after step 2. */
const fullDatabase = Number(holds.toPrecision(3));

const milliseconds = (ms: number) => (ms < 10 ? ms.toFixed(1) : number(ms));

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

const waits = () =>
	table([
		[
			"Organizations in one database",
			"Busy, whole hour",
			"Busy, first minutes",
			"Last run starts at minute",
			"Median wait, ms",
			"99th percentile, ms",
			"99.99th percentile, ms",
		],
		...[
			1_000,
			Math.round(holdsWithoutEvents / 100) * 100,
			fullDatabase,
			15_000,
			30_000,
			60_000,
		].map((organizations) => {
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
		["Part", "Items per tick", "Statements"],
		...TICK.map(({ part, items, statements }) => [part, items, statements]),
		["Total", "", TICK.reduce((sum, { statements }) => sum + statements, 0)],
	]);

/** Returns the gains and costs of each step. */
const steps = () =>
	table([
		["Step", "Gain", "Cost of being prepared"],
		[
			"1. Move user events out of D1",
			`organizations per database: ${number(holdsWithEvents)} → ${number(holdsWithoutEvents)}; saves $${number(eventsInD1 * 1000)} per month for 1,000`,
			"nothing",
		],
		[
			`2. Keep only ${MONTHS_LEFT} months of activity in D1`,
			`organizations per database: ${number(holdsWithoutEvents)} → ${number(holds)}`,
			"one object per hour for each audit stream",
		],
		[
			"3. Use read replicas",
			`organizations per thread: ${number(threadHolds())} → ${number(threadHolds(causedBusyMs(["write", "job", "delivery", "use"])))}`,
			"one header per response",
		],
		[
			"4. Use a database per range of organizations",
			`1 TB: ${number(account / keptBytes(MONTHS_LEFT))} organizations in ${number(account / database)} databases; 10,000,000 need ${number(1e7 / holds)} databases and ${number((1e7 * keptBytes(MONTHS_LEFT)) / 1e12)} TB`,
			"longer ids: UUIDs",
		],
		[
			"5. Run a tick per database",
			"all limits of a tick apply per database",
			"an index of due items for each part",
		],
		[
			"6. Use several Workflows and queues",
			`exports on time: ${number(LIMITS.launches_a_tick * minutes)} → ${number(LIMITS.account_creations_a_second * START_SPREAD_SECONDS)}; within the hour: ${number(LIMITS.account_creations_a_second * HOUR_SECONDS)}`,
			"nothing",
		],
	]);

/** Returns the tables of docs/internals/scale.md, by title. */
export const tables = (): Record<string, string> => ({
	"What an operation costs": operations(),
	"What is stored": kept(),
	"Rows written per month by an organization": arithmetic(),
	Load: load(),
	"Dollars per month": money(),
	"Which limit is reached first": limits(),
	"The busiest hour of one database, simulated": waits(),
	"What one tick does": tick(),
	"What to do": steps(),
});
