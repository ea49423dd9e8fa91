/**
 * The assumptions of docs/internals/scale.md. `npm run scale` computes its tables from these
 * numbers. Replace them with your own.
 */

/** The use of an organization in a month of thirty days. */
export const LOAD = {
	/** Requests that read. */
	read: 1_350,
	/** Requests that write. */
	write: 150,
	/** Runs of one hourly export. */
	run: 720,
	/** Jobs of one plugin config. */
	job: 1_000,
	/** Events that a webhook receives. */
	delivery: 300,
	/**
	 * Updates of the usage of keys (docs/keys.md#use-by-day): one per request, if no other request
	 * follows within 20 seconds.
	 */
	use: 1_500,
	/** User events that its projects ingest. */
	event: 100_000,
};

export type Operation = keyof typeof LOAD;

/**
 * Isolates of an organization's plugin config per month, one a day (docs/plugins.md#the-sandbox).
 */
export const ISOLATE_DAYS = 30;

/**
 * In the busiest hour, people cause this many times the requests, jobs and deliveries of an average
 * hour. Runs stay the same.
 */
export const PEAK = 4;

/** The runs of an hour start in its first five minutes (docs/exports.md#runs). */
export const START_SPREAD_SECONDS = 300;

/** The duration of a run. */
export const RUN_SECONDS = 20;

/**
 * Rows that D1 reads and writes per operation, including index entries. Tests compare them with the
 * service (judges/scale/rows.full.test.ts, judges/bench/bench.test.ts): a read is the mean of listing 50 of
 * 1,000 members and listing the only domain, a write creates an invite. A user event is sent in a
 * request with 999 others, and exported once.
 */
export const ROWS: Record<Operation, { read: number; written: number }> = {
	read: { read: 59, written: 0 },
	write: { read: 46, written: 7 },
	run: { read: 68, written: 12 },
	job: { read: 81, written: 13 },
	delivery: { read: 53, written: 3 },
	use: { read: 2, written: 1 },
	event: { read: 6, written: 2 },
};

/** Milliseconds that an operation keeps D1's thread busy, measured on the local simulator. */
export const BUSY_MS: Record<Operation, number> = {
	read: 1.3,
	write: 2.5,
	run: 8,
	job: 4,
	delivery: 1.5,
	use: 0.5,
	event: 0.065,
};

/** Milliseconds that a tick keeps D1's thread busy, and each run that is due in it. */
export const TICK_MS = { tick: 5, due: 0.1 };

/** Milliseconds of CPU time in Workers, per operation. */
export const CPU_MS: Record<Operation, number> = {
	read: 2,
	write: 2,
	run: 30,
	job: 10,
	delivery: 5,
	use: 0,
	event: 0.02,
};

/** Billed Workers requests per operation: a job is a queue message and a call of its isolate. */
export const REQUESTS: Record<Operation, number> = {
	read: 1,
	write: 1,
	run: 1,
	job: 2,
	delivery: 1,
	use: 0,
	event: 1 / 1000,
};

/** Billed operations per queue message: write, read and delete. */
export const QUEUE_OPERATIONS = 3;

/** Workflow steps per run, and the storage of its instance in kilobytes, for so many days. */
export const WORKFLOW = { steps: 1, kilobytes: 2, days: 7 };

/** KV writes per month: the record of each of five keys, once a day. */
export const KV_WRITES = 5 * 30;

/**
 * Rows that D1 stores per organization, and bytes per row, including index entries. Tests compare
 * the bytes with real rows.
 */
export const KEPT = {
	organization: { rows: 1, bytes: 240, kept: "" },
	members: { rows: 10, bytes: 210, kept: "" },
	keys: { rows: 5, bytes: 440, kept: "" },
	key_days: { rows: 5 * 90, bytes: 77, kept: "90 days" },
	runs: { rows: LOAD.run * 2, bytes: 200, kept: "60 days" },
	run_logs: { rows: (LOAD.run * 7) / 30, bytes: 315, kept: "7 days" },
	job_logs: { rows: (LOAD.job * 2 * 7) / 30, bytes: 227, kept: "7 days" },
	activity: { rows: LOAD.write * 12, bytes: 314, kept: "one year" },
	events_of_the_system: { rows: LOAD.run * 2, bytes: 467, kept: "60 days" },
};

export const EVENT_BYTES = 545;

/** Dollars per million, unless stated otherwise. */
export const PRICES = {
	/** developers.cloudflare.com/workers/platform/pricing */
	requests: 0.3,
	cpu_ms: 0.02,
	/** developers.cloudflare.com/d1/platform/pricing */
	rows_read: 0.001,
	rows_written: 1,
	/** Per gigabyte and month. */
	d1_gigabytes: 0.75,
	/** developers.cloudflare.com/kv/platform/pricing */
	kv_reads: 0.5,
	kv_writes: 5,
	/** developers.cloudflare.com/queues/platform/pricing */
	queue_operations: 0.4,
	/**
	 * developers.cloudflare.com/dynamic-workers/pricing: per call of `load()`, or per id, code and
	 * day.
	 */
	isolate_days: 2_000,
	/** developers.cloudflare.com/changelog/post/2026-07-07-workflows-billing-updates */
	workflow_steps: 8,
	/** Per gigabyte and month. */
	workflow_gigabytes: 0.2,
};

export const LIMITS = {
	/** developers.cloudflare.com/d1/platform/limits. Cloudflare raises account limits on request. */
	database_gigabytes: 10,
	account_gigabytes: 1_000,
	/** Above this utilization, waiting times grow quickly. */
	database_utilization: 0.6,
	/**
	 * developers.cloudflare.com/workflows/reference/limits: the rate of one Workflow, and the limits
	 * of an account.
	 */
	creations_a_second: 100,
	account_creations_a_second: 300,
	instances: 50_000,
	/** developers.cloudflare.com/queues/platform/limits, for one queue. */
	messages_a_second: 5_000,
	/** src/exports/engine/schedule.ts: `BATCH_SIZE` × `MAX_BATCHES_PER_TICK`. */
	exports_a_tick: 9_000,
	/** src/exports/engine/start_runs.ts: `START_BATCH_SIZE`. */
	launches_a_tick: 3_000,
	/** src/db/client.ts: `deleteOlderThan`. */
	deletions_a_tick: 10_000,
	/** src/activity/audit_streams/deliver.ts: the typical number within `MAX_STATEMENTS`. */
	streams_a_tick: 55,
};

/**
 * The parts of a tick: their maximum number of items, and how many statements they need if more
 * items are due. A test verifies that such a tick stays below the total (judges/scale/tick.full.test.ts).
 */
export const TICK: { part: string; items: string; statements: number }[] = [
	{
		part: "windows of exports",
		items: `${LIMITS.exports_a_tick.toLocaleString("en")} exports`,
		statements: 150,
	},
	{ part: "stalled backfills", items: "25", statements: 101 },
	{
		part: "waiting and lost runs",
		items: `${LIMITS.launches_a_tick.toLocaleString("en")} each`,
		statements: 5,
	},
	{ part: "old runs", items: "3,000", statements: 7 },
	{ part: "old one-off exports", items: "25", statements: 27 },
	{ part: "unfinished output of runs", items: "25", statements: 51 },
	{
		part: "plugin tasks",
		items: "1,000 per organization; 10,000 log entries about dropped tasks",
		statements: 15,
	},
	{ part: "interrupted plugin jobs", items: "20", statements: 121 },
	{ part: "plugins to compile", items: "5", statements: 36 },
	{
		part: "messages to workers",
		items: "100 jobs, 1,000 webhooks, the audit streams",
		statements: 3,
	},
	{ part: "DNS lookups of verified domains", items: "20", statements: 101 },
	{ part: "digests", items: "25, until 500 mails are sent", statements: 152 },
	{ part: "expiring keys", items: "50", statements: 4 },
	{ part: "deleted objects", items: "10, with 5,000 rows each", statements: 71 },
	{
		part: "deleting expired rows",
		items: `${LIMITS.deletions_a_tick.toLocaleString("en")} rows per table, 5,000 events and persons of deleted projects, 5,000 runs of deleted exports`,
		statements: 14,
	},
];
