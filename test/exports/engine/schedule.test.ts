import { env } from "cloudflare:workers";
import { and, asc, eq, isNull, sql, sum } from "drizzle-orm";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import {
	batchExportBackfills,
	batchExportRuns,
	batchExports,
} from "../../../src/db/schema/batch_exports.ts";
import { organizationId } from "../../../src/db/schema/organizations.ts";
import { runDueExports as tick } from "../../../src/exports/engine/schedule.ts";
import { metered } from "../../support/events.ts";
import { logOfExport, storedEntries } from "../../support/logs.ts";
import { systemEvents } from "../../support/system_events.ts";
import {
	addBackfills,
	addRuns,
	db,
	LEASED,
	rowIdOf,
	rowOf,
	weighing,
	world,
} from "../../support/world.ts";

const HOUR = 3_600_000;

/** When every delay has passed. */
const LATE_MS = 6 * 60_000;

/**
 * The last full hour that is late already. Otherwise, a tick that is late would be in the future,
 * where a run that was launched just now seems to be lost.
 */
const hour = Math.floor((Date.now() - LATE_MS) / HOUR) * HOUR;
const iso = (at: number) => new Date(at).toISOString();
/** The advice about seven windows that are skipped. */
const HOW = `Export what arrived in this range with a backfill by arrival: {"by":"arrival","start_at":"${iso(hour - 31 * HOUR)}","end_at":"${iso(hour - 24 * HOUR)}"}.`;
const late = (at: number) => at + LATE_MS;

/** Inserts an hourly export whose next window ends at `next`. */
async function due(next = hour, row: Partial<typeof batchExports.$inferInsert> = {}) {
	const home = await world();
	const { uuid: id = v7() } = row;
	await db.insert(batchExports).values({
		uuid: id,
		organization_id: organizationId(home.id),
		project_id: home.project,
		name: "Export",
		destination: { type: "NoOp", config: {} },
		interval: "hour",
		next_start_at: iso(next - HOUR),
		next_end_at: iso(next),
		due_at: iso(next + 30_000),
		...row,
	});
	const runs = () =>
		db
			.select()
			.from(batchExportRuns)
			.where(eq(batchExportRuns.batch_export_id, rowOf(id)))
			.orderBy(asc(batchExportRuns.id));
	return { ...home, export_id: id, runs };
}

/** Launches nothing, so that only the tick itself writes to the database. */
const still: Env = {
	...env,
	EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), {
		createBatch: async () => [],
	}),
};

describe("a tick", () => {
	test("inserts the run of a window that is due once, however often it is repeated", async () => {
		const { runs, export_id } = await due();
		await tick(still, late(hour));
		await Promise.all([tick(still, late(hour)), tick(still, late(hour))]);
		expect(await runs()).toMatchObject([
			{
				data_interval_start: iso(hour - HOUR),
				data_interval_end: iso(hour),
				backfill_id: null,
			},
		]);
		const [row] = await db.select().from(batchExports).where(eq(batchExports.uuid, export_id));
		expect(row?.next_end_at).toBe(iso(hour + HOUR));
	});

	test("inserts no run twice if another tick runs between its read and its write", async () => {
		const { runs } = await due(hour - HOUR);
		let met = false;
		const DB = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query),
			batch: async (statements: D1PreparedStatement[]) => {
				if (!met) {
					met = true;
					await tick(still, late(hour));
				}
				return env.DB.batch(statements);
			},
		});
		await tick({ ...still, DB }, late(hour));
		expect(met).toBe(true);
		expect((await runs()).map((run) => run.data_interval_end)).toEqual([
			iso(hour - HOUR),
			iso(hour),
		]);
	});

	test("inserts no run before the window's delay has passed", async () => {
		const { runs } = await due();
		await tick(still, hour);
		expect(await runs()).toEqual([]);
	});

	test("inserts the run of a window at the exact end of its delay", async () => {
		// An id with this end has the shortest delay, which `due` uses.
		const id = `${v7().slice(0, -8)}00000000`;
		const { runs } = await due(hour, { uuid: id });
		await tick(still, hour + 29_999);
		expect(await runs()).toEqual([]);
		await tick(still, hour + 30_000);
		expect(await runs()).toHaveLength(1);
	});

	test.each([
		["paused", { paused: true }],
		["deleted", { deleted: true }],
		["over", { due_at: "9999-12-31T23:59:59.999Z" }],
	])("inserts no run of an export that is %s", async (_, row) => {
		const { runs } = await due(hour, row);
		await tick(still, late(hour));
		expect(await runs()).toEqual([]);
	});

	test("after downtime catches up the newest 24 windows, oldest first, and logs how many were skipped", async () => {
		const { runs, export_id } = await due(hour - 30 * HOUR);
		await tick(still, late(hour));
		const ends = (await runs()).map((run) => run.data_interval_end);
		expect(ends).toHaveLength(24);
		expect(ends[0]).toBe(iso(hour - 23 * HOUR));
		expect(ends.at(-1)).toBe(iso(hour));
		expect([...ends].sort()).toEqual(ends);
		const [entry] = await storedEntries(export_id);
		expect(entry).toMatchObject({
			level: "WARNING",
			message: `Skipped: 7 windows, from ${iso(hour - 31 * HOUR)} to ${iso(hour - 24 * HOUR)}. At most 24 missed windows are caught up. ${HOW}`,
		});
	});

	test("writes one event for all windows that are skipped, however many, and however many ticks race", async () => {
		const { export_id, id, project } = await due(hour - 30 * HOUR);
		await Promise.all([tick(still, late(hour)), tick(still, late(hour))]);
		await tick(still, late(hour));
		expect(await systemEvents(id)).toEqual([
			{
				type: "batch_export_run.skipped",
				item_id: export_id,
				project_id: project,
				name: "Export",
				changes: [],
				trigger: {
					batch_export_id: export_id,
					windows: 7,
					data_interval_start: iso(hour - 31 * HOUR),
					data_interval_end: iso(hour - 24 * HOUR),
					error: "At most 24 missed windows are caught up.",
					next_step: HOW,
				},
			},
		]);
	});

	test("launches the runs of one export one after another", async () => {
		const { runs } = await due(hour - 2 * HOUR);
		await tick(still, late(hour));
		const launched = async () => (await runs()).map((run) => run.lease_expires_at !== null);
		expect(await launched()).toEqual([true, false, false]);
		const [first] = await runs();
		await db
			.update(batchExportRuns)
			.set({ status: "Completed", finished_at: iso(Date.now()) })
			.where(eq(batchExportRuns.id, first?.id ?? ""));
		await tick(still, late(hour));
		expect(await launched()).toEqual([true, true, false]);
	});

	test("launches only retries of a paused export", async () => {
		const { runs, export_id } = await due(hour - HOUR);
		await tick(still, late(hour));
		const [first] = await runs();
		const ended = eq(batchExportRuns.id, first?.id ?? "");
		await db.batch([
			db.update(batchExports).set({ paused: true }).where(eq(batchExports.uuid, export_id)),
			db
				.update(batchExportRuns)
				.set({ status: "Failed", finished_at: iso(Date.now()) })
				.where(ended),
		]);
		const launched = async () => (await runs()).map((run) => run.lease_expires_at !== null);
		await tick(still, late(hour));
		expect(await launched()).toEqual([true, false]);
		await db
			.update(batchExportRuns)
			.set({ status: "Starting", finished_at: null, lease_expires_at: null })
			.where(ended);
		await tick(still, late(hour));
		expect(await launched()).toEqual([true, false]);
		expect((await runs())[0]?.lease).toBe(2);
	});

	/** A run that was launched, and a function that ticks later. */
	async function begun() {
		const { runs } = await due();
		await tick(still, late(hour));
		const [run] = await runs();
		if (!run) throw new Error("There is no run.");
		const set = (values: Partial<typeof batchExportRuns.$inferInsert>) =>
			db
				.update(batchExportRuns)
				.set({ last_updated_at: iso(Date.now()), ...values })
				.where(eq(batchExportRuns.id, run.id));
		/** The number of the attempt after a tick this many seconds later. */
		const attemptIn = async (seconds: number, more: Partial<Env> = {}) => {
			await tick({ ...still, ...more }, Date.now() + seconds * 1000);
			return (await runs())[0]?.lease;
		};
		return { set, attemptIn };
	}

	test("launches another attempt of a run that misses two heartbeats", async () => {
		const { set, attemptIn } = await begun();
		await set({ status: "Running" });
		expect(await attemptIn(20)).toBe(1);
		expect(await attemptIn(31)).toBe(2);
	});

	test("doesn't launch a run that is waiting for its next try", async () => {
		const { set, attemptIn } = await begun();
		await set({ status: "Running", lease_expires_at: iso(Date.now() + 145_000) });
		expect(await attemptIn(100)).toBe(1);
		expect(await attemptIn(140)).toBe(1);
		expect(await attemptIn(155)).toBe(2);
	});

	test("launches a run that has not started again, but waits five minutes while instances are queued", async () => {
		const { set, attemptIn } = await begun();
		await set({ status: "Starting" });
		let status = "queued";
		const EXPORT_RUNS: Workflow = Object.assign(Object.create(still.EXPORT_RUNS), {
			get: async () => ({ status: async () => ({ status }) }),
			createBatch: async () => [],
		});
		expect(await attemptIn(60, { EXPORT_RUNS })).toBe(1);
		expect(await attemptIn(301, { EXPORT_RUNS })).toBe(2);
		await set({ status: "Starting" });
		status = "running";
		expect(await attemptIn(31, { EXPORT_RUNS })).toBe(3);
	});

	test("leaves a run waiting if it can't be launched", async () => {
		const { runs } = await due();
		const broken: Env = {
			...env,
			EXPORT_RUNS: Object.assign(Object.create(env.EXPORT_RUNS), {
				createBatch: async () => {
					throw new Error("Too many.");
				},
			}),
		};
		await tick(broken, late(hour));
		expect(await runs()).toMatchObject([{ lease_expires_at: null, lease: 1 }]);
		await tick(still, late(hour));
		expect(await runs()).toMatchObject([{ lease_expires_at: expect.any(String), lease: 2 }]);
	});

	test("adds the next run of a stalled backfill, and completes one that has no more runs", async () => {
		const { export_id, project, runs } = await due(hour, { paused: true });
		const id = v7();
		await addBackfills(export_id, {
			id,
			project_id: project,
			interval: "hour",
			start_at: "2026-01-01T00:30:00.000Z",
			end_at: "2026-01-01T02:45:00.000Z",
			total_runs: 2,
		});
		const end = () =>
			db
				.update(batchExportRuns)
				.set({ status: "Failed", finished_at: iso(Date.now()) })
				.where(and(eq(batchExportRuns.backfill_id, id), isNull(batchExportRuns.finished_at)));
		for (const windows of [1, 2, 2]) {
			await Promise.all([tick(still, late(hour)), tick(still, late(hour))]);
			expect(await runs()).toHaveLength(windows);
			await end();
		}
		expect((await runs()).map((run) => run.data_interval_end)).toEqual([
			"2026-01-01T01:30:00.000Z",
			"2026-01-01T02:30:00.000Z",
		]);
		const [row] = await db
			.select()
			.from(batchExportBackfills)
			.where(eq(batchExportBackfills.id, id));
		expect(row).toMatchObject({
			status: "Completed",
			finished_runs: 2,
			failed_runs: 2,
		});
	});

	test("adds the next run of a stalled backfill, however many others fail each time", async () => {
		const log = vi.spyOn(console, "error").mockReturnValue();
		const { export_id, project, runs } = await due(hour, { paused: true });
		const id = v7();
		const backfill = {
			project_id: project,
			interval: "hour" as const,
			end_at: "2026-01-01T02:45:00.000Z",
			total_runs: 2,
		};
		const failing = Array.from({ length: 25 }, () => ({
			...backfill,
			id: v7(),
			// Before `end_at`, as text.
			start_at: "(never)",
		}));
		for (const one of failing) await addBackfills(export_id, one);
		await addBackfills(export_id, { ...backfill, id, start_at: "2026-01-01T00:30:00.000Z" });
		await db
			.update(batchExportBackfills)
			.set({ last_updated_at: sql`iif(id = ${id}, ${iso(hour)}, ${iso(hour - HOUR)})` })
			.where(eq(batchExportBackfills.batch_export_id, rowOf(export_id)));
		await tick(still, late(hour));
		expect(await runs()).toEqual([]);
		await tick(still, late(hour));
		expect((await runs()).map(({ backfill_id }) => backfill_id)).toEqual([id]);
		expect(log).toHaveBeenCalledTimes(25 + 24);
		log.mockRestore();
		// Other tests don't use them.
		await db.update(batchExports).set({ deleted: true }).where(eq(batchExports.uuid, export_id));
	});

	test.each([
		["paused", { paused: true }],
		["given another interval", { interval: "every 5 minutes" as const }],
		["given an end", { due_at: "9999-12-31T23:59:59.999Z" }],
	])("doesn't change the schedule of an export that is %s meanwhile", async (_, change) => {
		const { runs, export_id } = await due();
		const id = eq(batchExports.uuid, export_id);
		let met = false;
		const DB = Object.assign(Object.create(env.DB), {
			prepare: (query: string) => env.DB.prepare(query),
			batch: async (statements: D1PreparedStatement[]) => {
				if (!met) await db.update(batchExports).set(change).where(id);
				met = true;
				return env.DB.batch(statements);
			},
		});
		await tick({ ...still, DB }, late(hour));
		expect(met).toBe(true);
		expect(await runs()).toEqual([]);
		const [row] = await db.select().from(batchExports).where(id);
		expect(row?.next_end_at).toBe(iso(hour));
		// Other tests don't use it.
		await db.update(batchExports).set({ deleted: true }).where(id);
	});

	test("reads only rows that need work", async () => {
		const { export_id } = await due(hour, { paused: true });
		await db.run(`insert into batch_export_runs
			(id, batch_export_id, data_interval_start, data_interval_end, status, lease, created_at, finished_at, last_updated_at)
			with recursive n (i) as (select 0 union all select i + 1 from n where i < 9999)
			select '${export_id}-' || i, ${await rowIdOf(export_id)}, i, i, 'Completed', 1, ${hour}, ${hour}, ${hour} from n`);
		await db.update(batchExports).set({ runs: 10_000 }).where(eq(batchExports.uuid, export_id));
		const { spent, db: DB } = metered();
		await tick({ ...still, DB }, late(hour));
		expect(spent.read).toBeLessThan(1000);
	});

	test("removes old rows before it waits for a bucket that doesn't respond", async () => {
		const { export_id } = await due(hour, {
			destination: { type: "R2", config: { prefix: "out" } },
			paused: true,
		});
		await addRuns(export_id, {
			data_interval_start: iso(hour - HOUR),
			data_interval_end: iso(hour),
			status: "Cancelled",
			finished_at: iso(hour),
			state: { uploads: [{ id: "x", mark: "x", parts: [] }] },
		});
		await logOfExport(export_id, { timestamp: iso(Date.now() - 8 * 24 * HOUR) });
		const left: number[] = [];
		const EXPORTS: R2Bucket = Object.assign(Object.create(env.EXPORTS), {
			get: (key: string) => env.EXPORTS.get(key),
			resumeMultipartUpload: () => ({
				abort: async () => {
					left.push((await storedEntries(export_id)).length);
				},
			}),
		});
		await tick({ ...still, EXPORTS }, Date.now() + 2 * 60_000);
		expect(left).toEqual([0]);
	});

	test("keeps deleted exports whose runs haven't ended, or have an upload that must be removed", async () => {
		const { export_id, runs } = await due(hour, { paused: true });
		await db.update(batchExports).set({ deleted: true }).where(eq(batchExports.uuid, export_id));
		const run = (end: number) => ({
			data_interval_start: iso(end - HOUR),
			data_interval_end: iso(end),
		});
		const ended = { status: "Cancelled", finished_at: iso(hour) } as const;
		const [upload, running] = [v7(), v7()];
		await addRuns(export_id, { ...run(hour), ...ended, id: upload, state: { uploads: [] } });
		await addRuns(export_id, {
			...run(hour - HOUR),
			id: running,
			status: "Running",
			...LEASED,
		});
		await addRuns(export_id, { ...run(hour - 2 * HOUR), ...ended });
		const later = Date.now() + 8 * 24 * HOUR;
		await tick(still, later);
		expect((await runs()).map(({ id }) => id).toSorted()).toEqual([upload, running].toSorted());
		// The first tick has removed the upload.
		for (let i = 0; i < 2; i += 1) await tick(still, later);
		expect((await runs()).map(({ id }) => id)).toEqual([running]);
		await db.update(batchExportRuns).set(ended).where(eq(batchExportRuns.id, running));
		for (let i = 0; i < 2; i += 1) await tick(still, later);
		expect(await runs()).toEqual([]);
		const its = eq(batchExports.uuid, export_id);
		expect(await db.select().from(batchExports).where(its)).toEqual([]);
	});

	test("removes the runs of exports that can't be restored, and the exports with their log after seven days", async () => {
		const { export_id, runs } = await due(hour, { paused: true });
		await addRuns(export_id, {
			data_interval_start: iso(hour - HOUR),
			data_interval_end: iso(hour),
			status: "Completed",
			finished_at: iso(hour),
		});
		await logOfExport(export_id, {});
		await db.update(batchExports).set({ deleted: true }).where(eq(batchExports.uuid, export_id));
		const left = async () =>
			(
				await db
					.select({ id: batchExports.id })
					.from(batchExports)
					.where(eq(batchExports.uuid, export_id))
			).length;
		await tick(still, Date.now() + 6 * 24 * HOUR);
		expect([await left(), (await runs()).length]).toEqual([1, 0]);
		for (let i = 0; i < 2; i += 1) await tick(still, Date.now() + 8 * 24 * HOUR);
		expect([await left(), (await runs()).length]).toEqual([0, 0]);
	});
});

test("after downtime no value is too large for D1, however many exports missed the maximum number of windows", async () => {
	const home = await world();
	const n = 600;
	await db.run(
		`insert into batch_exports (uuid, organization_id, project_id, name, destination, interval, created_at, last_updated_at, next_start_at, next_end_at, due_at)
		with recursive n(i) as (select 0 union all select i + 1 from n where i < ${n - 1})
		select printf('%08x-0001-7000-8000-%012x', ${home.project}, i), ${home.organization_id}, ${home.project}, 'Export',
			'{"type":"NoOp","config":{}}', 'hour', '${iso(hour)}', '${iso(hour)}', '${iso(hour - 41 * HOUR)}', '${iso(hour - 40 * HOUR)}', '${iso(hour - 40 * HOUR)}' from n`,
	);
	const { env: light, heaviest } = weighing();
	await tick({ ...still, ...light }, late(hour));
	expect(heaviest()).toBeLessThan(2_000_000);
	const [row] = await db
		.select({ runs: sum(batchExports.runs) })
		.from(batchExports)
		.where(eq(batchExports.project_id, home.project));
	expect(Number(row?.runs)).toBe(24 * n);
});
