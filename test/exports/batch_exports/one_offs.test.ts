import { env } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import {
	batchExportBackfills,
	batchExportLogs,
	batchExportRuns,
	batchExports,
} from "../../../src/db/schema/batch_exports.ts";
import { removeOneOffs } from "../../../src/exports/engine/expired.ts";
import { fill } from "../../support/events.ts";
import { duckdb, listR2 } from "../../support/exporting.ts";
import { eventually } from "../../support/time.ts";
import { db, join, keyFor, rowIdOf, world } from "../../support/world.ts";
import { carried, fetched, HOUR, range, UNSTARTED, withoutWaits } from "../engine/running.ts";

withoutWaits();

const DAY = 86_400_000;

const CSV = { ...HOUR, file_format: "CSV" };

/** A project with `n` events in an hour, and functions that export it once. */
async function home(n = 3, padding = 0) {
	const own = await world();
	await fill(own.project, n, { ...range, padding });
	const once = (body: object, options = {}) =>
		own.here("POST", "/batch_exports/one_off", { body, ...options });
	/** Exports once, and returns the run that has ended, its path and its files. */
	async function exported(body: object = CSV) {
		const { status, body: run } = await once(body);
		expect([status, run]).toMatchObject([201, {}]);
		const path = `/batch_exports/${run.batch_export}`;
		const ended = await eventually(async () => {
			const { body } = await own.here("GET", `${path}/runs/${run.id}`);
			expect(body.finished_at).not.toBeNull();
			return body;
		});
		const files = (await own.here("GET", `${path}/runs/${run.id}/files/`)).body.results;
		return { ...run, ...ended, path, files };
	}
	return { ...own, once, exported };
}

const isIt = (uuid: string) => eq(batchExports.uuid, uuid);

const isGone = async (uuid: string) =>
	(await db.select().from(batchExports).where(isIt(uuid))).length === 0;

const later = (days: number) => Date.now() + days * DAY;

test("a range is exported to files for a week, with its run, and then nothing is left", async () => {
	const { here, exported, project } = await home();
	const started = Date.now();
	const { path, files, expires_at, batch_export, ...run } = await exported();
	expect(run).toMatchObject({
		status: "Completed",
		records_completed: 3,
		data_interval_start: HOUR.start_at,
		data_interval_end: HOUR.end_at,
		by: "event",
	});
	expect(Date.parse(expires_at) - started).toBeGreaterThanOrEqual(7 * DAY);
	expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(7 * DAY);
	expect(files).toMatchObject([
		{ name: "events_2026-01-01T120000.000Z-2026-01-01T130000.000Z.csv", rows: 3 },
	]);
	const file = `${path}/runs/${run.id}/files/${files[0].name}`;
	const { status, body } = await here("GET", file);
	expect(status).toBe(200);
	expect(body.split("\r\n")[0]).toMatch(/^uuid,event,/);
	const rowId = await rowIdOf(batch_export);
	await removeOneOffs(env, later(6.9));
	expect((await here("GET", file)).status).toBe(200);
	await removeOneOffs(env, later(7.1));
	expect((await here("GET", file)).status).toBe(404);
	expect(await listR2(`${project}/`)).toEqual([]);
	expect(await isGone(batch_export)).toBe(true);
	for (const table of [batchExportRuns, batchExportBackfills, batchExportLogs])
		expect(await db.select().from(table).where(eq(table.batch_export_id, rowId))).toEqual([]);
});

test("a spreadsheet gets the same cells, none of them a formula", async () => {
	const { ask, exported, project } = await home(0);
	const cells = ["=1+1", "+1-1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "plain, 你", "-5"];
	const events = cells.map((cell) => ({
		event: "cell",
		distinct_id: cell,
		timestamp: HOUR.start_at,
		properties: { n: "big" },
	}));
	const sent = await ask("POST", `/api/projects/${project}/events/`, {
		raw: JSON.stringify(events).replaceAll('"big"', "-9007199254740993"),
		headers: { "content-type": "application/json" },
	});
	expect(sent.status).toBe(200);
	const {
		path: _,
		files,
		batch_export,
	} = await exported({
		...CSV,
		xql_query: 'SELECT distinct_id AS cell, 0 - 5 AS n, properties.n AS "=big" FROM events',
	});
	const bytes = await fetched(`${project}/one_off/${batch_export}/${files[0].name}`);
	const rows = await duckdb(
		bytes,
		"select * from read_csv(PATH, header = true, all_varchar = true)",
	);
	const harmless = ["'=1+1", "'+1-1", "'-1+1", "'@SUM(A1)", "'\t'=1", "'\r'=1", "plain, 你", "-5"];
	expect(rows.map(({ cell }) => cell).sort()).toEqual(harmless.sort());
	for (const row of rows) expect(row).toMatchObject({ n: "-5", "'=big": "-9007199254740993" });
});

test.each([
	["JSONLines", "gzip", "jsonl.gz"],
	["CSV", "zstd", "csv.zst"],
	[undefined, undefined, "jsonl"],
])("%s, %s, is a format", async (file_format, compression, suffix) => {
	const { exported } = await home();
	const { files } = await exported({ ...HOUR, file_format, compression });
	expect(files).toMatchObject([
		{ name: expect.stringMatching(new RegExp(`Z\\.${suffix}$`)), rows: 3 },
	]);
});

test("filters, a query and persons choose what is exported", async () => {
	const { exported } = await home(20);
	const { records_completed } = await exported({ ...CSV, include_events: ["event 1", "event 2"] });
	expect(records_completed).toBe(4);
	const queried = await exported({
		...CSV,
		xql_query: "SELECT event FROM events WHERE event = 'event 3'",
	});
	expect(queried.records_completed).toBe(2);
	const people = await exported({ start_at: "2001-01-01T00:00:00Z", model: "persons" });
	expect(people).toMatchObject({ status: "Completed", records_completed: 0, files: [] });
});

test("the end is now by default, and the start can be relative to it", async () => {
	const { exported, ask, project } = await home(0);
	await ask("POST", `/api/projects/${project}/events/`, {
		body: [{ event: "a", distinct_id: "b" }],
	});
	const { records_completed, data_interval_start, data_interval_end } = await exported({
		start_at: "-2d",
	});
	expect(records_completed).toBe(1);
	expect(Date.parse(data_interval_end) - Date.parse(data_interval_start)).toBeGreaterThanOrEqual(
		2 * DAY - 1000,
	);
});

test("an empty range has a complete run without files", async () => {
	const { exported } = await home(0);
	expect(await exported()).toMatchObject({ status: "Completed", records_completed: 0, files: [] });
});

test.each([
	["start_at", { start_at: HOUR.end_at, end_at: HOUR.start_at }, "start_at must be before end_at."],
	["start_at", { start_at: HOUR.end_at, end_at: HOUR.end_at }, "start_at must be before end_at."],
	[
		"end_at",
		{ start_at: "-1d", end_at: "2999-01-01T00:00:00Z" },
		"end_at must not be in the future.",
	],
	["start_at", { start_at: "2999-01-01T00:00:00Z" }, "start_at must be before end_at."],
	["start_at", { start_at: "-2y" }, "The range of events can have at most 366 days."],
	[
		"start_at",
		{ start_at: "2026-01-01T12:00:00" },
		"Datetime needs an offset from UTC, like Z or +02:00.",
	],
	["start_at", { start_at: "soon" }, expect.any(String)],
	["start_at", { start_at: 5 }, expect.any(String)],
	["start_at", {}, expect.any(String)],
	["model", { ...HOUR, model: "sessions" }, expect.any(String)],
	["file_format", { ...HOUR, file_format: "XLSX" }, expect.any(String)],
	["compression", { ...HOUR, file_format: "CSV", compression: "snappy" }, expect.any(String)],
	[
		"xql_query",
		{ ...HOUR, model: "persons", xql_query: "SELECT uuid FROM events" },
		"Only events can be queried.",
	],
	["xql_query", { ...HOUR, xql_query: "SELECT nothing FROM nowhere" }, expect.any(String)],
	[
		"include_events",
		{ ...HOUR, include_events: Array.from({ length: 1001 }, () => "x") },
		expect.any(String),
	],
])("a bad %s is a 400, and nothing is stored (%#)", async (attr, body, detail) => {
	const { once, here, project } = await home(0);
	const { status, body: error } = await once(body);
	expect([status, error.attr?.split("__")[0], error.detail]).toEqual([400, attr, detail]);
	expect((await here("GET", "/batch_exports/?one_off=true")).body.count).toBe(0);
	expect(await db.select().from(batchExports).where(eq(batchExports.project_id, project))).toEqual(
		[],
	);
});

describe("a one-off export", () => {
	test("is only in the list of one-off exports, and not in totals", async () => {
		const { here, exported } = await home();
		const { batch_export, expires_at } = await exported();
		expect((await here("GET", "/batch_exports/")).body).toMatchObject({ count: 0, results: [] });
		expect((await here("GET", "/batch_exports/metrics")).body).toEqual({ days: [] });
		expect((await here("GET", "/attention")).body.items).toEqual([]);
		const { body } = await here("GET", "/batch_exports/?one_off=true");
		expect(body).toMatchObject({
			count: 1,
			results: [{ id: batch_export, expires_at, start_at: HOUR.start_at, end_at: HOUR.end_at }],
		});
		expect(body.results[0].latest_runs).toHaveLength(1);
	});

	test("can't be changed, scheduled, copied or exported again", async () => {
		const { here, exported } = await home();
		const { path } = await exported();
		for (const [method, to, body] of [
			["PATCH", path, { name: "Mine" }],
			["PATCH", path, { interval: "hour" }],
			["POST", `${path}/pause`, {}],
			["POST", `${path}/unpause`, {}],
			["POST", `${path}/backfill`, HOUR],
			["POST", `${path}/duplicate`, {}],
		] as const) {
			const { status, body: error } = await here(method, to, { body });
			expect([to, status, error.detail]).toEqual([
				to,
				400,
				"A one-off export has no schedule, and can't be changed. Start another one.",
			]);
		}
		const other = await here("POST", "/batch_exports", {
			body: { name: "Other", interval: "hour", destination: { type: "NoOp", config: {} } },
		});
		const handed = await here("POST", `${path}/hand_over`, { body: { to: other.body.id } });
		expect(handed.status).toBe(400);
	});

	test("that is deleted is gone at once, and its files with the next ticks", async () => {
		const { here, exported, project } = await home();
		const { path, id, batch_export, files } = await exported();
		expect((await here("DELETE", path)).status).toBe(204);
		expect((await here("GET", `${path}/runs/${id}/files/${files[0].name}`)).status).toBe(404);
		await removeOneOffs(env, Date.now() + 61_000);
		expect(await listR2(`${project}/`)).toEqual([]);
		expect(await isGone(batch_export)).toBe(true);
	});

	test("in a project that is deleted stops, and is gone after its week", async () => {
		const { here, once, project } = await home();
		const { body: run } = await once(CSV, UNSTARTED);
		expect((await here("DELETE", `/projects/${project}`)).status).toBe(204);
		const path = `/batch_exports/${run.batch_export}/runs/${run.id}`;
		expect((await here("GET", `${path}/files/`)).status).toBe(404);
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, run.id));
		expect(row?.status).toBe("Cancelled");
		await removeOneOffs(env, later(7.1));
		expect(await isGone(run.batch_export)).toBe(true);
	});

	test("that is still running after its week is cancelled, and removed when it is silent", async () => {
		const { once } = await home();
		const { body: run } = await once(CSV, UNSTARTED);
		await db
			.update(batchExports)
			.set({ due_at: new Date().toISOString() })
			.where(isIt(run.batch_export));
		await removeOneOffs(env, Date.now());
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, run.id));
		expect(row?.status).toBe("Cancelled");
		await removeOneOffs(env, Date.now() + 61_000);
		expect(await isGone(run.batch_export)).toBe(true);
	});
});

test("of 20 at once, three run, and the others are told to wait", async () => {
	const { once } = await home();
	const answers = await Promise.all(Array.from({ length: 20 }, () => once(CSV, UNSTARTED)));
	const byStatus = Object.groupBy(answers, ({ status }) => status);
	expect(byStatus[201]?.length).toBeLessThanOrEqual(3);
	for (const { status } of answers) expect([201, 409, 429]).toContain(status);
	const rest = [await once(CSV, UNSTARTED), await once(CSV, UNSTARTED), await once(CSV, UNSTARTED)];
	const all = [...answers, ...rest].filter(({ status }) => status === 201);
	expect(all).toHaveLength(3);
	const last = await once(CSV, UNSTARTED);
	expect([last.status, last.headers.get("retry-after")]).toEqual([429, "60"]);
});

test("a request with an Idempotency-Key that is repeated starts one", async () => {
	const { once, here } = await home();
	const headers = { "idempotency-key": crypto.randomUUID() };
	const first = await once(CSV, { headers });
	const second = await once(CSV, { headers });
	expect(second.body).toEqual(first.body);
	expect((await here("GET", "/batch_exports/?one_off=true")).body.count).toBe(1);
});

test("an organization has a limited number of them, which don't count as exports", async () => {
	const { once, here } = await home();
	const few = { env: { OBJECTS_PER_ORGANIZATION: "1" } };
	expect((await once(CSV, few)).status).toBe(201);
	expect((await once(CSV, few)).body).toMatchObject({ code: "limit_reached" });
	const made = await here("POST", "/batch_exports", {
		body: { name: "One", interval: "hour", destination: { type: "NoOp", config: {} } },
		...few,
	});
	expect(made.status).toBe(201);
});

describe("who may export once", () => {
	test("needs the scope and the access to change exports, also to download", async () => {
		const { owner, id, once, exported, here } = await home();
		for (const [scope, status] of [
			["batch_export:read", 403],
			["batch_export:run", 403],
			["batch_export:write", 201],
		] as const) {
			const key = await keyFor(owner.id, { scopes: [scope] });
			expect([scope, (await once(CSV, { key })).status]).toEqual([scope, status]);
		}
		const { path, id: run, files } = await exported();
		const member = await join(id, 1);
		await here("POST", "/access_controls", {
			body: { resource: "batch_export", access_level: "viewer" },
		});
		const file = `${path}/runs/${run}/files/${files[0].name}`;
		expect((await once(CSV, { key: member.key })).status).toBe(403);
		expect((await here("GET", file, { key: member.key })).status).toBe(403);
		await here("POST", "/access_controls", {
			body: { resource: "batch_export", access_level: "none" },
		});
		expect((await here("GET", file, { key: member.key })).status).not.toBe(200);
	});

	test("is nobody who can't see the project, also once it is private", async () => {
		const { id, project, here, exported } = await home();
		const { path, id: run, files } = await exported();
		const member = await join(id, 1);
		const file = `${path}/runs/${run}/files/${files[0].name}`;
		expect((await here("GET", file, { key: member.key })).status).toBe(200);
		const closed = await here("PATCH", `/projects/${project}`, { body: { access_control: true } });
		expect(closed.status).toBe(200);
		for (const to of [file, path, `${path}/runs/${run}/files/`])
			expect((await here("GET", to, { key: member.key })).status).toBe(404);
		const listed = await here("GET", "/batch_exports/?one_off=true", { key: member.key });
		expect(listed.body.count).toBe(0);
	});

	test("is nobody of another organization", async () => {
		const { id, project, exported } = await home();
		const { path, id: run, files } = await exported();
		const stranger = await world();
		const file = `${path}/runs/${run}/files/${files[0].name}`;
		for (const base of [`/api/organizations/${stranger.id}`, `/api/projects/${stranger.project}`])
			for (const to of [file, path, `${path}/runs/${run}`])
				expect((await stranger.ask("GET", `${base}${to}`)).status).toBe(404);
		for (const base of [`/api/organizations/${id}`, `/api/projects/${project}`]) {
			expect([403, 404]).toContain((await stranger.ask("GET", `${base}${file}`)).status);
			const started = await stranger.ask("POST", `${base}/batch_exports/one_off`, { body: CSV });
			expect([403, 404]).toContain(started.status);
		}
	});
});

test("it is in the activity log, with what was exported", async () => {
	const { exported } = await home();
	const { batch_export, id } = await exported();
	const [entry] = await db
		.select()
		.from(activityLog)
		.where(and(eq(activityLog.item_id, batch_export), eq(activityLog.activity, "created")));
	expect(entry).toMatchObject({ trigger: { one_off: true, run_id: id } });
	expect(JSON.stringify(entry)).toContain(HOUR.start_at);
});

test("more than a gigabyte ends the run, which says what to do", async () => {
	const { once, here } = await home(3);
	const { body: run } = await once(CSV, UNSTARTED);
	await db
		.update(batchExportRuns)
		.set({
			bytes: 10 ** 9,
			cursor: sql`null`,
			lease: 1,
			lease_expires_at: "9999-12-31T23:59:59.999Z",
		})
		.where(eq(batchExportRuns.id, run.id));
	const ref = { batch_export_id: await rowIdOf(run.batch_export), run_id: run.id, lease: 1 };
	expect(await carried(ref)).toBeNull();
	const { body } = await here("GET", `/batch_exports/${run.batch_export}/runs/${run.id}`);
	expect(body).toMatchObject({
		status: "Failed",
		latest_error:
			"The rows have more than 1 GB: choose a shorter range, or set up an export, which has no limit.",
	});
});
