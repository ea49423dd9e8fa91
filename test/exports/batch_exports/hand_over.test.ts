import { eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { insertEach } from "../../../src/db/client.ts";
import {
	batchExportRanges,
	batchExportRuns,
	batchExports,
} from "../../../src/db/schema/batch_exports.ts";
import { eventually } from "../../support/time.ts";
import { addRuns, call, cost, db, LEASED, racing, world } from "../../support/world.ts";

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

const rowOf = (id: string) => sql<number>`(select id from batch_exports where uuid = ${id})`;

/** A range of an export that wasn't delivered, `hours` long. */
const missing = (id: string, hour: number, hours = 1) =>
	db.insert(batchExportRanges).values({
		batch_export_id: rowOf(id),
		...{ by: "arrival", start_at: at(hour), end_at: at(hour + hours), latest_error: "Paused." },
		...{ runs: 0, rows: 0, bytes: 0 },
	});

/** A scheduled run that waits for an earlier one, or has begun (`lease` is 1). */
const unfinished = (id: string, hour: number, lease: 0 | 1) =>
	addRuns(id, {
		...{ id: v7(), by: "arrival", lease, status: lease === 1 ? "Running" : "Starting" },
		...{ data_interval_start: at(hour), data_interval_end: at(hour + 1) },
		// Nothing launches it or takes it over.
		lease_expires_at: lease === 1 ? LEASED.lease_expires_at : null,
	});

const post = (home: Home, id: string, path: string, body: object = {}) =>
	home.here("POST", `/batch_exports/${id}/${path}`, { body });

/** Two exports of the same windows, which have come to hour 6. The second one is paused. */
async function pair() {
	const home = await world();
	const ids: string[] = [];
	for (const paused of [false, true]) {
		const { body } = await create(home, { paused });
		await move(body.id, 6);
		ids.push(body.id);
	}
	return { home, a: ids[0] ?? "", b: ids[1] ?? "" };
}

/** The starts of the windows that an export has delivered by arrival: one for each run. */
async function deliveredBy(...ids: string[]) {
	const runs = await db
		.select({ start: batchExportRuns.data_interval_start })
		.from(batchExportRuns)
		.where(
			sql`batch_export_id in (select id from batch_exports where uuid in (select value from json_each(${JSON.stringify(ids)})))
				and status = 'Completed' and data_interval_start < ${Date.parse(at(6))}`,
		);
	return runs.map(({ start }) => start).sort();
}

test("runs that wait for an earlier one, whose destination is down, become the copy's", async () => {
	const { home, a, b } = await pair();
	await unfinished(a, 1, 1);
	for (const hour of [2, 3, 4, 5]) await unfinished(a, hour, 0);
	const { body } = await post(home, a, "hand_over", { to: b });
	expect(body).toMatchObject({ undelivered: { windows: 4, start_at: at(2), end_at: at(6) } });
	expect((await post(home, b, "retry_failed")).body).toEqual({ windows: 4, waiting: 0 });
	await eventually(async () => expect(await deliveredBy(b)).toEqual([2, 3, 4, 5].map(at)));
	// The run that has begun stays, and nothing of the old one waits for ever.
	const { results } = (await home.here("GET", `/batch_exports/${a}/runs`)).body;
	expect(results.map(({ status }: { status: string }) => status)).toEqual([
		...["Cancelled", "Cancelled", "Cancelled", "Cancelled"],
		"Running",
	]);
});

test("a run that begins while its export is handed over stays", async () => {
	const { home, a, b } = await pair();
	for (const hour of [2, 3]) await unfinished(a, hour, 0);
	const begins = () =>
		db
			.update(batchExportRuns)
			.set({ lease: 1, ...LEASED })
			.where(sql`batch_export_id = ${rowOf(a)} and data_interval_start = ${Date.parse(at(2))}`);
	const { body } = await home.here("POST", `/batch_exports/${a}/hand_over`, {
		body: { to: b },
		env: racing(begins),
	});
	expect(body.undelivered).toMatchObject({ windows: 1, start_at: at(3) });
});

test.each(["organizations", "projects"])("%s/@current is a base too", async (base) => {
	const { home, a, b } = await pair();
	await ended(a, 1, "Failed", "arrival");
	const { status, body } = await call(
		"POST",
		`/api/${base}/@current/batch_exports/${a}/hand_over`,
		{
			key: home.key,
			body: { to: b },
		},
	);
	expect([status, body.undelivered?.windows]).toEqual([200, 1]);
});

test("windows that cross those of earlier runs need another copy", async () => {
	const { home, a, b } = await pair();
	await ended(a, 2, "Failed", "arrival");
	await addRuns(b, {
		...{ id: v7(), by: "arrival", status: "Failed", dismissed: true, finished_at: at(4) },
		...{ data_interval_start: at(1), data_interval_end: at(3), ...LEASED },
	});
	expect(await post(home, a, "hand_over", { to: b })).toMatchObject({
		status: 400,
		body: { attr: "to", detail: expect.stringContaining("Duplicate this one again.") },
	});
});

test.each([1, 2])(
	"a failed window comes back, and is exported after %i more moves",
	async (more) => {
		const { home, a, b } = await pair();
		await ended(a, 1, "Failed", "arrival");
		// Several ranges apart from each other.
		await missing(a, 3);
		await missing(a, 5);
		let [from, to] = [a, b];
		for (let i = 0; i <= more; i += 1) {
			expect((await post(home, from, "hand_over", { to })).body.undelivered).toMatchObject({
				windows: 3,
			});
			expect((await home.here("GET", `/batch_exports/${from}`)).body.undelivered).toBeNull();
			[from, to] = [to, from];
		}
		expect((await post(home, to, "retry_failed")).body).toEqual({ windows: 0, waiting: 0 });
		expect((await post(home, from, "retry_failed")).body).toEqual({ windows: 3, waiting: 0 });
		await eventually(async () => expect(await deliveredBy(a, b)).toEqual([1, 3, 5].map(at)));
		expect((await home.here("GET", `/batch_exports/${from}`)).body.undelivered).toBeNull();
	},
);

test("failed backfills by event time don't crowd out failed runs by arrival", async () => {
	const { home, a, b } = await pair();
	const [{ row_id } = { row_id: 0 }] = await db.all<{ row_id: number }>(
		sql`select ${rowOf(a)} as row_id`,
	);
	const rows = Array.from({ length: 510 }, () => ({
		...{ id: v7(), batch_export_id: row_id, by: "event" as const, backfill_id: v7() },
		...{ data_interval_start: at(2), data_interval_end: at(3), finished_at: at(4) },
		status: "Failed" as const,
	}));
	await db.batch([
		insertEach(db, batchExportRuns, { rows }),
		db.update(batchExports).set({ runs: rows.length }).where(eq(batchExports.uuid, a)),
	]);
	await ended(a, 1, "Failed", "arrival");
	const { body } = await post(home, a, "hand_over", { to: b });
	expect(body.undelivered).toMatchObject({ windows: 1, start_at: at(1) });
});

/** Numbers from a seed, each below a limit. */
function numbers(seed: number) {
	let state = seed;
	return (limit: number) => {
		state = (state * 1664525 + 1013904223) % 2 ** 32;
		return Math.floor((state / 2 ** 32) * limit);
	};
}

const HOURS = [0, 1, 2, 3, 4, 5];

/** Returns the hours of the windows that an export names as not delivered. */
async function namedBy(id: string) {
	const rows = await db.all<{ start_at: number; end_at: number }>(sql`
		select data_interval_start as start_at, data_interval_end as end_at from batch_export_runs
			where batch_export_id = ${rowOf(id)} and status in ('Failed', 'FailedRetryable') and not dismissed
		union all select start_at, end_at from batch_export_ranges
			where batch_export_id = ${rowOf(id)} and latest_error is not null and not dismissed`);
	return rows.flatMap(({ start_at, end_at }) =>
		HOURS.filter((hour) => Date.parse(at(hour)) >= start_at && Date.parse(at(hour)) < end_at),
	);
}

test.each([1, 2, 3, 4, 5, 6])(
	"after any moves, each window is delivered once (%i)",
	async (seed) => {
		const { home, a, b } = await pair();
		const below = numbers(seed);
		/** The windows that a person dismissed: nobody delivers them. */
		const dismissed = new Set<number>();
		/** The windows that nobody has delivered. */
		const open = new Set<number>();
		for (const hour of HOURS) {
			const kind = below(4);
			if (kind === 0) await ended(a, hour, "Failed", "arrival");
			if (kind === 1) await missing(a, hour);
			if (kind === 2) await unfinished(a, hour, 0);
			if (kind === 3) await ended(a, hour, "Completed", "arrival");
			else open.add(hour);
		}
		let [from, to] = [a, b];
		for (let moves = 0; moves < 3; moves += 1) {
			expect((await post(home, from, "hand_over", { to })).status).toBe(200);
			expect(await namedBy(from)).toEqual([]);
			expect((await namedBy(to)).sort()).toEqual([...open].sort());
			[from, to] = [to, from];
			const chosen = [...open][below(open.size + 1)];
			if (chosen === undefined) continue;
			const span = { after: at(chosen), before: at(chosen + 1) };
			if (below(2) === 0) {
				await post(home, from, "dismiss_failed", span);
				dismissed.add(chosen);
			} else {
				await post(home, from, "retry_failed", span);
				await eventually(async () => expect(await deliveredBy(from)).toContain(at(chosen)));
			}
			open.delete(chosen);
		}
		for (const id of [a, b]) await post(home, id, "retry_failed");
		const due = HOURS.filter((hour) => !dismissed.has(hour)).map(at);
		await eventually(async () => expect(await deliveredBy(a, b)).toEqual(due));
		expect([...(await namedBy(a)), ...(await namedBy(b))]).toEqual([]);
	},
);
