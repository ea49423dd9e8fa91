/** What docs/scale.md assumes: every number that the tables of `npm run scale` are made of. Put in your own. */

/** What an organization does in a month of thirty days. */
export const LOAD = {
	/** Requests that read. */
	read: 1_350,
	/** Requests that write. */
	write: 150,
	/** Runs of one hourly export. */
	run: 720,
	/** Jobs of one plugin config. */
	job: 1_000,
	/** Events of the feed that a webhook receives. */
	delivery: 300,
	/** Writes of how much keys were used (docs/keys.md#use-by-day): one a request, if no other comes within 20 seconds. */
	use: 1_500,
	/** Events that its projects collect. */
	event: 100_000,
};

export type Operation = keyof typeof LOAD;

/** Isolates of an organization in a month if its jobs shared one a day, instead of having one each (docs/plugins.md#the-sandbox). */
export const SHARED_ISOLATES = 30;

/** In the busiest hour, people cause this many times the requests, jobs and deliveries of an average one. Runs stay the same. */
export const PEAK = 4;

/** Runs of an hour start in its first five minutes (docs/exports.md#runs). */
export const START_SPREAD_SECONDS = 300;

/** How long a run takes. */
export const RUN_SECONDS = 20;

/**
 * Rows that D1 reads and writes, index entries included. Tests compare them with what the service does (test/scale.test.ts,
 * test/scripts/bench.test.ts): a read is the mean of listing 50 of 1,000 members and listing the only domain, a write creates
 * an invite. An event is sent in a request with 999 others, and exported once.
 */
export const ROWS: Record<Operation, { read: number; written: number }> = {
	read: { read: 57, written: 0 },
	write: { read: 61, written: 22 },
	run: { read: 62, written: 46 },
	job: { read: 111, written: 58 },
	delivery: { read: 50, written: 5 },
	use: { read: 3, written: 1 },
	event: { read: 7, written: 4 },
};

/** Milliseconds that D1's thread is busy, as seen on the local simulator. */
export const BUSY_MS: Record<Operation, number> = {
	read: 1.3,
	write: 2.5,
	run: 8,
	job: 4,
	delivery: 1.5,
	use: 0.5,
	event: 0.065,
};

/** Milliseconds that D1's thread is busy with a tick, and with each run that is due in it. */
export const TICK_MS = { tick: 5, due: 0.1 };

/** Milliseconds that it is busy with each row that a trigger updates, with its index entries. */
export const TRIGGERED_ROW_MS = 0.02;

/** Milliseconds of CPU time in Workers. */
export const CPU_MS: Record<Operation, number> = {
	read: 2,
	write: 2,
	run: 30,
	job: 10,
	delivery: 5,
	use: 0,
	event: 0.02,
};

/** What Workers charge as requests: a job is a message of the queue and a call of its isolate. */
export const REQUESTS: Record<Operation, number> = {
	read: 1,
	write: 1,
	run: 1,
	job: 2,
	delivery: 1,
	use: 0,
	event: 1 / 1000,
};

/** Operations that a message of a queue takes: it is written, read and deleted. */
export const QUEUE_OPERATIONS = 3;

/** Steps of a Workflow that a run takes, kilobytes that its instance keeps, and for how many days. */
export const WORKFLOW = { steps: 1, kilobytes: 2, days: 7 };

/** Writes of KV a month: keys that are made, changed or revoked. */
export const KV_WRITES = 5;

/** Rows that D1 keeps of an organization, and bytes of each with index entries. Tests compare these with what rows take. */
export const KEPT = {
	organization: { rows: 1, bytes: 240, kept: "" },
	members: { rows: 10, bytes: 630, kept: "" },
	keys: { rows: 5, bytes: 430, kept: "" },
	key_days: { rows: 5 * 90, bytes: 155, kept: "90 days" },
	runs: { rows: LOAD.run * 12, bytes: 690, kept: "as long as the export; here a year" },
	run_log_entries: { rows: (LOAD.run * 3 * 7) / 30, bytes: 860, kept: "7 days" },
	jobs: { rows: Math.round((LOAD.job * 7) / 30), bytes: 240, kept: "7 days" },
	job_log_entries: { rows: (LOAD.job * 3 * 7) / 30, bytes: 375, kept: "7 days" },
	activity: { rows: (LOAD.write + LOAD.run) * 12, bytes: 1_475, kept: "a year" },
};

export const EVENT_BYTES = 800;

/** Dollars, each for a million unless it says otherwise. */
export const PRICES = {
	/** developers.cloudflare.com/workers/platform/pricing */
	requests: 0.3,
	cpu_ms: 0.02,
	/** developers.cloudflare.com/d1/platform/pricing */
	rows_read: 0.001,
	rows_written: 1,
	/** For a gigabyte a month. */
	d1_gigabytes: 0.75,
	/** developers.cloudflare.com/kv/platform/pricing */
	kv_reads: 0.5,
	kv_writes: 5,
	/** developers.cloudflare.com/queues/platform/pricing */
	queue_operations: 0.4,
	/** developers.cloudflare.com/dynamic-workers/pricing: for each use of `load()`, and for each id with each code a day. */
	isolate_days: 2_000,
	/** developers.cloudflare.com/changelog/post/2026-07-07-workflows-billing-updates */
	workflow_steps: 8,
	/** For a gigabyte a month. */
	workflow_gigabytes: 0.2,
};

export const LIMITS = {
	/** developers.cloudflare.com/d1/platform/limits. Account limits are raised on request. */
	database_gigabytes: 10,
	account_gigabytes: 1_000,
	statement_seconds: 30,
	/** Above this share, waiting times grow quickly. */
	database_utilization: 0.6,
	/** developers.cloudflare.com/workflows/reference/limits: the rate of one Workflow, and those of an account. */
	creations_a_second: 100,
	account_creations_a_second: 300,
	instances: 50_000,
	/** developers.cloudflare.com/queues/platform/limits, of one queue. */
	messages_a_second: 5_000,
	/** src/exporter/schedule.ts: `BATCH_SIZE` × `MAX_BATCHES_PER_TICK`. */
	exports_a_tick: 9_000,
	/** src/exporter/launch.ts: `LAUNCH_BATCH_SIZE`. */
	launches_a_tick: 3_000,
	/** src/db/client.ts: `deleteOlderThan`. */
	deletions_a_tick: 10_000,
	/** src/audit_streams/deliver.ts: what `MAX_STATEMENTS` allow. */
	streams_a_tick: 100,
};

/**
 * The parts of a tick: what each takes at most, and how many statements that needs if every part has more to do. Test ticks
 * stay below the sum (test/worker.test.ts).
 */
export const TICK: { part: string; items: string; statements: number }[] = [
	{
		part: "windows of exports",
		items: `${LIMITS.exports_a_tick.toLocaleString("en")} exports`,
		statements: 150,
	},
	{ part: "stalled backfills", items: "25", statements: 101 },
	{
		part: "runs to launch, and lost ones",
		items: `${LIMITS.launches_a_tick.toLocaleString("en")} each`,
		statements: 5,
	},
	{ part: "unfinished output of runs", items: "25", statements: 51 },
	{
		part: "plugin tasks",
		items: "1,000 an organization; 10,000 log entries about dropped ones",
		statements: 12,
	},
	{ part: "plugin jobs that were cut off", items: "20", statements: 101 },
	{ part: "waking workers", items: "100 jobs, 1,000 webhooks, the audit streams", statements: 3 },
	{ part: "look-ups of verified domains", items: "20", statements: 61 },
	{ part: "digests", items: "25, and none after 500 mails", statements: 202 },
	{ part: "keys that expire", items: "50", statements: 4 },
	{
		part: "deleting what is past its time",
		items: `${LIMITS.deletions_a_tick.toLocaleString("en")} rows of each table, 5,000 events and persons of deleted projects, 5,000 runs of deleted exports`,
		statements: 12,
	},
];
