import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { activityLog } from "../../../src/db/schema/activity_log.ts";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
	RUN_STATUSES,
	UNSUCCESSFUL,
} from "../../../src/db/schema/batch_exports.ts";
import { organizationId, projects } from "../../../src/db/schema/organizations.ts";
import { wrong } from "../../support/errors.ts";
import { logOfExport } from "../../support/logs.ts";
import { eventually, stopClock } from "../../support/time.ts";
import {
	addBackfills,
	addRuns,
	call,
	cost,
	db,
	join,
	LEASED,
	racing,
	rowOf,
	times,
	world,
} from "../../support/world.ts";

const NO_OP = { type: "NoOp", config: {} };
const S3 = {
	type: "S3",
	config: {
		bucket_name: "bucket",
		region: "eu-central-1",
		prefix: "events",
		aws_access_key_id: "AKIA-the-key-id",
		aws_secret_access_key: "the-secret-key",
	},
};
const POSTGRES = {
	type: "Postgres",
	config: { user: "u", password: "secret", host: "db.test", database: "d" },
};
const HOURLY = { name: "Hourly", destination: NO_OP, interval: "hour" };

/** A destination whose runs don't end during a test: their tries fail, and wait. */
const UNREACHABLE = { type: "HTTP", config: { url: "http://127.0.0.1:1/" } };

/** A tenant with an export. */
async function exporting(body: object = {}) {
	const home = await world();
	const { here } = home;
	const made = await here("POST", "/batch_exports", {
		body: { ...HOURLY, ...body },
	});
	expect(made.status).toBe(201);
	const path = `/batch_exports/${made.body.id}`;
	return { ...home, made: made.body, path };
}

/** Inserts a run of an export. */
async function run(batch_export: string, row: Partial<typeof batchExportRuns.$inferInsert> = {}) {
	const id = v7();
	await addRuns(batch_export, {
		id,
		data_interval_start: "2026-01-01T00:00:00.000Z",
		data_interval_end: "2026-01-01T01:00:00.000Z",
		by: row.backfill_id ? "event" : "arrival",
		...row,
	});
	return id;
}

describe("creating", () => {
	test("an export with only the required fields gets the defaults", async () => {
		const { made, project } = await exporting();
		expect(made).toEqual({
			id: expect.any(String),
			team_id: project,
			name: "Hourly",
			model: "events",
			destination: NO_OP,
			interval: "hour",
			time_zone: null,
			hour: null,
			weekday: null,
			paused: false,
			created_at: expect.any(String),
			last_updated_at: expect.any(String),
			last_paused_at: null,
			pause_note: null,
			start_at: null,
			end_at: null,
			expires_at: null,
			latest_runs: [],
			undelivered: null,
			xql_query: null,
			schema: null,
		});
	});

	test.each([
		[{ name: " " }, "blank", "This field may not be blank.", "name"],
		[{ model: "sessions" }, "invalid_choice", '"sessions" is not a valid choice.', "model"],
		[{ destination: undefined }, "required", "This field is required.", "destination"],
		[{ destination: "S3" }, "invalid_input", "Expected a dictionary of items.", "destination"],
		[{ interval: "month" }, "invalid_choice", '"month" is not a valid choice.', "interval"],
		[{ interval: undefined }, "required", "This field is required.", "interval"],
		[
			{ last_paused_at: "0000-01-01T00:00:00Z" },
			"invalid_input",
			"Datetime has wrong format. Use ISO 8601.",
			"last_paused_at",
		],
		[
			{ start_at: "2026-02-02T00:00:00Z", end_at: "2026-02-01T00:00:00Z" },
			"invalid_input",
			"end_at must not be before start_at.",
			"end_at",
		],
		[
			{ xql_query: "SELECT nothing FROM events" },
			"invalid_input",
			"Unable to resolve field: nothing",
			"xql_query",
		],
		[
			{ model: "persons", xql_query: "SELECT uuid FROM events" },
			"invalid_input",
			"Only events can be queried.",
			"xql_query",
		],
		[
			{ destination: POSTGRES, xql_query: "SELECT event AS uuid FROM events" },
			"invalid_input",
			"The field uuid must be the column uuid, because it is part of the key of rows.",
			"xql_query",
		],
	])("%j is rejected", async (more, code, detail, attr) => {
		const { here } = await world();
		expect(await here("POST", "/batch_exports", { body: { ...HOURLY, ...more } })).toMatchObject(
			wrong(code, detail, attr),
		);
	});

	test("choices are trimmed like other strings, and naive times are UTC", async () => {
		const { made } = await exporting({
			name: " x ",
			model: " events ",
			interval: " hour",
			destination: { type: "R2 ", config: { prefix: "", compression: " gzip " } },
			start_at: "2026-02-01T00:00:00",
			end_at: "2026-03-01T02:00:00+02:00",
		});
		expect(made).toMatchObject({
			name: "x",
			model: "events",
			interval: "hour",
			destination: { type: "R2", config: { prefix: "", compression: "gzip" } },
			start_at: "2026-02-01T00:00:00.000Z",
			end_at: "2026-03-01T00:00:00.000Z",
		});
	});

	test("on an organization's path it is created in the oldest project that the caller sees", async () => {
		const { id, project } = await world();
		const member = await join(id, 1);
		const asMember = () =>
			call("POST", `/api/organizations/${id}/batch_exports`, {
				key: member.key,
				body: HOURLY,
			});
		const [second] = await db
			.insert(projects)
			.values({ organization_id: organizationId(id), name: "Second" })
			.returning();
		expect((await asMember()).body.team_id).toBe(project);
		await db.update(projects).set({ access_control: true }).where(eq(projects.id, project));
		expect((await asMember()).body.team_id).toBe(second?.id);
		await db
			.update(projects)
			.set({ access_control: true })
			.where(eq(projects.organization_id, organizationId(id)));
		expect(await asMember()).toMatchObject(
			wrong("invalid_input", "The organization has no project that you can change.", null),
		);
	});

	test("a query is returned normalised, with its fields and literals", async () => {
		const { made, here, path } = await exporting({
			xql_query: "select  event as name, properties.$os from events ;",
		});
		const xql_query = "SELECT event AS name, properties.$os FROM events";
		expect(made.xql_query).toBe(xql_query);
		expect(made.schema).toEqual({
			fields: [
				{ expression: "event", alias: "name" },
				{ expression: "properties.$os", alias: "$os" },
			],
			values: {},
			xql_query,
		});
		const condition = "select event from events where properties.n>1 and event='a'";
		const changed = { body: { xql_query: condition } };
		expect((await here("PATCH", path, changed)).body.schema).toEqual({
			fields: [{ expression: "event", alias: "event" }],
			where: "properties.n > %(val_0)s AND event = %(val_1)s",
			values: { val_0: 1, val_1: "a" },
			xql_query: "SELECT event FROM events WHERE properties.n > 1 AND event = 'a'",
		});
		expect((await here("PATCH", path, { body: { xql_query: null } })).body).toMatchObject({
			xql_query: null,
			schema: null,
		});
	});

	test("an export that is created paused has last_paused_at", async () => {
		const { made } = await exporting({ paused: "yes" });
		expect(made.paused).toBe(true);
		expect(made.last_paused_at).toEqual(expect.any(String));
	});

	test("on a project's path it is created in that project", async () => {
		const { ask, project } = await world();
		const made = await ask("POST", `/api/projects/${project}/batch_exports`, {
			body: HOURLY,
		});
		expect(made).toMatchObject({ status: 201, body: { team_id: project } });
	});
});

describe("secrets", () => {
	test("are in no response, and encrypted in the database", async () => {
		const { here, made, path } = await exporting({ destination: S3 });
		const shown = {
			type: "S3",
			config: {
				bucket_name: "bucket",
				region: "eu-central-1",
				prefix: "events",
			},
		};
		expect(made.destination).toEqual(shown);
		expect((await here("GET", path)).body.destination).toEqual(shown);
		const rows = JSON.stringify([
			await db.select().from(batchExports),
			await db.select().from(activityLog),
		]);
		expect(rows).not.toContain("the-secret-key");
		expect(rows).not.toContain("AKIA-the-key-id");
		expect(rows).toContain("sealed:");
	});

	test("stay when a PATCH leaves them out, and the activity log masks the change", async () => {
		const { here, made, path } = await exporting({ destination: S3 });
		const stored = async () => {
			const [row] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
			return row?.destination.config;
		};
		const before = await stored();
		const { body } = await here("PATCH", path, {
			body: { destination: { config: { prefix: "other" } } },
		});
		expect(body.destination.config).toEqual({
			bucket_name: "bucket",
			region: "eu-central-1",
			prefix: "other",
		});
		expect(await stored()).toEqual({ ...before, prefix: "other" });
		const { body: log } = await here("GET", "/activity_log?scope=BatchExport");
		expect(log.results[0].detail.changes).toEqual([
			{
				field: "destination",
				action: "changed",
				before: "********",
				after: "********",
			},
		]);
	});
});

describe("changing", () => {
	test("PATCH {} changes nothing, not even last_updated_at", async () => {
		const { here, made, path } = await exporting();
		expect((await here("PATCH", path, { body: {} })).body).toEqual(made);
	});

	test("null removes a key of the config", async () => {
		const { here, path } = await exporting({
			destination: {
				...S3,
				config: { ...S3.config, include_events: ["a"] },
			},
		});
		const { body } = await here("PATCH", path, {
			body: { destination: { type: "S3", config: { include_events: null } } },
		});
		expect(body.destination.config).not.toHaveProperty("include_events");
	});

	test("the type of a destination can't be changed", async () => {
		const { here, path } = await exporting();
		expect(await here("PATCH", path, { body: { destination: S3 } })).toMatchObject(
			wrong("invalid_input", "The type of a destination can't be changed.", "destination__type"),
		);
	});

	test("an HTTP destination only accepts events, also in a change or a test of the export", async () => {
		const destination = { type: "HTTP", config: { url: "https://example.com/batch" } };
		const { here, path } = await exporting({ destination });
		const model = "persons";
		for (const [method, to, body] of [
			["POST", "/batch_exports", { ...HOURLY, destination, model }],
			// The error is that of the first field.
			[
				"POST",
				"/batch_exports",
				{ ...HOURLY, destination, model, start_at: "2026-02-02", end_at: "2026-02-01" },
			],
			["POST", "/batch_exports/test", { destination, model }],
			["PATCH", path, { model }],
			["POST", `${path}/test`, { model }],
		] as const)
			expect(await here(method, to, { body })).toMatchObject(
				wrong("invalid_input", "HTTP destinations only accept events.", "model"),
			);
	});

	test("an HTTP export of persons from before that rule can still be paused", async () => {
		const destination = { type: "HTTP", config: { url: "https://example.com/batch" } };
		const { here, path, made } = await exporting({ destination });
		await db.update(batchExports).set({ model: "persons" }).where(eq(batchExports.uuid, made.id));
		expect(await here("PATCH", path, { body: { paused: true } })).toMatchObject({
			status: 200,
			body: { paused: true, model: "persons" },
		});
	});

	test("an export with names that are rejected now can still be changed otherwise", async () => {
		const bad = { xql_query: "SELECT event AS ctid FROM events" };
		const xql_query = "SELECT event AS b FROM events";
		const { here, made, path } = await exporting({ destination: POSTGRES, xql_query });
		await db.update(batchExports).set(bad).where(eq(batchExports.uuid, made.id));
		expect(await here("PATCH", path, { body: { name: "y" } })).toMatchObject({ status: 200 });
		expect(await here("PATCH", path, { body: bad })).toMatchObject({
			status: 400,
			body: { attr: "xql_query" },
		});
	});

	test("a new end_at is compared with the stored start_at", async () => {
		const { here, path } = await exporting({
			start_at: "2026-02-02T00:00:00Z",
		});
		expect(await here("PATCH", path, { body: { end_at: "2026-02-01T00:00:00Z" } })).toMatchObject(
			wrong("invalid_input", "end_at must not be before start_at.", "end_at"),
		);
	});

	test("two concurrent changes of the range can't make it invalid", async () => {
		const { here, path, ask, id } = await exporting();
		const at = `/api/organizations/${id}${path}`;
		const response = await ask("PATCH", at, {
			body: { end_at: "2026-02-01T00:00:00Z" },
			env: racing(() => here("PATCH", path, { body: { start_at: "2026-02-02T00:00:00Z" } })),
		});
		expect(response).toMatchObject(
			wrong("invalid_input", "end_at must not be before start_at.", "end_at"),
		);
	});

	test("a new interval continues where the schedule is by then", async () => {
		stopClock();
		const { here, made, path } = await exporting();
		const row = eq(batchExports.uuid, made.id);
		const schedule = (next_start_at: string, next_end_at: string) =>
			db.update(batchExports).set({ next_start_at, next_end_at }).where(row);
		await schedule("2026-01-01T09:00:00.000Z", "2026-01-01T10:00:00.000Z");
		const { status } = await here("PATCH", path, {
			body: { interval: "every 5 minutes" },
			env: racing(() => schedule("2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z")),
		});
		expect(status).toBe(200);
		const [after] = await db.select().from(batchExports).where(row);
		// A single window bridges the time since then, however many windows of the new interval it has.
		expect(after?.next_start_at).toBe("2026-01-01T10:00:00.000Z");
		const FIVE_MINUTES = 5 * 60_000;
		expect(Date.parse(after?.next_end_at ?? "")).toBe(
			Math.floor(Date.now() / FIVE_MINUTES) * FIVE_MINUTES,
		);
	});

	test("an export of the current project or organization is backfilled and unpaused", async () => {
		for (const tenant of ["organizations", "projects"]) {
			const { ask, path } = await exporting({ paused: true });
			for (const operation of ["backfill", "unpause"]) {
				const there = `/api/${tenant}/@current${path}/${operation}`;
				expect((await ask("POST", there, { body: {} })).status, there).toBe(200);
			}
		}
	});

	test("an export whose interval changes while it is unpaused follows the new interval's grid", async () => {
		for (const body of [{}, { backfill: true }]) {
			const { here, made, path } = await exporting({
				paused: true,
				last_paused_at: "2026-01-01T00:00:00Z",
			});
			const response = await here("POST", `${path}/unpause`, {
				body,
				env: racing(() => here("PATCH", path, { body: { interval: "week" } })),
			});
			expect(response).toMatchObject({
				status: 200,
				body: { paused: false, interval: "week" },
			});
			const [after] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
			const next = new Date(after?.next_end_at ?? "");
			expect([next.getUTCDay(), next.getUTCHours()]).toEqual([1, 0]);
		}
	});

	test("a run that is retried while its export is deleted stays cancelled", async () => {
		const { here, made, path } = await exporting();
		const id = await run(made.id, {
			status: "Failed",
			finished_at: "2026-01-01T02:00:00.000Z",
		});
		await here("POST", `${path}/runs/${id}/retry`, {
			env: racing(() => here("DELETE", path)),
		});
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, id));
		expect(row?.status).toBe("Failed");
	});

	test("a run that was cancelled before it started can be retried while its export is paused", async () => {
		const { here, made, path } = await exporting({ paused: true });
		const id = await run(made.id);
		await here("POST", `${path}/runs/${id}/cancel`);
		await here("POST", `${path}/runs/${id}/retry`);
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, id));
		expect(row?.lease_expires_at).not.toBeNull();
	});

	test("a deleted export is not found anywhere, and its runs and backfills are cancelled", async () => {
		const { here, made, path } = await exporting();
		const backfill = await here("POST", `${path}/backfill`);
		expect(backfill.status).toBe(200);
		expect((await here("DELETE", path)).status).toBe(204);
		for (const [method, below] of [
			["GET", ""],
			["PATCH", ""],
			["DELETE", ""],
			["POST", "/pause"],
			["POST", "/unpause"],
			["POST", "/backfill"],
			["POST", "/test"],
			["GET", "/logs"],
			["GET", "/runs"],
			["GET", "/backfills"],
		] as const)
			expect([method, below, (await here(method, `${path}${below}`)).status]).toEqual([
				method,
				below,
				404,
			]);
		expect((await here("GET", "/batch_exports")).body.count).toBe(0);
		const of = eq(batchExportRuns.batch_export_id, rowOf(made.id));
		for (const { status } of await db.select().from(batchExportRuns).where(of))
			expect(["Cancelled", "Completed"]).toContain(status);
		const [row] = await db
			.select()
			.from(batchExportBackfills)
			.where(eq(batchExportBackfills.batch_export_id, rowOf(made.id)));
		expect(row?.status).toBe("Cancelled");
	});

	test("deleting a project deletes its exports and cancels their runs", async () => {
		const { ask, made, project } = await exporting();
		const id = await run(made.id);
		expect((await ask("DELETE", `/api/projects/${project}`)).status).toBe(204);
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, id));
		expect(row?.status).toBe("Cancelled");
		const [of] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
		expect(of?.deleted).toBe(true);
	});
});

describe("two exports that would write the same objects", () => {
	const export_ = (config: object, more: object = {}) => ({
		name: "Files",
		interval: "hour",
		destination: { type: "R2", config: { prefix: "same", ...config } },
		...more,
	});

	const warnings = async ({ here }: Awaited<ReturnType<typeof world>>, id: string) => {
		const { body } = await here("GET", `/batch_exports/${id}/logs?level=WARNING`);
		return body.results.map(({ message }: { message: string }) => message);
	};

	test("get a warning in the log when one is created or changed", async () => {
		const home = await world();
		const add = async (body: object) =>
			(await home.here("POST", "/batch_exports", { body })).body.id;
		const first = await add(export_({}));
		const second = await add(export_({ prefix: "/same/" }));
		expect(await warnings(home, second)).toEqual([expect.stringContaining(first)]);
		expect(await warnings(home, first)).toEqual([]);
		const third = await add(export_({ prefix: "other" }));
		expect(await warnings(home, third)).toEqual([]);
		await home.here("PATCH", `/batch_exports/${third}`, {
			body: { destination: { config: { prefix: "same" } } },
		});
		expect(await warnings(home, third)).toHaveLength(1);
	});

	test.each([
		[
			"AzureBlob",
			{
				account_name: "account",
				container_name: "same",
				account_key: "c2VjcmV0",
			},
			{ container_name: "other" },
		],
		[
			"AzureBlob",
			{ account_name: "account", container_name: "same", sas_token: "sig=x" },
			{ account_name: "other" },
		],
		["GCS", { bucket_name: "same" }, { bucket_name: "other" }],
	])("get a warning for %s: %j, and not with %j", async (type, config, other) => {
		const home = await world();
		const add = async (config: object) => {
			const destination = { type, config: { prefix: "", ...config } };
			const body = export_({}, { destination });
			return (await home.here("POST", "/batch_exports", { body })).body.id;
		};
		const first = await add(config);
		expect(await warnings(home, await add(config))).toEqual([expect.stringContaining(first)]);
		expect(await warnings(home, await add({ ...config, ...other }))).toEqual([]);
	});

	test.each([
		["another format", export_({ file_format: "Parquet" })],
		["another interval", export_({}, { interval: "day" })],
		["another folder", export_({ prefix: "same/{table}" })],
		["no files", export_({}, { destination: { type: "NoOp", config: {} } })],
	])("get no warning with %s", async (_, body) => {
		const home = await world();
		await home.here("POST", "/batch_exports", { body: export_({}) });
		const other = await home.here("POST", "/batch_exports", { body });
		expect(await warnings(home, other.body.id)).toEqual([]);
	});
});

describe("who sees what", () => {
	test("an export of a private project is not found on the organization's path if the caller doesn't see the project", async () => {
		const { id, project, path } = await exporting();
		const member = await join(id, 1);
		const asMember = (below: string) =>
			call("GET", `/api/organizations/${id}${below}`, { key: member.key });
		expect((await asMember(path)).status).toBe(200);
		await db.update(projects).set({ access_control: true }).where(eq(projects.id, project));
		expect((await asMember(path)).status).toBe(404);
		expect((await asMember("/batch_exports")).body.results).toEqual([]);
	});

	test("an export is not found on the path of another project", async () => {
		const { ask, id, here, made, path } = await exporting();
		const [second] = await db
			.insert(projects)
			.values({ organization_id: organizationId(id), name: "Second" })
			.returning();
		const other = `/api/projects/${second?.id}/batch_exports`;
		expect(await ask("GET", other)).toMatchObject({ status: 200, body: { count: 0, results: [] } });
		for (const [method, below, body] of [
			["GET", ""],
			["PATCH", "", { name: "x" }],
			["DELETE", ""],
			["POST", "/pause"],
			["GET", "/runs"],
		] as const)
			expect((await ask(method, `${other}/${made.id}${below}`, { body })).status).toBe(404);
		expect((await here("GET", path)).body).toEqual(made);
	});

	test("any member may create, change and delete an export", async () => {
		const { id } = await world();
		const { key } = await join(id, 1);
		const asMember = (method: string, below: string, body?: object) =>
			call(method, `/api/organizations/${id}/batch_exports${below}`, { key, body });
		const made = await asMember("POST", "", HOURLY);
		expect(made.status).toBe(201);
		const below = `/${made.body.id}`;
		expect((await asMember("PATCH", below, { name: "x" })).status).toBe(200);
		expect((await asMember("POST", `${below}/pause`)).status).toBe(200);
		expect((await asMember("DELETE", below)).status).toBe(204);
	});
});

describe("pausing", () => {
	test("is idempotent: a repeat changes nothing", async () => {
		const { here, path } = await exporting();
		const first = await here("POST", `${path}/pause`);
		expect(first).toMatchObject({ status: 200, body: { paused: true } });
		expect(first.body.last_paused_at).toEqual(expect.any(String));
		const second = await here("POST", `${path}/pause`);
		expect(second.body).toEqual(first.body);
		const { body: log } = await here("GET", "/activity_log?scope=BatchExport");
		expect(log.results.map(({ activity }: { activity: string }) => activity)).toEqual([
			"paused",
			"created",
		]);
	});

	test("the reason is shown until the export is unpaused", async () => {
		const { here, path } = await exporting();
		const note = async () => (await here("GET", path)).body.pause_note;
		await here("POST", `${path}/pause`, { body: { pause_note: "  Moving\u00a0to Iceberg 🧊 " } });
		expect(await note()).toBe("Moving\u00a0to Iceberg 🧊");
		await here("POST", `${path}/unpause`);
		expect(await note()).toBeNull();
		await here("POST", `${path}/pause`, { body: { pause_note: "Again" } });
		await here("PATCH", path, { body: { paused: false } });
		await here("PATCH", path, { body: { paused: true } });
		expect(await note()).toBeNull();
		expect(
			await here("POST", `${path}/pause`, { body: { pause_note: "x".repeat(501) } }),
		).toMatchObject({ status: 400, body: { code: "max_length", attr: "pause_note" } });
	});

	test("unpausing keeps last_paused_at, and is idempotent", async () => {
		const { here, path } = await exporting();
		const paused = await here("POST", `${path}/pause`);
		const first = await here("POST", `${path}/unpause`);
		expect(first.body).toMatchObject({
			paused: false,
			last_paused_at: paused.body.last_paused_at,
		});
		expect((await here("POST", `${path}/unpause`)).body).toEqual(first.body);
	});

	test("other fields of the body are validated, but not applied", async () => {
		const { here, path } = await exporting();
		expect(await here("POST", `${path}/pause`, { body: { interval: "month" } })).toMatchObject(
			wrong("invalid_choice", '"month" is not a valid choice.', "interval"),
		);
		const { body } = await here("POST", `${path}/pause`, {
			body: { name: "Other" },
		});
		expect(body).toMatchObject({ name: "Hourly", paused: true });
	});

	test.each([
		["POST", "/unpause", {}],
		["PATCH", "", { paused: false }],
	])("a window that was due before the pause runs after it: %s %s", async (method, below, body) => {
		stopClock();
		const { here, path, made } = await exporting({ paused: true });
		const at = (hours: number) =>
			new Date(Math.floor(Date.now() / 3_600_000 - hours) * 3_600_000).toISOString();
		await db
			.update(batchExports)
			.set({
				next_start_at: at(6),
				next_end_at: at(5),
				last_paused_at: at(5).replace(":00:00", ":01:00"),
			})
			.where(eq(batchExports.uuid, made.id));
		const response = await here(method, `${path}${below}`, { body });
		expect(response).toMatchObject({ status: 200, body: { paused: false } });
		const { body: runs } = await here("GET", `${path}/runs`);
		expect(runs.results).toMatchObject([{ data_interval_end: at(5) }]);
		const [row] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
		expect(row?.next_end_at).toBe(at(-1));
	});

	test("unpausing with a backfill exports the windows that were missed during the pause", async () => {
		stopClock();
		const { here, path, made } = await exporting();
		await here("POST", `${path}/pause`);
		await db
			.update(batchExports)
			.set({
				last_paused_at: new Date(Date.now() - 5 * 3_600_000).toISOString(),
			})
			.where(eq(batchExports.uuid, made.id));
		const { body } = await here("POST", `${path}/unpause`, {
			body: { backfill: true },
		});
		expect(body).toMatchObject({
			paused: false,
			backfill_id: expect.any(String),
		});
		const { body: page } = await here("GET", `${path}/backfills`);
		expect(page.results).toMatchObject([{ id: body.backfill_id, by: "arrival", total_runs: 5 }]);
	});

	test("unpausing without a backfill logs which windows of the pause are not exported, and how to export them", async () => {
		stopClock();
		const hour = (n: number) =>
			new Date((Math.floor(Date.now() / 3_600_000) - n) * 3_600_000).toISOString();
		for (const [method, below, body] of [
			["POST", "/unpause", {}],
			["PATCH", "", { paused: false }],
		] as const) {
			const { here, path, made } = await exporting({ paused: true });
			await db
				.update(batchExports)
				.set({ next_start_at: hour(3), next_end_at: hour(2), last_paused_at: hour(3) })
				.where(eq(batchExports.uuid, made.id));
			expect((await here(method, `${path}${below}`, { body })).status).toBe(200);
			const { results } = (await here("GET", `${path}/logs`)).body;
			const range = { by: "arrival", start_at: hour(3), end_at: hour(0) };
			expect(results[0].message).toBe(
				`The export was unpaused. Not exported: 3 windows, from ${hour(3)} to ${hour(0)}. Export what arrived in this range with a backfill by arrival: ${JSON.stringify(range)}.`,
			);
			expect((await here("POST", `${path}/backfill`, { body: range })).status).toBe(200);
			await eventually(async () =>
				expect((await here("GET", `${path}/backfills`)).body.results).toMatchObject([
					{ status: "Completed", total_runs: 3, finished_runs: 3 },
				]),
			);
		}
	});
});

describe("backfills", () => {
	const at = (path: string) => `${path}/backfill`;
	const hours = (from: number, to: number) => ({
		start_at: `2026-01-01T${String(from).padStart(2, "0")}:30:00Z`,
		end_at: `2026-01-01T${String(to).padStart(2, "0")}:45:00Z`,
	});

	test("the windows are start + k · interval, as long as they fit into the range", async () => {
		const { here, path, made } = await exporting({ paused: true });
		const { status, body } = await here("POST", at(path), {
			body: hours(0, 3),
		});
		expect(status).toBe(200);
		expect(body).toMatchObject({
			id: made.id,
			backfill_id: expect.any(String),
		});
		const { body: page } = await here("GET", `${path}/backfills`);
		expect(page).toMatchObject({
			count: 1,
			results: [
				{
					id: body.backfill_id,
					batch_export: made.id,
					start_at: "2026-01-01T00:30:00.000Z",
					end_at: "2026-01-01T03:45:00.000Z",
					total_runs: 3,
				},
			],
		});
		const { body: runs } = await here("GET", `${path}/runs`);
		expect(runs.results.at(-1)).toMatchObject({
			data_interval_start: "2026-01-01T00:30:00.000Z",
			data_interval_end: "2026-01-01T01:30:00.000Z",
			batch_export: made.id,
		});
	});

	test("without a range it is the last complete interval", async () => {
		stopClock();
		const { here, path } = await exporting();
		await here("POST", at(path));
		const { body } = await here("GET", `${path}/backfills`);
		const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
		expect(body.results[0]).toMatchObject({
			end_at: new Date(hour).toISOString(),
			total_runs: 1,
		});
	});

	test.each([
		[
			{ start_at: "2026-01-01T00:00:00" },
			"Datetime needs an offset from UTC, like Z or +02:00.",
			"start_at",
		],
		[{ start_at: "yesterday" }, "Datetime has wrong format. Use ISO 8601.", "start_at"],
		[{ end_at: "2026-01-01" }, "Datetime needs an offset from UTC, like Z or +02:00.", "end_at"],
		[
			{ start_at: "2026-01-02T00:00:00Z", end_at: "2026-01-02T00:00:00Z" },
			"start_at must be before end_at.",
			"start_at",
		],
		[{ end_at: "2999-01-01T00:00:00Z" }, "end_at must not be in the future.", "end_at"],
		[
			{ start_at: "2999-01-02T00:00:00Z", end_at: "2999-01-01T00:00:00Z" },
			"start_at must be before end_at.",
			"start_at",
		],
		[
			{ start_at: "2026-01-01T00:00:00Z", end_at: "2026-01-01T00:30:00Z" },
			"The range is shorter than the export's interval (hour).",
			"start_at",
		],
	])("%j is rejected", async (body, detail, attr) => {
		const { here, path } = await exporting();
		expect(await here("POST", at(path), { body })).toMatchObject(
			wrong("invalid_input", detail, attr),
		);
	});

	test("without a start have the last complete interval before the end; without an end, all up to now", async () => {
		const { here, path } = await exporting({ paused: true });
		const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
		const ask = async (body: object) => {
			const response = await here("POST", at(path), { body });
			const [{ start_at, end_at, total_runs }] = (await here("GET", `${path}/backfills`)).body
				.results;
			return [response.status, start_at, end_at, total_runs];
		};
		expect(await ask({ end_at: "2026-01-01T10:30:00Z" })).toEqual([
			200,
			"2026-01-01T09:00:00.000Z",
			"2026-01-01T10:30:00.000Z",
			1,
		]);
		const start_at = new Date(hour - 5 * 3_600_000).toISOString();
		expect(await ask({ start_at })).toMatchObject([200, start_at, expect.any(String), 5]);
		expect(
			await here("POST", at(path), { body: { start_at: new Date(hour + 1).toISOString() } }),
		).toMatchObject(wrong("invalid_input", "start_at must be before end_at.", "start_at"));
	});

	/** Inserts running backfills. */
	const running = (n: number, of: string, project_id: number) =>
		addBackfills(
			of,
			...Array.from({ length: n }, () => ({
				project_id,
				interval: "hour" as const,
				start_at: "2026-01-01T00:00:00.000Z",
				end_at: "2026-01-01T01:00:00.000Z",
				total_runs: 1,
			})),
		);

	test("are listed by status, and by when their ranges end", async () => {
		const { here, path, made, project } = await exporting();
		const ranges = [
			["Completed", "03"],
			["Running", "01"],
			["Cancelled", "02"],
			["Completed", "05"],
		] as const;
		for (const [status, day] of ranges)
			await addBackfills(made.id, {
				project_id: project,
				interval: "hour",
				status,
				start_at: "2025-12-01T00:00:00.000Z",
				end_at: `2026-01-${day}T00:00:00.000Z`,
				total_runs: 1,
			});
		const asked = async (query: string) => {
			const { body } = await here("GET", `${path}/backfills?${query}`);
			expect(body.count).toBe(body.results.length);
			return body.results.map(({ end_at }: { end_at: string }) => end_at.slice(8, 10));
		};
		// The newest first; with a range of time, the newest ranges.
		expect(await asked("")).toEqual(["05", "02", "01", "03"]);
		expect(await asked("status=completed")).toEqual(["05", "03"]);
		expect(await asked("status=Running&status=Cancelled")).toEqual(["02", "01"]);
		expect(await asked("after=2026-01-01T00:00:00Z&before=2026-01-05T00:00:00Z")).toEqual([
			"03",
			"02",
		]);
		expect(await asked("after=2026-01-02T00:00:00Z&status=Completed&status=Running")).toEqual([
			"05",
			"03",
		]);
		const { next } = (await here("GET", `${path}/backfills?status=Completed&limit=1`)).body;
		expect(await here("GET", `${path}/backfills${new URL(next).search}`)).toMatchObject({
			body: { count: 2, results: [{ end_at: "2026-01-03T00:00:00.000Z" }], next: null },
		});
	});

	test("a project has at most three at once, even if two requests race for the last one", async () => {
		const { here, path, made, project, ask, id } = await exporting();
		await running(2, made.id, project);
		const response = await ask("POST", `/api/organizations/${id}${at(path)}`, {
			body: hours(0, 3),
			env: racing(() => here("POST", at(path), { body: hours(4, 6) })),
		});
		expect(response).toMatchObject({
			status: 429,
			body: {
				type: "throttled_error",
				code: "throttled",
				detail: "A project can have 3 backfills running.",
				attr: null,
			},
		});
		expect(response.headers.get("retry-after")).toBe("60");
		expect((await here("GET", `${path}/backfills`)).body.count).toBe(3);
	});

	test("a range that a running backfill of the export covers is a 409 that names it, also if two requests race", async () => {
		const { here, path, ask, id } = await exporting({ paused: true, destination: UNREACHABLE });
		let first = "";
		const response = await ask("POST", `/api/organizations/${id}${at(path)}`, {
			body: hours(0, 3),
			env: racing(async () => {
				first = (await here("POST", at(path), { body: hours(0, 3) })).body.backfill_id;
			}),
		});
		expect(response).toMatchObject({
			status: 409,
			body: {
				type: "invalid_request",
				code: "conflict",
				detail: `The backfill ${first}, which is running, exports this range already.`,
				attr: null,
			},
		});
		const status = async (body: object) => (await here("POST", at(path), { body })).status;
		// Its last window ends at 03:30.
		const part = { start_at: "2026-01-01T01:30:00Z", end_at: "2026-01-01T03:30:00Z" };
		expect(await status(part)).toBe(409);
		expect(await status({ ...part, end_at: "2026-01-01T04:30:00Z" })).toBe(200);
		const other = await here("POST", "/batch_exports", { body: { ...HOURLY, paused: true } });
		const { body } = await here("POST", at(`/batch_exports/${other.body.id}`), { body: part });
		expect(body).toMatchObject({ backfill_id: expect.any(String) });
		expect((await here("POST", `${path}/backfills/${first}/cancel`)).status).toBe(200);
		expect(await status(hours(0, 3))).toBe(200);
	});

	test("by arrival, a range that overlaps a running one is a 409, and one that the schedule has to export a 400", async () => {
		const { here, path, made } = await exporting({ destination: UNREACHABLE });
		const status = async (body: object) =>
			(await here("POST", at(path), { body: { by: "arrival", ...body } })).status;
		const range = { start_at: "2026-01-01T00:20:00Z", end_at: "2026-01-01T02:10:00Z" };
		expect(await status(range)).toBe(200);
		expect((await here("GET", `${path}/backfills`)).body.results).toMatchObject([
			{ by: "arrival", total_runs: 3 },
		]);
		expect(await status({ ...range, start_at: "2026-01-01T02:09:59Z" })).toBe(409);
		expect(await status({ ...range, end_at: "2026-01-01T00:20:01Z" })).toBe(409);
		expect(await status({ ...range, by: "event" })).toBe(200);
		const [row] = await db.select().from(batchExports).where(eq(batchExports.uuid, made.id));
		const from = row?.next_start_at ?? "";
		const next = new Date(Date.parse(from) + 1).toISOString();
		if (Date.now() > Date.parse(next))
			expect(
				await here("POST", at(path), { body: { by: "arrival", ...range, end_at: next } }),
			).toMatchObject(
				wrong(
					"invalid_input",
					`end_at must not be after ${from}: the schedule exports what arrives from then on. If the export is paused, unpause it with a backfill.`,
					"end_at",
				),
			);
		expect(await here("POST", at(path), { body: { by: "chance", ...range } })).toMatchObject(
			wrong("invalid_choice", '"chance" is not a valid choice.', "by"),
		);
	});

	test("by arrival leave out windows that have a run, and write each other window once", async () => {
		const { here, path, made } = await exporting({ paused: true });
		const hour = (n: number) => `2026-01-01T0${n}:00:00.000Z`;
		for (const [from, until] of [
			[1, 3],
			[4, 5],
		] as const)
			await run(made.id, {
				data_interval_start: hour(from),
				data_interval_end: hour(until),
				status: "Completed",
				finished_at: hour(6),
			});
		const body = { by: "arrival", start_at: "2026-01-01T00:30:00Z", end_at: hour(6) };
		for (const total_runs of [3, 0]) {
			const { backfill_id } = (await here("POST", at(path), { body })).body;
			await eventually(async () =>
				expect((await here("GET", `${path}/backfills/${backfill_id}`)).body).toMatchObject({
					status: "Completed",
					total_runs,
					finished_runs: total_runs,
				}),
			);
		}
		const { results } = (await here("GET", `${path}/runs?before=2026-02-01`)).body;
		const windows = results.map((of: { [field: string]: string }) =>
			[of.data_interval_start, of.data_interval_end, of.by].map((value) => value?.slice(11, 16)),
		);
		expect(windows.map((window: string[]) => window.slice(0, 2).join(" "))).toEqual([
			"05:00 06:00",
			"04:00 05:00",
			"03:00 04:00",
			"01:00 03:00",
			"00:30 01:00",
		]);
		expect(results.every(({ by }: { by: string }) => by === "arrival")).toBe(true);
	});

	test("one can be retrieved", async () => {
		const { here, path, made, project } = await exporting();
		await running(1, made.id, project);
		const [listed] = (await here("GET", `${path}/backfills`)).body.results;
		expect(await here("GET", `${path}/backfills/${listed.id}`)).toMatchObject({
			status: 200,
			body: listed,
		});
		const other = await here("POST", "/batch_exports", { body: HOURLY });
		for (const missing of [
			`/batch_exports/${other.body.id}/backfills/${listed.id}`,
			`${path}/backfills/${v7()}`,
		])
			expect((await here("GET", missing)).status).toBe(404);
		const cancel = `/batch_exports/${other.body.id}/backfills/${listed.id}/cancel`;
		expect((await here("POST", cancel)).status).toBe(404);
	});

	test("an export stays paused if there are too many backfills", async () => {
		const { here, path, made, project } = await exporting({
			paused: true,
			last_paused_at: "2026-01-01T00:00:00Z",
		});
		await running(3, made.id, project);
		const { status } = await here("POST", `${path}/unpause`, {
			body: { backfill: true },
		});
		expect(status).toBe(429);
		expect((await here("GET", path)).body.paused).toBe(true);
	});

	test("cancelling one also cancels its current run", async () => {
		const { here, path, made, project } = await exporting();
		await running(1, made.id, project);
		const [backfill] = await db
			.select()
			.from(batchExportBackfills)
			.where(eq(batchExportBackfills.batch_export_id, rowOf(made.id)));
		const backfill_id = backfill?.id ?? "";
		await run(made.id, { backfill_id, ...LEASED });
		const cancel = `${path}/backfills/${backfill_id}/cancel`;
		expect(await here("POST", cancel)).toMatchObject({
			status: 200,
			body: {
				status: "Cancelled",
				finished_runs: 1,
				failed_runs: 0,
				finished_at: expect.any(String),
			},
		});
		const { body } = await here("GET", `${path}/runs`);
		expect(body.results).toMatchObject([{ status: "Cancelled", latest_error: "Cancelled" }]);
		expect(await here("POST", cancel)).toMatchObject(
			wrong("invalid_input", "Only a running backfill can be cancelled.", null),
		);
	});
});

describe("runs", () => {
	test("are listed newest first, can be filtered by status, and the export has the newest ten", async () => {
		const { here, path, made } = await exporting();
		for (let day = 10; day < 22; day += 1)
			await run(made.id, {
				data_interval_start: `2026-01-${day}T00:00:00.000Z`,
				data_interval_end: `2026-01-${day}T01:00:00.000Z`,
				status: day % 2 ? "Failed" : "Completed",
				finished_at: `2026-01-${day}T01:00:01.000Z`,
				...LEASED,
			});
		const { body: page } = await here("GET", `${path}/runs?limit=2`);
		expect(page).toMatchObject({
			count: 12,
			results: [
				{ data_interval_start: "2026-01-21T00:00:00.000Z", status: "Failed" },
				{ data_interval_start: "2026-01-20T00:00:00.000Z" },
			],
		});
		expect((await here("GET", `${path}/runs?status=Completed`)).body.count).toBe(6);
		expect(await here("GET", `${path}/runs?status=done`)).toMatchObject(
			wrong("invalid_choice", '"done" is not a valid choice.', "status"),
		);
		const { body } = await here("GET", path);
		expect(body.latest_runs).toHaveLength(10);
		expect(body.latest_runs[0]).toEqual(page.results[0]);
		const one = await here("GET", `${path}/runs/${page.results[0].id}`);
		expect(one.body).toEqual(page.results[0]);
	});

	test("are listed by their windows, the newest first, with the backfill that they belong to", async () => {
		const { here, path, made } = await exporting();
		const window = (hour: number) => ({
			data_interval_start: `2026-01-10T0${hour}:00:00.000Z`,
			data_interval_end: `2026-01-10T0${hour + 1}:00:00.000Z`,
		});
		for (const hour of [5, 1, 3, 4])
			await run(made.id, {
				...window(hour),
				status: hour === 3 ? "Failed" : "Completed",
				finished_at: "2026-01-10T08:00:00.000Z",
				...LEASED,
				lease: hour,
			});
		const body = { start_at: "2026-01-10T02:00:00Z", end_at: "2026-01-10T03:00:00Z" };
		const { backfill_id } = (await here("POST", `${path}/backfill`, { body })).body;
		const ask = async (query: string) => (await here("GET", `${path}/runs?${query}`)).body;
		const range = "after=2026-01-10T02:00:00Z&before=2026-01-10T06:00:00Z";
		const { count, results } = await ask(range);
		expect(count).toBe(3);
		expect(results).toMatchObject([
			{ ...window(4), backfill_id: null, attempt: 4 },
			{ ...window(3), backfill_id: null, attempt: 3 },
			{ ...window(2), backfill_id },
		]);
		const { next } = await ask(`${range}&limit=2`);
		expect((await ask(new URL(next).search.slice(1))).results).toMatchObject([window(2)]);
		const failed = await ask(`${range}&status=Failed`);
		expect(failed).toMatchObject({ count: 1, results: [window(3)] });
		expect(await here("GET", `${path}/runs?after=soon`)).toMatchObject(
			wrong("invalid_input", "Datetime has wrong format. Use ISO 8601.", "after"),
		);
	});

	test("whose windows overlap a range are found whatever their interval was", async () => {
		const { here, path, made } = await exporting();
		const windows = [
			["2026-01-05T00:00", "2026-01-12T00:00"],
			["2026-01-09T00:00", "2026-01-10T00:00"],
			["2026-01-10T00:00", "2026-01-11T00:00"],
			["2026-01-10T01:00", "2026-01-10T02:00"],
			["2026-01-10T02:00", "2026-01-10T03:00"],
			["2026-01-10T03:00", "2026-01-10T03:05"],
			["2026-01-12T00:00", "2026-01-19T00:00"],
		].map(([start, end]) => ({
			data_interval_start: `${start}:00.000Z`,
			data_interval_end: `${end}:00.000Z`,
		}));
		for (const window of windows)
			await run(made.id, {
				...window,
				status: "Completed",
				finished_at: "2026-01-20T00:00:00.000Z",
				...LEASED,
			});
		const ask = async (query: string) => (await here("GET", `${path}/runs?${query}`)).body;
		const range = "after=2026-01-10T02:00:00Z&starts_before=2026-01-10T03:00:00Z";
		const starts = (page: { results: { data_interval_start: string }[] }) =>
			page.results.map(({ data_interval_start }) => data_interval_start);
		const [ofWeek, , ofDay, , ofHour] = windows.map((window) => window.data_interval_start);
		const all = await ask(range);
		expect(all.count).toBe(3);
		expect(starts(all)).toEqual([ofWeek, ofDay, ofHour]);
		const first = await ask(`${range}&limit=1`);
		expect(first).toMatchObject({ count: 3, results: [{ data_interval_start: ofWeek }] });
		expect(starts(await ask(new URL(first.next).search.slice(1)))).toEqual([ofDay]);
		expect(await ask(`${range}&status=Failed`)).toMatchObject({ count: 0, results: [] });
		expect((await ask("starts_before=2026-01-10T02:30:00Z")).count).toBe(5);
		const [every, unsuccessful] = [RUN_STATUSES, UNSUCCESSFUL].map((statuses) =>
			statuses.map((status) => `status=${status}`).join("&"),
		);
		for (const window of ["", "before=2026-01-12", "starts_before=2026-01-12", range]) {
			expect(await ask(`${window}&${every}`)).toMatchObject({ count: (await ask(window)).count });
			expect(await ask(`${window}&${unsuccessful}`)).toMatchObject({ count: 0 });
		}
	});

	test("of a backfill that begins between two intervals are found where no other window ends before", async () => {
		const { here, path, project, made } = await exporting({ interval: "day" });
		const day = (date: number) => `2026-01-${date}T22:30:00.000Z`;
		for (const [start, end] of [
			[11, 14],
			[12, 13],
		] as const) {
			const backfill_id = v7();
			await addBackfills(made.id, {
				id: backfill_id,
				project_id: project,
				start_at: day(start),
				end_at: day(end),
				interval: "day",
				total_runs: end - start,
			});
			for (let from = start; from < end; from++)
				await run(made.id, {
					data_interval_start: day(from),
					data_interval_end: day(from + 1),
					backfill_id,
				});
		}
		const ask = async (query: string) => {
			const { count, results } = (await here("GET", `${path}/runs?${query}`)).body;
			const starts = results.map((run: { data_interval_start: string }) => run.data_interval_start);
			return [count, starts];
		};
		const range = "after=2026-01-13T00:00:00Z&starts_before=2026-01-13";
		expect(await ask(`${range}T12:00:00Z`)).toEqual([2, [day(12), day(12)]]);
		await run(made.id, {
			data_interval_start: "2026-01-13T13:00:00.000Z",
			data_interval_end: "2026-01-13T14:00:00.000Z",
		});
		expect(await ask(`${range}T12:00:00Z`)).toEqual([0, []]);
		expect(await ask(`${range}T22:30:00Z&kind=backfill`)).toEqual([2, [day(12), day(12)]]);
	});

	test("are filtered by kind, also together with other filters", async () => {
		const { here, path, made } = await exporting();
		const day = (date: number) => `2026-01-0${date}T00:00:00.000Z`;
		for (const [date, status, backfill_id] of [
			[1, "Completed", null],
			[2, "Failed", null],
			[3, "Completed", v7()],
			[4, "Failed", v7()],
			[5, "Failed", v7()],
		] as const)
			await run(made.id, {
				...LEASED,
				...{ status, backfill_id, finished_at: day(9) },
				...{ data_interval_start: day(date), data_interval_end: day(date + 1) },
			});
		const ask = async (query: string) => {
			const { count, results } = (await here("GET", `${path}/runs?${query}`)).body;
			const days = results.map((run: { data_interval_start: string }) =>
				Number(run.data_interval_start.slice(8, 10)),
			);
			return [count, days.sort()];
		};
		expect(await ask("kind=scheduled")).toEqual([2, [1, 2]]);
		expect(await ask("kind=backfill")).toEqual([3, [3, 4, 5]]);
		expect(await ask("kind=backfill&limit=1&offset=1")).toEqual([3, [4]]);
		expect(await ask("kind=backfill&status=Failed")).toEqual([2, [4, 5]]);
		expect(await ask("kind=scheduled&status=Completed")).toEqual([1, [1]]);
		expect(await ask("kind=backfill&after=2026-01-05T00:00:00Z")).toEqual([1, [5]]);
		expect(await ask("kind=scheduled&starts_before=2026-01-02T00:00:00Z")).toEqual([1, [1]]);
		expect(await here("GET", `${path}/runs?kind=other`)).toMatchObject({
			status: 400,
			body: { attr: "kind" },
		});
	});

	test("a run can be cancelled once, and then retried", async () => {
		const { here, path, made } = await exporting();
		const id = await run(made.id, { ...LEASED, status: "Running", latest_error: "Oops" });
		const at = (word: string) => `${path}/runs/${id}/${word}`;
		expect(await here("POST", at("retry"))).toMatchObject(
			wrong("invalid_input", "Only a run that has ended can be retried.", null),
		);
		expect(await here("POST", at("cancel"))).toMatchObject({
			status: 200,
			body: {
				id,
				status: "Cancelled",
				latest_error: "Cancelled",
				finished_at: expect.any(String),
			},
		});
		const { body: log } = await here("GET", at("logs"));
		expect(log.results[0].message).toBe(
			"The run of 2026-01-01T00:00:00.000Z to 2026-01-01T01:00:00.000Z was cancelled. Its last error: Oops.",
		);
		expect(await here("POST", at("cancel"))).toMatchObject(
			wrong("invalid_input", "Only a run that has not ended can be cancelled.", null),
		);
		expect(await here("POST", at("retry"), { body: { from: "end" } })).toMatchObject(
			wrong("invalid_choice", '"end" is not a valid choice.', "from"),
		);
		expect(await here("POST", at("retry"))).toMatchObject({
			status: 200,
			body: { id, latest_error: null, records_completed: 0 },
		});
		const { body } = await here("GET", "/activity_log?scope=BatchExport");
		expect(body.results[0]).toMatchObject({
			activity: "run_retried",
			detail: { trigger: { run_id: id } },
		});
	});

	test("a run that is retried from the start resets its counts of rows, bytes and values written as null", async () => {
		const { here, path, made } = await exporting();
		const id = await run(made.id, {
			status: "Failed",
			finished_at: "2026-01-01T02:00:00.000Z",
			records_completed: 7,
			bytes: 70,
			unfit_values: 3,
		});
		expect((await here("POST", `${path}/runs/${id}/retry`)).status).toBe(200);
		const [row] = await db.select().from(batchExportRuns).where(eq(batchExportRuns.id, id));
		expect(row).toMatchObject({ records_completed: 0, bytes: 0, unfit_values: 0 });
	});

	test("a run whose leftovers have not been removed can't be retried", async () => {
		const { here, path, made } = await exporting();
		const id = await run(made.id, {
			...LEASED,
			status: "Failed",
			finished_at: "2026-01-01T02:00:00.000Z",
			state: { upload: "x" },
		});
		expect(await here("POST", `${path}/runs/${id}/retry`)).toMatchObject(
			wrong(
				"invalid_input",
				"Unfinished output of the run is still being removed. Try again in a minute.",
				null,
			),
		);
	});

	test("another export's is not found", async () => {
		const { here, made } = await exporting();
		const id = await run(made.id);
		const { body: other } = await here("POST", "/batch_exports", {
			body: HOURLY,
		});
		const at = `/batch_exports/${other.id}/runs/${id}`;
		expect((await here("GET", at)).status).toBe(404);
		expect((await here("POST", `${at}/cancel`)).status).toBe(404);
		expect((await here("POST", `${at}/retry`)).status).toBe(404);
		expect((await here("GET", `${at}/logs`)).status).toBe(404);
	});
});

describe("the log", () => {
	async function logging() {
		const home = await exporting();
		const run_id = await run(home.made.id, { ...LEASED });
		await db
			.update(batchExportRuns)
			.set({ created_at: "2026-01-01T00:01:30.000Z" })
			.where(eq(batchExportRuns.id, run_id));
		const entry = (minute: number, row: Parameters<typeof logOfExport>[1]) =>
			logOfExport(home.made.id, {
				timestamp: `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`,
				message: `Minute ${minute}`,
				...row,
			});
		await db.batch([
			entry(1, {}),
			entry(2, { level: "ERROR", run: run_id }),
			entry(3, { level: "WARNING", message: "Something SPECIAL", run: run_id }),
			entry(4, { level: "DEBUG" }),
		]);
		return { ...home, run_id };
	}
	const messages = ({ body }: { body: { results: { message: string }[] } }) =>
		body.results.map(({ message }) => message);

	test("is listed with the export, newest first", async () => {
		const { here, path, made } = await logging();
		const response = await here("GET", `${path}/logs?limit=2`);
		expect(response.status).toBe(200);
		expect(response.body).toMatchObject({
			id: made.id,
			name: "Hourly",
			count: 4,
		});
		expect(response.body.results[0]).toEqual({
			id: expect.any(String),
			timestamp: "2026-01-01T00:04:00.000Z",
			level: "DEBUG",
			message: "Minute 4",
			run_id: null,
		});
		const next = await here("GET", `${path}/logs${new URL(response.body.next).search}`);
		expect(messages(next)).toEqual(["Minute 2", "Minute 1"]);
	});

	test.each([
		["level=ERROR&level=DEBUG", ["Minute 4", "Minute 2"]],
		["search=special", ["Something SPECIAL"]],
		["after=2026-01-01T00:02:00Z", ["Minute 4", "Something SPECIAL"]],
		["before=2026-01-01T00:02:00Z", ["Minute 1"]],
	])("is filtered by %s", async (query, expected) => {
		const { here, path } = await logging();
		expect(messages(await here("GET", `${path}/logs?${query}`))).toEqual(expected);
	});

	test("is the same in a path with @current", async () => {
		const { ask, here, path, run_id } = await logging();
		const query = "?limit=1&offset=1&search=minute&level=ERROR&level=DEBUG";
		for (const log of [`${path}/logs${query}`, `${path}/runs/${run_id}/logs${query}`]) {
			const { results } = (await here("GET", log)).body;
			for (const tenant of ["organizations", "projects"]) {
				const response = await ask("GET", `/api/${tenant}/@current${log}`);
				expect(response).toMatchObject({ status: 200, body: { results } });
			}
		}
	});

	test("a run has its own log", async () => {
		const { here, path, run_id } = await logging();
		const response = await here("GET", `${path}/runs/${run_id}/logs`);
		expect(messages(response)).toEqual(["Something SPECIAL", "Minute 2"]);
		expect(response.body.count).toBe(2);
	});

	test.each(["logs?level=LOUD", "runs?status=done", "runs/x/logs?after=soon"])(
		"an export that doesn't exist is not found, even with invalid parameters: %s",
		async (below) => {
			const { here, path } = await exporting();
			expect((await here("GET", `/batch_exports/x/${below}`)).status).toBe(404);
			expect((await here("GET", `${path}/${below}`)).status).toBe(
				below.startsWith("runs/") ? 404 : 400,
			);
		},
	);
});

describe("the cost of reading", () => {
	test("a page of a log of 400 entries reads as many rows as one of 100", async () => {
		const read = async (n: number) => {
			const { here, path, made } = await exporting();
			await times(n, () => logOfExport(made.id, {}));
			const response = await here("GET", `${path}/logs?limit=10`);
			expect(response.body.count).toBe(n);
			return cost(response).read;
		};
		expect(await read(400)).toBeLessThanOrEqual((await read(100)) + 2);
	});

	test("a page of runs does not depend on how many runs there are", async () => {
		const read = async (n: number) => {
			const { here, path, made } = await exporting();
			const ended = { finished_at: "2026-01-01T01:00:00.000Z", ...LEASED };
			const runs = Array.from({ length: n }, (_, i) => ({
				data_interval_start: new Date(i).toISOString(),
				data_interval_end: new Date(i + 1).toISOString(),
				status: "Completed" as const,
				...ended,
			}));
			for (let i = 0; i < n; i += 5) await addRuns(made.id, ...runs.slice(i, i + 5));
			return cost(await here("GET", `${path}/runs?limit=10`)).read;
		};
		expect(await read(200)).toBeLessThanOrEqual((await read(50)) + 2);
	});
});
