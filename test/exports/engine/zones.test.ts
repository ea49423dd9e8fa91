import { env } from "cloudflare:workers";
import { and, asc, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { batchExportRuns, batchExports } from "../../../src/db/schema/batch_exports.ts";
import { advanceBackfill } from "../../../src/exports/engine/backfill_runs.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { wrong } from "../../support/errors.ts";
import { eventually } from "../../support/time.ts";
import { db, rowIdOf, rowOf, world } from "../../support/world.ts";

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

const BERLIN = { interval: "day", time_zone: "Europe/Berlin", hour: 2 } as const;

/** Launches nothing, so that only the tick itself writes to the database. */
const still: Env = {
	...env,
	EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), { createBatch: async () => [] }),
};

async function exporting(fields: object = BERLIN) {
	const home = await world();
	const { here } = home;
	const destination = { type: "NoOp", config: {} };
	const { status, body } = await here("POST", "/batch_exports", {
		body: { name: "Export", destination, ...fields },
	});
	expect(status).toBe(201);
	const path = `/batch_exports/${body.id}`;
	/** Sets where the schedule has come. */
	const move = (set: Partial<typeof batchExports.$inferInsert>) =>
		db.update(batchExports).set(set).where(eq(batchExports.uuid, body.id));
	const windows = async () =>
		(
			await db
				.select({
					start: batchExportRuns.data_interval_start,
					end: batchExportRuns.data_interval_end,
				})
				.from(batchExportRuns)
				.where(and(eq(batchExportRuns.batch_export_id, rowOf(body.id))))
				.orderBy(asc(batchExportRuns.data_interval_end))
		).map(({ start, end }) => `${start.slice(5, 16)} ${end.slice(5, 16)}`);
	const stored = async () =>
		(await db.select().from(batchExports).where(eq(batchExports.uuid, body.id)))[0];
	return { ...home, path, made: body, move, windows, stored };
}

describe("a schedule in a time zone", () => {
	test("exports a local day of 25 hours as one window, however often a tick is repeated", async () => {
		const { move, windows, stored } = await exporting();
		await move({
			next_start_at: "2025-10-24T00:00:00.000Z",
			next_end_at: "2025-10-25T00:00:00.000Z",
			due_at: "2025-10-25T00:00:30.000Z",
		});
		const at = Date.parse("2025-10-27T12:00:00Z");
		await Promise.all([tick(still, at), tick(still, at)]);
		await tick(still, at);
		expect(await windows()).toEqual([
			"10-24T00:00 10-25T00:00",
			"10-25T00:00 10-26T00:00",
			"10-26T00:00 10-27T01:00",
		]);
		expect(await stored()).toMatchObject({
			next_start_at: "2025-10-27T01:00:00.000Z",
			next_end_at: "2025-10-28T01:00:00.000Z",
		});
	});

	test("is answered, copied and logged, and reset by an interval without one", async () => {
		const { here, path, made } = await exporting({
			...BERLIN,
			interval: "week",
			weekday: "sunday",
		});
		const zoned = { interval: "week", time_zone: "Europe/Berlin", hour: 2, weekday: "sunday" };
		expect(made).toMatchObject(zoned);
		const copy = await here("POST", `${path}/duplicate`);
		expect(copy.body).toMatchObject(zoned);
		const daily = await here("PATCH", path, { body: { interval: "day", hour: "23" } });
		expect(daily.body).toMatchObject({ ...zoned, interval: "day", hour: 23, weekday: null });
		const hourly = await here("PATCH", path, { body: { interval: "hour" } });
		expect(hourly.body).toMatchObject({ time_zone: null, hour: null, weekday: null });
		const { results } = (await here("GET", `/activity_log?item_id=${made.id}&activity=updated`))
			.body;
		const fields = results[0].detail.changes.map(({ field }: { field: string }) => field);
		expect(fields.sort()).toEqual(["hour", "interval", "time_zone"]);
	});

	test("can be handed over only to one with the same", async () => {
		const { here, path } = await exporting();
		const copies = [1, 2].map(async () => (await here("POST", `${path}/duplicate`)).body.id);
		const [copy, other] = await Promise.all(copies);
		await here("PATCH", `/batch_exports/${other}`, { body: { time_zone: "Europe/Paris" } });
		const detail = "The exports must have the same time zone, hour and weekday.";
		expect(await here("POST", `${path}/hand_over`, { body: { to: other } })).toMatchObject(
			wrong("invalid_input", detail, "to"),
		);
		const handed = await here("POST", `${path}/hand_over`, { body: { to: copy } });
		expect(handed).toMatchObject({ status: 200, body: { ...BERLIN, paused: false } });
	});

	test.each([
		[
			{ interval: "day", time_zone: "Mars/Olympus" },
			"time_zone",
			"Not a time zone. Use a name like Europe/Berlin.",
		],
		[
			{ interval: "day", time_zone: "+02:00" },
			"time_zone",
			"Not a time zone. Use a name like Europe/Berlin.",
		],
		[
			{ interval: "day", hour: 24 },
			"hour",
			"Ensure this value is less than or equal to 23.",
			"max_value",
		],
		[{ interval: "day", hour: 2.5 }, "hour", "A valid integer is required."],
		[
			{ interval: "week", weekday: "Montag" },
			"weekday",
			'"Montag" is not a valid choice.',
			"invalid_choice",
		],
		[
			{ interval: "day", weekday: "monday" },
			"weekday",
			"Only exports with the interval week have this field.",
		],
		[
			{ interval: "hour", hour: 1 },
			"hour",
			"Only exports with the interval day or week have this field.",
		],
		[
			{ interval: "every 5 minutes", time_zone: "UTC" },
			"time_zone",
			"Only exports with the interval day or week have this field.",
		],
	])("%o is a 400", async (fields, attr, detail, code = "invalid_input") => {
		const { here, path } = await exporting({ interval: "hour" });
		const destination = { type: "NoOp", config: {} };
		const body = { name: "Export", destination, ...fields };
		const expected = { status: 400, body: { attr, detail, code } };
		expect(await here("POST", "/batch_exports", { body })).toMatchObject(expected);
		expect(await here("PATCH", path, { body: fields })).toMatchObject(expected);
	});
});

describe("a change of the zone of an export that runs", () => {
	test("leaves no gap and repeats nothing, also if a tick and other changes race", async () => {
		const { here, path, move, windows, stored } = await exporting({ interval: "day" });
		const today = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR;
		await move({
			next_start_at: iso(today - 48 * HOUR),
			next_end_at: iso(today - 24 * HOUR),
			due_at: iso(today - 24 * HOUR + 30_000),
		});
		const zones = ["Asia/Kathmandu", "America/New_York", "Europe/Berlin"];
		await Promise.all([
			...zones.map((time_zone) => here("PATCH", path, { body: { time_zone } })),
			tick(still, Date.now()),
		]);
		await tick(still, Date.now() + 3 * HOUR);
		await here("PATCH", path, { body: { time_zone: null, hour: 5 } });
		await tick(still, Date.now() + 30 * HOUR);
		const all = await windows();
		const ends = all.map((window) => window.split(" "));
		expect(all.length).toBeGreaterThan(1);
		expect(ends[0]?.[0]).toBe(iso(today - 48 * HOUR).slice(5, 16));
		for (const [i, [, end]] of ends.entries()) expect(ends[i + 1]?.[0] ?? end).toBe(end);
		const last = await stored();
		expect(last?.next_start_at.slice(5, 16)).toBe(ends.at(-1)?.[1]);
		expect(last?.next_end_at.slice(10)).toBe("T05:00:00.000Z");
	});
});

describe("a backfill over a change of the clocks", () => {
	test("has a window for each local day, of events and by arrival", async () => {
		const { here, path, made, move, windows } = await exporting();
		await move({
			next_start_at: "2026-01-01T01:00:00.000Z",
			next_end_at: "2026-01-02T01:00:00.000Z",
		});
		const range = { start_at: "2025-03-29T02:00:00+01:00", end_at: "2025-04-01T02:00:00+02:00" };
		const { body } = await here("POST", `${path}/backfill`, { body: range });
		await eventually(async () => {
			const { status } = (await here("GET", `${path}/backfills/${body.backfill_id}`)).body;
			expect(status).toBe("Completed");
		});
		const days = ["03-29T01:00 03-30T01:00", "03-30T01:00 03-31T00:00", "03-31T00:00 04-01T00:00"];
		expect(await windows()).toEqual(days);
		const { total_runs } = (await here("GET", `${path}/backfills/${body.backfill_id}`)).body;
		expect(total_runs).toBe(3);
		const again = await here("POST", `${path}/backfill`, { body: { ...range, by: "arrival" } });
		await eventually(async () => {
			await advanceBackfill(db, {
				batch_export_id: await rowIdOf(made.id),
				id: again.body.backfill_id,
			});
			expect(await windows()).toEqual(days.flatMap((day) => [day, day]));
		});
	});
});

test("windows that weren't delivered are counted and retried as local days", async () => {
	const { here, path, move, windows } = await exporting();
	await move({
		paused: true,
		last_paused_at: "2025-10-24T12:00:00.000Z",
		next_start_at: "2025-10-24T00:00:00.000Z",
		next_end_at: "2025-10-25T00:00:00.000Z",
		end_at: "2025-10-28T12:00:00.000Z",
	});
	await here("POST", `${path}/unpause`);
	const { body } = await here("GET", path);
	expect(body.undelivered).toMatchObject({
		windows: 4,
		start_at: "2025-10-24T00:00:00.000Z",
		end_at: "2025-10-28T01:00:00.000Z",
	});
	const span = { after: "2025-10-25T12:00:00Z", before: "2025-10-26T12:00:00Z" };
	const retried = await here("POST", `${path}/retry_failed`, { body: span });
	expect(retried.body).toEqual({ windows: 2, waiting: 0 });
	expect(await windows()).toEqual(["10-25T00:00 10-26T00:00", "10-26T00:00 10-27T01:00"]);
	expect((await here("GET", path)).body.undelivered.windows).toBe(2);
	// The window around a time is found, although it ends at no boundary of UTC.
	const { body: found } = await here(
		"GET",
		`${path}/runs?starts_before=2025-10-26T12:00:00Z&after=2025-10-26T12:00:00Z`,
	);
	expect(found.results).toHaveLength(1);
});
