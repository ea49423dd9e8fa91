import type { BatchExport, BatchExportRange, BatchExportRun } from "tenantry-client";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
	knownOf,
	lanesOf,
	lateness,
	rangeOf,
} from "../../packages/console/src/pages/batch_exports/timeline_lanes.ts";
import { fromLocal, toLocal } from "../../packages/console/src/ui/moments.ts";
import { inUtc } from "../../src/exports/engine/grid.ts";
import { at, exportWith, HOUR_MS, runOf } from "./support/exports.ts";

afterEach(() => {
	vi.unstubAllEnvs();
});

describe("the lanes of a timeline", () => {
	const NOW = Date.parse(at(12.5));

	const runs = (...hours: number[]) => hours.map((hour) => runOf(hour));

	const range = (from: number, to: number, more: Partial<BatchExportRange> = {}) => ({
		start_at: at(from),
		end_at: at(to),
		by: "arrival" as const,
		latest_error: null,
		dismissed: false,
		runs: to - from,
		rows: 0,
		bytes: 0,
		...more,
	});

	/**
	 * What the lanes have: a run as its hour, a gap as its hours, a range of old runs with a word.
	 */
	const shown = (
		of: BatchExport,
		found: BatchExportRun[],
		windows = 24,
		old: BatchExportRange[] = [],
	) =>
		lanesOf(of, { runs: found, ranges: old }, rangeOf(inUtc("hour"), windows, NOW), NOW).map(
			({ name, entries }) => [
				name,
				...entries.map(({ kind, start, end }) => {
					const [from, to] = [start, end].map((moment) => new Date(moment).getUTCHours());
					if (kind === "run") return from;
					return kind === "gap" ? `${from} to ${to}` : `delivered ${from} to ${to}`;
				}),
			],
		);

	test("have the runs of backfills by arrival where the schedule's are missing", () => {
		const filled = runOf(4, { backfill_id: "one", by: "arrival" });
		expect(shown(exportWith(), [...runs(1, 2, 3, 5, 6, 7, 8, 9, 10, 11), filled])).toEqual([
			["Scheduled", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
		]);
	});

	test("have runs in the order of their windows, and gaps since the export began", () => {
		expect(shown(exportWith(), runs(5, 2, 1, 8, 9, 10, 11))).toEqual([
			["Scheduled", 1, 2, "3 to 5", 5, "6 to 8", 8, 9, 10, 11],
		]);
		expect(shown(exportWith(), runs(9, 11), 4)).toEqual([["Scheduled", 9, "10 to 11", 11]]);
	});

	test("have no gap where runs weren't loaded", () => {
		const range = rangeOf(inUtc("hour"), 24, NOW);
		const newest = runs(11, 8, 7);
		expect(knownOf(range, newest, false)).toEqual(range);
		const known = knownOf(range, newest, true);
		expect(known).toEqual({ start: Date.parse(at(8)), end: range.end });
		const [lane] = lanesOf(exportWith(), { runs: newest, ranges: [] }, known, NOW);
		expect(lane?.entries).toMatchObject([{ kind: "run" }, { windows: 2 }, { kind: "run" }]);
		// All that was loaded ends after the range.
		expect(knownOf({ start: 0, end: HOUR_MS }, newest, true).start).toBe(HOUR_MS);
	});

	test("have no gap where no run is due: before start_at, after end_at, and while a run may still start", () => {
		const of = exportWith({ start_at: at(3.5), end_at: at(9) });
		expect(shown(of, runs(4, 5))).toEqual([["Scheduled", "3 to 4", 4, 5, "6 to 9"]]);
		// The first window is the one that ends at or after start_at, the last one ends at or before
		// end_at.
		const exact = exportWith({ start_at: at(3), end_at: at(8) });
		expect(shown(exact, runs(4, 5))).toEqual([["Scheduled", "2 to 4", 4, 5, "6 to 8"]]);
		const between = exportWith({ start_at: at(3.1), end_at: at(8.9) });
		expect(shown(between, runs(4, 5))).toEqual([["Scheduled", "3 to 4", 4, 5, "6 to 8"]]);
		const [found] = lanesOf(
			between,
			{ runs: runs(4), ranges: [] },
			rangeOf(inUtc("hour"), 24, NOW),
			NOW,
		);
		expect(found?.entries.at(-1)).toMatchObject({ kind: "gap", end: Date.parse(at(8)) });
		const soon = Date.parse(at(12.1));
		const [lane] = lanesOf(
			exportWith(),
			{ runs: runs(10), ranges: [] },
			rangeOf(inUtc("hour"), 2, soon),
			soon,
		);
		expect(lane?.entries.map(({ kind }) => kind)).toEqual([]);
		expect(shown(exportWith(), runs(10), 3)).toEqual([["Scheduled", 10, "11 to 12"]]);
	});

	test("have local days where clocks change", () => {
		const of = exportWith({
			interval: "day",
			time_zone: "Europe/Berlin",
			created_at: "2026-03-01T12:00:00.000Z",
		});
		const now = Date.parse("2026-04-02T12:00:00Z");
		const range = rangeOf(of, 30, now);
		expect(new Date(range.start).toISOString()).toBe("2026-03-03T23:00:00.000Z");
		expect(new Date(range.end).toISOString()).toBe("2026-04-02T22:00:00.000Z");
		const days = [
			["2026-03-03T23:00:00.000Z", "2026-03-28T23:00:00.000Z"],
			["2026-03-29T22:00:00.000Z", "2026-04-01T22:00:00.000Z"],
		] as const;
		const runs = days.map(([data_interval_start, data_interval_end], i) =>
			runOf(i, { data_interval_start, data_interval_end }),
		);
		const [lane] = lanesOf(of, { runs, ranges: [] }, range, now);
		// The day of 23 hours.
		expect(lane?.entries.map(({ kind, start, end }) => [kind, (end - start) / HOUR_MS])).toEqual([
			["run", 25 * 24],
			["gap", 23],
			["run", 3 * 24],
		]);
		expect(lane?.entries[1]).toMatchObject({ windows: 1 });
	});

	test("say of a gap whether the export was paused, and what backfills have exported", () => {
		const of = exportWith({ last_paused_at: at(5.5) });
		const backfilled = [
			runOf(6, { id: "a", backfill_id: "one" }),
			runOf(6, { id: "b", backfill_id: "two", status: "Failed" }),
			runOf(5, { id: "c", backfill_id: "one" }),
		];
		const lanes = lanesOf(
			of,
			{ runs: [...runs(1, 2, 3, 4, 8, 10, 11), ...backfilled], ranges: [] },
			rangeOf(inUtc("hour"), 24, NOW),
			NOW,
		);
		expect(lanes.map(({ entries }) => entries.filter(({ kind }) => kind === "gap"))).toMatchObject([
			[
				{ windows: 3, isPaused: true, exported: 2 },
				{ windows: 1, isPaused: false, exported: 0 },
			],
			[],
		]);
		expect(lanes[1]?.entries).toMatchObject([
			{ run: { id: "c" }, older: 0 },
			{ run: { id: "b" }, older: 1 },
		]);
	});

	test("have the ranges that old runs delivered, and no gap there", () => {
		expect(shown(exportWith(), runs(9, 10, 11), 24, [range(-20, 7), range(8, 9)])).toEqual([
			["Scheduled", "delivered 13 to 7", "7 to 8", "delivered 8 to 9", 9, 10, 11],
		]);
		expect(shown(exportWith(), runs(11), 4, [range(3, 11)])).toEqual([
			["Scheduled", "delivered 9 to 11", 11],
		]);
		// What happened in a range isn't what arrived in it.
		expect(shown(exportWith(), runs(11), 4, [range(3, 11, { by: "event" })])).toEqual([
			["Scheduled", "9 to 11", 11],
			["Backfills", "delivered 9 to 11"],
		]);
	});

	test("say of a gap why old runs left it, and what old backfills have exported", () => {
		const old = [
			range(1, 4),
			range(4, 8, { latest_error: "No bucket.", runs: 0 }),
			range(5, 6, { by: "event" }),
		];
		const [lane] = lanesOf(
			exportWith(),
			{ runs: runs(8, 9, 11), ranges: old },
			rangeOf(inUtc("hour"), 24, NOW),
			NOW,
		);
		expect(lane?.entries.filter(({ kind }) => kind === "gap")).toMatchObject([
			{ windows: 4, exported: 1, error: "No bucket." },
			{ windows: 1, exported: 0, error: null },
		]);
	});

	test("say of a scheduled run how late it is", () => {
		const late = runOf(3, { finished_at: at(6.5) });
		expect(lateness(runOf(3), "hour", NOW)).toBe(0);
		expect(lateness(late, "hour", NOW)).toBe(2.5 * HOUR_MS);
		expect(lateness(runOf(9, { finished_at: null }), "hour", NOW)).toBe(2.5 * HOUR_MS);
		expect(lateness(runOf(3, { backfill_id: "one", finished_at: at(9) }), "hour", NOW)).toBe(0);
	});
});

describe("the axis of a timeline", () => {
	/** What the ticks of a range say in a time zone. */
	async function words(zone: string, start: string, end: string, count: number) {
		vi.stubEnv("TZ", zone);
		vi.resetModules();
		const { ticksOf } = await import(
			"../../packages/console/src/pages/batch_exports/timeline_axis.ts"
		);
		const range = { start: Date.parse(start), end: Date.parse(end) };
		return ticksOf(range, count).map(({ words }) => words);
	}

	test("has the hours and days of the reader, also when clocks change", async () => {
		expect(await words("Asia/Kolkata", "2026-03-28T20:00:00Z", "2026-03-29T20:00:00Z", 4)).toEqual([
			"6 AM",
			"12 PM",
			"6 PM",
			"Mar 30",
		]);
		// At 2 AM it is 3 AM.
		expect(await words("Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T03:00:00Z", 6)).toEqual(
			["11 PM", "Mar 29", "1 AM", "3 AM", "4 AM", "5 AM"],
		);
		expect(await words("Europe/Berlin", "2026-03-20T00:00:00Z", "2026-04-20T00:00:00Z", 5)).toEqual(
			["Mar 23", "Mar 30", "Apr 6", "Apr 13", "Apr 20"],
		);
	});
});

describe("the fields of a backfill", () => {
	test("keep the moment that they were filled with, also of two equal hours when clocks go back", () => {
		vi.stubEnv("TZ", "Europe/Berlin");
		const hours = ["2026-10-25T00:00:00.000Z", "2026-10-25T01:00:00.000Z"];
		for (const hour of hours) {
			const meant = Date.parse(hour);
			expect(toLocal(meant)).toBe("2026-10-25T02:00");
			expect(fromLocal(toLocal(meant), meant)).toBe(hour);
			expect(fromLocal("2026-10-25T05:00", meant)).toBe("2026-10-25T04:00:00.000Z");
		}
		expect(fromLocal("", 0)).toBeNull();
	});
});
