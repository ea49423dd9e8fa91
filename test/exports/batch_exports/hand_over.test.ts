import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { batchExports } from "../../../src/db/schema/batch_exports.ts";
import { eventually } from "../../support/time.ts";
import { addRuns, cost, db, LEASED, world } from "../../support/world.ts";

const HOUR = 3_600_000;
/** The first of the windows in the tests, of which the last one that matters has long been due. */
const first = Math.floor(Date.now() / HOUR - 0.25) * HOUR - 6 * HOUR;
const at = (hours: number) => new Date(first + hours * HOUR).toISOString();

type Home = Awaited<ReturnType<typeof world>>;

const create = (home: Home, body: object = {}) =>
	home.here("POST", "/batch_exports", {
		body: { name: "Orders", interval: "hour", destination: { type: "NoOp", config: {} }, ...body },
	});

const move = (id: string, hour: number) =>
	db
		.update(batchExports)
		.set({
			next_start_at: at(hour),
			next_end_at: at(hour + 1),
			due_at: "9999-01-01T00:00:00.000Z",
		})
		.where(eq(batchExports.uuid, id));

const ended = (id: string, hour: number, status: "Failed" | "Completed", by: "arrival" | "event") =>
	addRuns(id, {
		id: v7(),
		by,
		...(by === "event" && { backfill_id: v7() }),
		data_interval_start: at(hour),
		data_interval_end: at(hour + 1),
		finished_at: at(hour + 2),
		status,
		latest_error: status === "Failed" ? "No route." : null,
		...LEASED,
	});

/** An export that has come to hour 4, and its paused copy, made when it had come to hour 3. */
async function moving() {
	const home = await world();
	const { body: old } = await create(home);
	await move(old.id, 3);
	const path = `/batch_exports/${old.id}`;
	const destination = { type: "R2", config: { prefix: v7() } };
	const { status, body: copy } = await home.here("POST", `${path}/duplicate`, {
		body: { name: "Orders to R2", destination },
	});
	expect([status, copy.destination]).toMatchObject([201, destination]);
	await ended(old.id, 0, "Completed", "arrival");
	await ended(old.id, 1, "Failed", "arrival");
	await ended(old.id, 2, "Failed", "event");
	await ended(old.id, 2, "Completed", "arrival");
	await ended(old.id, 3, "Completed", "arrival");
	await move(old.id, 4);
	return {
		...home,
		old: `/batch_exports/${old.id}`,
		copy: `/batch_exports/${copy.id}`,
		handOver: (to: unknown = copy.id) =>
			home.here("POST", `/batch_exports/${old.id}/hand_over`, { body: { to } }),
		/** The windows that an export has delivered by arrival, oldest first. */
		async delivered(path: string) {
			const { results } = (await home.here("GET", `${path}/runs?status=Completed`)).body;
			return results
				.map((run: { data_interval_start: string }) => run.data_interval_start)
				.filter((start: string) => start < at(6))
				.sort() as string[];
		},
	};
}

test("a copy of another type continues where the export stops, and takes over what it hasn't delivered", async () => {
	const { here, old, copy, handOver, delivered } = await moving();
	const answer = await handOver();
	const { status, body } = answer;
	expect(cost(answer)).toMatchObject({ trips: 2, written: expect.closeTo(22, -1) });
	expect([status, body]).toMatchObject([
		200,
		{ name: "Orders to R2", paused: false, undelivered: { windows: 1, start_at: at(1) } },
	]);
	expect(body.undelivered.latest_error).toBe("Not delivered by “Orders”: No route.");
	expect((await here("GET", old)).body).toMatchObject({
		paused: true,
		pause_note: "Moved to “Orders to R2”.",
		// A backfill by event time has other rows.
		undelivered: { windows: 1, start_at: at(2) },
	});
	expect((await here("POST", `${copy}/retry_failed`)).body).toEqual({ windows: 1, waiting: 0 });
	// Each window is delivered by one of them.
	await eventually(async () => expect(await delivered(copy)).toEqual([1, 4, 5].map(at)));
	expect(await delivered(old)).toEqual([at(0), at(2), at(3)]);
	expect((await here("GET", copy)).body.undelivered).toBeNull();
	const { results } = (await here("GET", "/activity_log?scope=BatchExport&limit=3")).body;
	const shown = results.map(({ activity, item_id }: Record<string, string>) => [activity, item_id]);
	expect(shown).toContainEqual(["paused", old.split("/").at(-1)]);
	expect(shown).toContainEqual(["unpaused", copy.split("/").at(-1)]);
});

test("of two requests that hand over at once, or retry the windows meanwhile, one delivers each window", async () => {
	const { here, old, copy, handOver, delivered } = await moving();
	const answers = await Promise.all([handOver(), handOver(), here("POST", `${old}/retry_failed`)]);
	const [one, two, retried] = answers.map(({ status }) => status);
	expect([one, two].sort()).toEqual([200, 400]);
	expect(retried).toBe(202);
	await here("POST", `${copy}/retry_failed`);
	await eventually(async () =>
		expect([...(await delivered(old)), ...(await delivered(copy))].sort()).toEqual(
			// Hour 2 twice: what arrived in it, and perhaps what happened in it.
			expect.arrayContaining([0, 1, 2, 3, 4, 5].map(at)),
		),
	);
	const found = [...(await delivered(old)), ...(await delivered(copy))].filter(
		(start) => start !== at(2),
	);
	expect(found.sort()).toEqual([0, 1, 3, 4, 5].map(at));
});

test("only an export that can continue takes over; otherwise nothing changes", async () => {
	const home = await moving();
	const { here, handOver, old, copy } = home;
	const other = async (body: object) => (await create(home, { paused: true, ...body })).body.id;
	const stranger = await create(await world(), { paused: true });
	for (const to of [
		old.split("/").at(-1),
		await other({ interval: "day" }),
		await other({ model: "persons" }),
		// It has come further.
		await other({}),
		await other({ paused: false }),
		stranger.body.id,
		v7(),
		"x",
		null,
		2 ** 53,
	])
		expect(await handOver(to)).toMatchObject({ status: 400, body: { attr: "to" } });
	expect((await here("GET", old)).body).toMatchObject({ paused: false });
	await here("DELETE", copy);
	expect(await handOver()).toMatchObject({ status: 400, body: { code: "does_not_exist" } });
	const [row] = await db
		.select({ paused: batchExports.paused })
		.from(batchExports)
		.where(sql`uuid = ${old.split("/").at(-1)}`);
	expect(row?.paused).toBe(false);
});

test("another type needs all its settings", async () => {
	const { here, old } = await moving();
	const duplicate = (destination: object) =>
		here("POST", `${old}/duplicate`, { body: { destination } });
	expect((await duplicate({ type: "S3", config: { prefix: "a" } })).status).toBe(400);
	expect((await duplicate({ type: "Nowhere" })).status).toBe(400);
	const { status, body } = await duplicate({ type: "HTTP", config: { url: "https://a.example/" } });
	expect([status, body.destination.type]).toEqual([201, "HTTP"]);
});
