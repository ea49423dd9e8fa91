import { env } from "cloudflare:workers";
import { AwsClient } from "aws4fetch";
import { v7 } from "uuid";
import type { Destination, Job } from "../../src/exports/destinations/destination.ts";
import * as destinations from "../../src/exports/destinations/index.ts";
import type { Column, Row } from "../../src/exports/query/rows.ts";
import { KEYS } from "./bucket.ts";
import type { Received } from "./receiver.ts";

type Open = Parameters<Destination["open"]>;

/** The parts of a destination that tests use. Without `kept`, no state is stored. */
export type Target = Pick<Destination, "abort" | "test"> & {
	open(...args: [...Open] | [Open[0], Open[1], Open[2]]): ReturnType<Destination["open"]>;
};

/**
 * Like the engine's `destinationOf`, but loads the code on the first call, so that tests don't have
 * to wait for it before.
 */
export function destinationOf(...args: Parameters<typeof destinations.destinationOf>): Target {
	const load = () => destinations.destinationOf(...args);
	let loaded: ReturnType<typeof load> | undefined;
	const target = () => (loaded ??= load());
	return {
		open: async (job, state, keep, kept = async () => null) =>
			(await target()).open(job, state, keep, kept),
		abort: async (...args) => (await target()).abort(...args),
		test: async (...args) => (await target()).test(...args),
	};
}

export const COLUMNS: Column[] = [
	{ name: "uuid", kind: "text" },
	{ name: "event", kind: "text" },
	{ name: "properties", kind: "json" },
	{ name: "amount", kind: "number" },
	{ name: "team_id", kind: "integer" },
	{ name: "paid", kind: "boolean" },
	{ name: "day", kind: "date" },
	{ name: "timestamp", kind: "timestamp" },
];

/** Yields pseudorandom numbers, the same for the same seed. */
function* noise(seed: number) {
	for (let x = seed * 2_654_435_761 + 1; ; ) {
		x = (Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
		yield x;
	}
}

/**
 * Returns row number `i`: hard to compress, sometimes with nulls and with characters that must be
 * escaped.
 */
function row(i: number): Row {
	const random = noise(i);
	const hex = Array.from({ length: 14 }, () =>
		random.next().value?.toString(16).padStart(8, "0"),
	).join("");
	return [
		`00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
		i % 7 === 0 ? 'quote " comma, \\ ünï\u2028 😀' : "$pageview",
		i % 11 === 0 ? null : `{"n":${i},"noise":"${hex}"}`,
		i % 5 === 0 ? null : i / 8,
		i,
		i % 3 === 0 ? null : i % 2 === 0,
		i % 13 === 0 ? null : "2024-02-29",
		i % 17 === 0 ? null : new Date(1.7e12 + i).toISOString(),
	];
}

const cached: Row[] = [];

/** Returns the first `n` rows. */
export function rows(n: number) {
	while (cached.length < n) cached.push(row(cached.length));
	return cached.slice(0, n);
}

/** Returns the first `n` rows in pages. */
function pages(n: number, size: number) {
	const all = rows(n);
	return Array.from({ length: Math.ceil(n / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Returns the job of a new run. */
export const job = (more: Partial<Job> = {}): Job => ({
	run_id: v7(),
	export_id: v7(),
	backfill: false,
	isRepeat: true,
	hasUuid: true,
	team_id: 7,
	model: "events",
	columns: COLUMNS,
	start: "2024-02-29T12:00:00.000Z",
	end: "2024-02-29T13:00:00.000Z",
	...more,
});

const clone = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/**
 * The result of a run: how often it was opened, how often its state was stored, and the maximum
 * size of the state.
 */
type Result = {
	opened: number;
	kept: number;
	largest: number;
	/** The last state of a run that was aborted. */
	// biome-ignore lint/suspicious/noExplicitAny: each destination has another state
	state?: any;
};

/**
 * Writes `n` rows to a destination like the engine: page by page, from the last stored state.
 * @param crashes simulates crashes, after which only the stored state is left: after every state,
 * once between two states, and right after closing
 * @param until aborts the run after this many rows
 */
export async function run(
	destination: Target,
	runJob: Job,
	n: number,
	{ crashes = false, until = Number.POSITIVE_INFINITY, size = 1000 } = {},
): Promise<Result> {
	let kept: { state: unknown; position: number } = { state: null, position: 0 };
	const result: Result = { opened: 0, kept: 0, largest: 0 };
	const keep = (state: unknown, position: number) => {
		const json = JSON.stringify(state);
		result.kept += 1;
		result.largest = Math.max(result.largest, json.length);
		kept = { state: JSON.parse(json), position };
	};
	/** Positions after which a crash between two states was simulated. */
	const crashed = new Set<number>();
	let closed = 0;
	const all = pages(n, size);
	for (;;) {
		result.opened += 1;
		const sink = await destination.open(
			runJob,
			clone(kept.state),
			async (state) => keep(state, kept.position),
			async () => clone(kept.state),
		);
		using resources = new DisposableStack();
		resources.defer(() => sink.release?.());
		let done = true;
		const first = kept.position;
		for (let i = first; i < all.length; i++) {
			const state = await sink.write([...(all[i] ?? [])]);
			if (state !== null) keep(state, i + 1);
			if ((i + 1) * size >= until) {
				if (kept.state) await destination.abort(runJob, clone(kept.state));
				return { ...result, state: kept.state };
			}
			const middle = i - first === 3 && !crashed.has(first);
			if (crashes && (state !== null || middle)) {
				crashed.add(first);
				done = false;
				break;
			}
		}
		if (!done) continue;
		await sink.close();
		closed += 1;
		if (!crashes || closed === 2) return result;
	}
}

/** Why tests with PostgreSQL are skipped; "" if it is installed. */
export const noPostgres = env.POSTGRES_PORT === "" ? " (skipped: install postgresql)" : "";

/** Signs requests to the S3 server. */
export const signer = new AwsClient({
	accessKeyId: KEYS.aws_access_key_id,
	secretAccessKey: KEYS.aws_secret_access_key,
	region: "auto",
	service: "s3",
	retries: 0,
});

/** Sends a request to the bucket of the S3 server. */
export const askS3 = async (method: string, path: string, headers: Record<string, string> = {}) =>
	fetch(await signer.sign(`${env.S3_URL}/exports${path}`, { method, headers }));

/** Returns the keys with the prefix in the bucket of the S3 server. */
export async function listS3(prefix: string) {
	const list = await askS3("GET", `?list-type=2&prefix=${encodeURIComponent(prefix)}`);
	return [...(await list.text()).matchAll(/<Key>(.+?)<\/Key>/g)].map(([, key]) => String(key));
}

/** Returns the keys with the prefix in the worker's own bucket. */
export const listR2 = async (prefix: string) =>
	(await env.EXPORTS.list({ prefix })).objects.map(({ key }) => key);

/** Returns the requests to a path of the receiver. */
export const received = async (path: string): Promise<Received[]> =>
	JSON.parse(await (await fetch(`${env.RECEIVER_URL}/received${path}`)).text());

type Readings = {
	pyarrow: Row[];
	polars: Row[];
	fastparquet: Row[];
	statistics: { name: string; nulls: boolean; bounds: boolean }[];
};

/**
 * Returns what pyarrow, polars and fastparquet read in a Parquet file: its rows, with times in milliseconds, and
 * whether the statistics of each column are correct. Null if they can't be installed.
 */
export async function parquetReaders(file: Uint8Array): Promise<Readings | null> {
	const response = await fetch(`${env.RECEIVER_URL}/parquet`, { method: "POST", body: file });
	if (!response.ok) throw new Error(await response.text());
	return JSON.parse(await response.text());
}

/**
 * Returns DuckDB's result for SQL about a file. In the SQL, PATH is the path of the file, and FILE
 * reads it as Parquet.
 */
export async function duckdb(file: Uint8Array, sql: string): Promise<Record<string, unknown>[]> {
	const response = await fetch(`${env.RECEIVER_URL}/duckdb`, {
		method: "POST",
		body: file,
		headers: { "x-sql": encodeURIComponent(sql) },
	});
	if (!response.ok) throw new Error(await response.text());
	return JSON.parse(await response.text());
}
