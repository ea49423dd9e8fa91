import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { wrong } from "../../support/errors.ts";
import { eventually } from "../../support/time.ts";
import { addRuns, cost, db, LEASED, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const first = Math.floor(Date.now() / HOUR) * HOUR - 48 * HOUR;
const at = (hours: number) => new Date(first + hours * HOUR).toISOString();

type Row = Partial<Parameters<typeof addRuns>[1]>;

/** An hourly export whose schedule has come to `at(10)`. */
async function exporting(body: object = {}) {
	const home = await world();
	const { here } = home;
	const { body: made } = await here("POST", "/batch_exports", {
		body: {
			name: "Export",
			interval: "hour",
			destination: { type: "NoOp", config: {} },
			...body,
		},
	});
	const path = `/batch_exports/${made.id}`;
	const move = (set: Partial<typeof batchExports.$inferInsert>) =>
		db.update(batchExports).set(set).where(eq(batchExports.uuid, made.id));
	await move({ next_start_at: at(10), next_end_at: at(11), due_at: "9999-01-01T00:00:00.000Z" });
	/** Adds the run of the window that begins at this hour. */
	const ended = async (
		hour: number,
		status: "Failed" | "FailedRetryable" | "Completed",
		row: Row = {},
	) => {
		const id = v7();
		await addRuns(made.id, {
			id,
			data_interval_start: at(hour),
			data_interval_end: at(hour + 1),
			finished_at: at(hour + 2),
			status,
			latest_error: status === "Completed" ? null : `No route at ${hour}.`,
			...LEASED,
			...row,
		});
		return id;
	};
	const post = (operation: string, body: object = {}) =>
		here("POST", `${path}/${operation}`, { body });
	return {
		...home,
		made,
		path,
		move,
		ended,
		post,
		undelivered: async () => (await here("GET", path)).body.undelivered,
		/** Passes over the windows from hour 10 to 12, as an unpaused export does. */
		async passOver(unpause: object = {}) {
			await move({ paused: true, last_paused_at: at(10) });
			await here("POST", `${path}/unpause`, { body: unpause });
		},
	};
}

test("an empty window doesn't make an export healthy: failed windows count until they are retried", async () => {
	const { ended, undelivered, post, here, path } = await exporting();
	await ended(1, "Completed");
	await ended(2, "FailedRetryable");
	await ended(3, "Failed");
	await ended(4, "Completed");
	const latest_error = "No route at 3.";
	const found = { windows: 2, start_at: at(2), end_at: at(4), latest_error };
	expect(await undelivered()).toEqual(found);
	const list = await here("GET", "/batch_exports");
	expect(list.body.results).toMatchObject([{ undelivered: found }]);
	const retried = { status: 202, body: { windows: 2, waiting: 0 } };
	expect(await post("retry_failed")).toMatchObject(retried);
	expect((await post("retry_failed")).body).toEqual({ windows: 0, waiting: 0 });
	await eventually(async () => {
		const { results } = (await here("GET", `${path}/runs?status=Completed`)).body;
		expect(results).toHaveLength(4);
	});
	expect(await undelivered()).toBeNull();
	const { results } = (await here("GET", "/activity_log?activity=windows_retried")).body;
	expect(results).toMatchObject([{ item_id: path.split("/").at(-1) }]);
});

test("of two requests that retry at once, one retries each window", async () => {
	const { ended, post } = await exporting();
	for (let hour = 0; hour < 5; hour += 1) await ended(hour, "Failed");
	const answers = await Promise.all([post("retry_failed"), post("retry_failed")]);
	expect(answers.map(({ status }) => status)).toEqual([202, 202]);
	expect(answers.reduce((sum, { body }) => sum + body.windows, 0)).toBe(5);
});

test("only windows in a range are retried, and runs that are being cleaned up wait", async () => {
	const { ended, post, undelivered } = await exporting();
	for (const hour of [1, 2, 3]) await ended(hour, "FailedRetryable");
	await ended(4, "Failed", { state: { upload: "1" } });
	const span = { after: at(2), before: at(3) };
	expect((await post("retry_failed", span)).body).toEqual({ windows: 1, waiting: 0 });
	expect((await post("retry_failed", { after: at(4) })).body).toEqual({ windows: 0, waiting: 1 });
	expect(await undelivered()).toMatchObject({ windows: 3 });
	expect(await post("retry_failed", { after: "yesterday" })).toMatchObject(
		wrong("invalid_input", expect.any(String), "after"),
	);
});

test("windows count no longer after somebody dismissed them; the runs stay, and can be retried", async () => {
	const { ended, post, undelivered, here, path, passOver } = await exporting();
	const id = await ended(1, "Failed");
	await ended(5, "Failed");
	await passOver();
	expect(await undelivered()).toMatchObject({ windows: 2 + 38, start_at: at(1), end_at: at(48) });
	const kept = { windows: 1 + 36, start_at: at(5) };
	const span = { before: at(5) };
	expect((await post("dismiss_failed", span)).body.undelivered).toMatchObject({ windows: 39 });
	const middle = { after: at(20), before: at(22) };
	expect((await post("dismiss_failed", middle)).body.undelivered).toMatchObject(kept);
	expect((await here("GET", `${path}/ranges`)).body.results).toMatchObject([
		{ start_at: at(22), end_at: at(48), dismissed: false },
		{ start_at: at(20), end_at: at(22), dismissed: true },
		{ start_at: at(10), end_at: at(20), dismissed: false },
	]);
	expect((await post("dismiss_failed")).body.undelivered).toBeNull();
	expect((await post("dismiss_failed")).status).toBe(200);
	const { results } = (await here("GET", "/activity_log?activity=windows_dismissed")).body;
	expect(results).toHaveLength(3);
	expect((await here("GET", `${path}/runs/${id}`)).body).toMatchObject({
		status: "Failed",
		dismissed: true,
	});
	expect((await here("GET", `${path}/runs?status=Failed`)).body.count).toBe(2);
	const retried = await here("POST", `${path}/runs/${id}/retry`);
	expect(retried.body).toMatchObject({ status: "Starting", dismissed: false });
});

test.each([
	["POST", "/unpause", {}],
	["PATCH", "", { paused: false }],
])(
	"windows that a pause passed over count until they are exported: %s %s",
	async (method, below, body) => {
		const { here, path, move, undelivered, post } = await exporting();
		await move({ paused: true, last_paused_at: at(10) });
		await here(method, `${path}${below}`, { body });
		const latest_error = "The export was paused.";
		const found = { windows: 38, start_at: at(10), end_at: at(48), latest_error };
		expect(await undelivered()).toEqual(found);
		const few = { after: at(10), before: at(12) };
		expect((await post("retry_failed", few)).body).toEqual({ windows: 2, waiting: 0 });
		expect(await undelivered()).toMatchObject({ windows: 36, start_at: at(12) });
		await eventually(async () => {
			const { results } = (await here("GET", `${path}/runs`)).body;
			const [run] = results;
			expect(results).toHaveLength(2);
			expect(run).toMatchObject({ status: "Completed", by: "arrival", backfill_id: null });
		});
		const range = { by: "arrival", start_at: at(12), end_at: at(48) };
		expect((await post("backfill", range)).body.undelivered).toBeNull();
		const backfills = (await here("GET", `${path}/backfills`)).body.results;
		expect(backfills).toMatchObject([{ total_runs: 36 }]);
	},
);

test("who unpauses and says that nobody needs the windows of the pause, isn't asked again", async () => {
	const { undelivered, passOver } = await exporting();
	await passOver({ backfill: false });
	expect(await undelivered()).toBeNull();
});

test("a backfill by event time delivers a failed window, if it is later", async () => {
	const { ended, undelivered } = await exporting();
	const backfill = { by: "event" as const, backfill_id: v7() };
	await ended(1, "Completed", backfill);
	await ended(1, "Failed");
	await ended(2, "Failed");
	await ended(2, "Completed", { ...backfill, backfill_id: v7() });
	expect(await undelivered()).toMatchObject({ windows: 1, start_at: at(1) });
	// One that fails counts itself.
	await ended(3, "Completed");
	await ended(3, "Failed", { ...backfill, backfill_id: v7() });
	expect(await undelivered()).toMatchObject({ windows: 2 });
});

test("who can't see the project doesn't find the export", async () => {
	const { ended, path, undelivered } = await exporting();
	await ended(1, "Failed");
	const { here: elsewhere } = await world();
	for (const operation of ["retry_failed", "dismiss_failed"])
		expect((await elsewhere("POST", `${path}/${operation}`)).status).toBe(404);
	expect(await undelivered()).toMatchObject({ windows: 1 });
});

test("what isn't delivered costs a list a few rows for each failed window, and none for the others", async () => {
	const read = async (completed: number, failed: number) => {
		const { ended, here } = await exporting();
		for (let hour = 0; hour < completed; hour += 1) await ended(hour, "Completed");
		for (let hour = 0; hour < failed; hour += 1) await ended(100 + hour, "Failed");
		const { read, trips } = cost(await here("GET", "/batch_exports"));
		expect(trips).toBe(1);
		return read;
	};
	const few = await read(20, 0);
	expect(await read(60, 0)).toBe(few);
	expect(await read(20, 10)).toBeLessThanOrEqual(few + 60);
});
