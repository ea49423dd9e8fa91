import { introspectWorkflow } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { and, eq } from "drizzle-orm";
import { v7 } from "uuid";
import { afterAll, beforeAll, expect } from "vitest";
import { batchExportRuns } from "../../../src/db/schema/batch_exports.ts";
import { events, persons } from "../../../src/db/schema/events.ts";
import { openAttempt } from "../../../src/exports/engine/attempt.ts";
import { continueRun } from "../../../src/exports/engine/run.ts";
import type { RunLease } from "../../../src/exports/engine/start_runs.ts";
import { KEYS } from "../../support/bucket.ts";
import {
	fill,
	eventsOf as storedEvents,
	personsOf as storedPersons,
} from "../../support/events.ts";
import { askS3, duckdb, listR2 } from "../../support/exporting.ts";
import { eventually } from "../../support/time.ts";
import { addRuns, db, LEASED, rowIdOf, world } from "../../support/world.ts";

/** The hour of a day that `fill` spreads events over. */
export const HOUR = {
	start_at: "2026-01-01T12:00:00.000Z",
	end_at: "2026-01-01T13:00:00.000Z",
};
export const range = { start: HOUR.start_at, end: HOUR.end_at };
export const FILE = `${HOUR.start_at}-${HOUR.end_at}`;

export type Json = Record<string, unknown>;

/** An attempt with the run as it is now. */
export async function opened(run: RunLease, more: Partial<Env> = {}) {
	const attempt = await openAttempt({ ...env, ...more }, run);
	if (!attempt) throw new Error("The run is gone.");
	return attempt;
}

/**
 * Carries out a part of an attempt. Returns how long to wait before the next one; null if the run
 * has ended.
 */
export const partOf = async (run: RunLease, more: Partial<Env> = {}) =>
	continueRun(await opened(run, more));

/**
 * Removes the waits between the tries of this file's runs. Returns the instances of the workflow so
 * far.
 */
export function withoutWaits() {
	let workflows: Awaited<ReturnType<typeof introspectWorkflow>>;
	beforeAll(async () => {
		workflows = await introspectWorkflow(env.EXPORT_RUNS);
		await workflows.modifyAll((instance) => instance.disableSleeps());
	});
	afterAll(() => workflows.dispose());
	return () => workflows.get();
}

/** The service, without Workflows: runs wait until the test carries them out. */
export const UNSTARTED = {
	env: {
		EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), {
			createBatch: () => Promise.reject(new Error("Too many instances.")),
		}),
	},
};

/** A project with an hourly export to the destination, and `n` events in an hour. */
export async function exporting(destination: object, n: number, more: object = {}, padding = 0) {
	const home = await world();
	await fill(home.project, n, { ...range, padding });
	const made = await home.here("POST", "/batch_exports", {
		body: { name: "Export", interval: "hour", destination, ...more },
	});
	expect(made).toMatchObject({ status: 201 });
	const path = `/batch_exports/${made.body.id}`;
	/** Waits until all runs have ended, and returns them, newest first. */
	const ended = () =>
		eventually(async () => {
			const { body } = await home.here("GET", `${path}/runs`);
			expect(body.count).toBeGreaterThan(0);
			for (const run of body.results) expect(run.finished_at).not.toBeNull();
			return body.results;
		});
	/** Exports the hour, and returns the run when it has ended. */
	const backfill = async () => {
		const { status } = await home.here("POST", `${path}/backfill`, {
			body: HOUR,
		});
		expect(status).toBe(200);
		await eventually(async () => {
			const { body } = await home.here("GET", `${path}/backfills?status=Running`);
			expect(body.count).toBe(0);
		});
		const [run] = await ended();
		return run;
	};
	return {
		...home,
		export_id: made.body.id,
		path,
		ended,
		backfill,
	};
}

/** An event as an export writes it, read as JSON. */
export const eventsOf = async (team_id: number): Promise<Json[]> =>
	(await storedEvents(team_id)).map(({ team_id: _, ...event }) => ({
		...event,
		properties: JSON.parse(event.properties),
		person_properties: event.person_properties && JSON.parse(event.person_properties),
	}));

/** Inserts a person for each distinct_id that has an event named `event 1`. */
const people = (team_id: number) =>
	db.insert(persons).select(
		db
			.selectDistinct({
				id: events.id,
				team_id: events.team_id,
				distinct_id: events.distinct_id,
				person_id: events.distinct_id,
				properties: events.properties,
				person_version: events.team_id,
				created_at: events._inserted_at,
				_inserted_at: events._inserted_at,
			})
			.from(events)
			.where(and(eq(events.team_id, team_id), eq(events.event, "event 1")))
			.groupBy(events.distinct_id),
	);

const personsOf = async (team_id: number): Promise<Json[]> =>
	(await storedPersons(team_id)).map((person) => ({
		...person,
		properties: JSON.parse(person.properties),
	}));

/** A digest of the rows, in the order of their keys. */
export async function checksum(rows: Json[]) {
	const key = (row: Json) => String(row.uuid ?? row.distinct_id);
	const lines = rows
		.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
		.map((row) => JSON.stringify(Object.entries(row).sort()));
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(lines.join("\n")));
	return new Uint8Array(digest).toHex();
}

export const parse = (text: string): Json[] =>
	text
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line));

export async function fetched(key: string) {
	const object = await env.EXPORTS.get(key);
	if (!object) throw new Error(`There is no ${key}.`);
	return new Uint8Array(await object.arrayBuffer());
}

export const R2 = (config: object = {}) => ({
	type: "R2",
	config: { prefix: "out", ...config },
});
export const HTTP = (path: string) => ({
	type: "HTTP",
	config: { url: `${env.RECEIVER_URL}${path}`, token: "the-token-of-nobody" },
});

/** A run that is launched, but carried out by the test. */
export async function launched(batch_export: string, end = HOUR.end_at) {
	const run_id = v7();
	await addRuns(batch_export, {
		id: run_id,
		data_interval_start: HOUR.start_at,
		data_interval_end: end,
		...LEASED,
		lease: 1,
	});
	const find = async () => {
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, run_id));
		if (!row) throw new Error("The run is gone.");
		return row;
	};
	return { run: { batch_export_id: await rowIdOf(batch_export), run_id, lease: 1 }, find };
}

/** The bucket. Something happens at the n-th part of an upload. */
export function atPart(n: number, happens: () => Promise<void>): Partial<Env> {
	let parts = 0;
	const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
		get: (key: string) => env.EXPORTS.get(key),
		createMultipartUpload: (key: string, options: R2MultipartOptions) =>
			env.EXPORTS.createMultipartUpload(key, options),
		put: (key: string, value: Uint8Array, options: R2PutOptions) =>
			env.EXPORTS.put(key, value, options),
		head: (key: string) => env.EXPORTS.head(key),
		list: (options: R2ListOptions) => env.EXPORTS.list(options),
		resumeMultipartUpload(key: string, id: string) {
			const upload = env.EXPORTS.resumeMultipartUpload(key, id);
			return Object.assign(Object.create(upload), {
				uploadPart: async (number: number, body: Uint8Array) => {
					parts += 1;
					if (parts === n) await happens();
					return upload.uploadPart(number, body);
				},
				complete: (listed: R2UploadedPart[]) => upload.complete(listed),
				abort: () => upload.abort(),
			});
		},
	});
	return { EXPORTS };
}

/**
 * Carries out an attempt to the end of the run, or to the first try that fails. Returns how long to
 * wait then.
 */
export async function carried(run: RunLease, more: Partial<Env> = {}) {
	for (;;) {
		const wait_ms = await partOf(run, more);
		if (wait_ms !== 0) return wait_ms;
	}
}

/** The rows of a Parquet or CSV file, with times and JSON in the format of JSON lines. */
async function tabular(file: Uint8Array, suffix: string): Promise<Json[]> {
	const compression = { gz: "gzip", zst: "zstd" }[suffix.split(".")[2] ?? ""] ?? "none";
	const reader = suffix.startsWith(".csv")
		? `read_csv(PATH, header = true, allow_quoted_nulls = false, all_varchar = true, compression = '${compression}')`
		: "FILE";
	const rows = await duckdb(file, `select * from ${reader}`);
	return rows.map((row) =>
		Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)])),
	);
}

/** A row of a table, whose times are in UTC without an offset, or in microseconds. */
export const fromTable = (model: string, row: Json) =>
	Object.fromEntries(
		Object.entries(row)
			.filter(([name]) => model === "persons" || name !== "team_id")
			.map(([name, value]) => {
				const isTime = /^(timestamp|.*_at)$/.test(name);
				if (isTime && /^\d+$/.test(String(value)))
					return [name, new Date(Number(value) / 1000).toISOString()];
				return [name, plain(name, isTime ? `${value}Z` : value)];
			}),
	);

export function plain(name: string, value: unknown) {
	if (value === null || value === undefined) return null;
	if (/properties$/.test(name)) return JSON.parse(String(value));
	if (/^(timestamp|created_at|_inserted_at)$/.test(name))
		return new Date(String(value).replace(" ", "T").replace(/\+00$/, "Z")).toISOString();
	return /^(team_id|person_version)$/.test(name) ? Number(value) : value;
}

/** The rows of a file with this ending. */
async function rowsIn(file: Uint8Array, suffix: string) {
	if (!suffix.startsWith(".jsonl")) return tabular(file, suffix);
	return parse(Buffer.from(suffix.endsWith("gz") ? gunzipSync(file) : file).toString());
}

/**
 * Exports a project's events or persons, and compares them with those that the destination has.
 * @param times how often they are exported
 */
export async function expectExported(
	destination: object,
	model: string,
	read: (project: number) => Promise<Json[]>,
	times = 1,
) {
	const { project, backfill } = await exporting(destination, 1234, { model });
	await people(project);
	const expected = model === "events" ? await eventsOf(project) : await personsOf(project);
	expect(expected.length).toBeGreaterThan(5);
	for (let n = 0; n < times; n += 1)
		expect(await backfill()).toMatchObject({
			status: "Completed",
			records_completed: expected.length,
			records_total_count: expected.length,
			latest_error: null,
		});
	const rows = await read(project);
	expect(rows).toHaveLength(expected.length);
	expect(await checksum(rows)).toBe(await checksum(expected));
}

/** The same for files in the worker's own bucket. */
export const expectInR2 = (config: object, model: string, suffix: string) =>
	expectExported(R2(config), model, async (project) => {
		const key = `${project}/out/${FILE}-backfill${suffix}`;
		expect(await listR2(`${project}/`)).toEqual([key]);
		return rowsIn(await fetched(key), suffix);
	});

/** The same for files in the S3 server. */
export const expectInS3 = (config: object, model: string, suffix: string) =>
	expectExported(
		{
			type: "S3",
			config: {
				...config,
				...KEYS,
				bucket_name: "exports",
				region: "auto",
				endpoint_url: env.S3_URL,
				prefix: "{table}/{year}-{month}",
			},
		},
		model,
		async () => {
			const key = `${model}/2026-01/${encodeURIComponent(FILE)}-backfill${suffix}`;
			const response = await askS3("GET", `/${key}`);
			return rowsIn(new Uint8Array(await response.arrayBuffer()), suffix);
		},
	);

/** The number of rows of a large export, whose file has three parts. */
export const BIG = 6000;
export const large = () => exporting(R2(), BIG, {}, 2500);

/** The one file of a project, as text. */
export async function fileOf(project: number) {
	const [key = ""] = await listR2(`${project}/`);
	return new TextDecoder().decode(await fetched(key));
}
