import type { BatchExport, BatchExportRange, BatchExportRun } from "tenantry-client";
import { afterEach, describe, expect, inject, test, vi } from "vitest";
import {
	knownOf,
	lanesOf,
	lateness,
	rangeOf,
} from "../../packages/console/src/pages/batch_exports/timeline_lanes.ts";
import { fromLocal, toLocal } from "../../packages/console/src/ui/moments.ts";
import { checkLooks, inBrowser, newOrganization } from "./support/browser.ts";

const HOUR_MS = 3_600_000;

/** The start of the hour in which the tests began. */
const HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

const hoursAgo = (n: number) => new Date(HOUR - n * HOUR_MS).toISOString();

describe("the lanes of a timeline", () => {
	/** A moment on 10 March 2026. */
	const at = (hour: number) => new Date(Date.UTC(2026, 2, 10, 0, hour * 60)).toISOString();
	const NOW = Date.parse(at(12.5));

	const exporting = (more: Partial<BatchExport> = {}): BatchExport => ({
		id: "export",
		team_id: 1,
		name: "Hourly",
		model: "events",
		destination: { type: "NoOp", config: {} },
		interval: "hour",
		paused: false,
		created_at: at(1.2),
		last_updated_at: at(1.2),
		last_paused_at: null,
		start_at: null,
		end_at: null,
		latest_runs: [],
		xql_query: null,
		schema: null,
		...more,
	});

	const run = (hour: number, more: Partial<BatchExportRun> = {}): BatchExportRun => ({
		id: `run-${hour}`,
		status: "Completed",
		records_completed: 1200,
		records_total_count: 1200,
		latest_error: null,
		data_interval_start: at(hour),
		data_interval_end: at(hour + 1),
		cursor: null,
		created_at: at(hour + 1.01),
		finished_at: at(hour + 1.02),
		last_updated_at: at(hour + 1.02),
		batch_export: "export",
		backfill_id: null,
		by: more.backfill_id ? "event" : "arrival",
		attempt: 1,
		...more,
	});

	const runs = (...hours: number[]) => hours.map((hour) => run(hour));

	const range = (from: number, to: number, more: Partial<BatchExportRange> = {}) => ({
		start_at: at(from),
		end_at: at(to),
		by: "arrival" as const,
		latest_error: null,
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
		lanesOf(of, found, old, rangeOf("hour", windows, NOW), NOW).map(({ name, entries }) => [
			name,
			...entries.map(({ kind, start, end }) => {
				const [from, to] = [start, end].map((moment) => new Date(moment).getUTCHours());
				if (kind === "run") return from;
				return kind === "gap" ? `${from} to ${to}` : `delivered ${from} to ${to}`;
			}),
		]);

	test("have the runs of backfills by arrival where the schedule's are missing", () => {
		const filled = run(4, { backfill_id: "one", by: "arrival" });
		expect(shown(exporting(), [...runs(1, 2, 3, 5, 6, 7, 8, 9, 10, 11), filled])).toEqual([
			["Scheduled", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
		]);
	});

	test("have runs in the order of their windows, and gaps since the export began", () => {
		expect(shown(exporting(), runs(5, 2, 1, 8, 9, 10, 11))).toEqual([
			["Scheduled", 1, 2, "3 to 5", 5, "6 to 8", 8, 9, 10, 11],
		]);
		expect(shown(exporting(), runs(9, 11), 4)).toEqual([["Scheduled", 9, "10 to 11", 11]]);
	});

	test("have no gap where runs weren't loaded", () => {
		const range = rangeOf("hour", 24, NOW);
		const newest = runs(11, 8, 7);
		expect(knownOf(range, newest, false)).toEqual(range);
		const known = knownOf(range, newest, true);
		expect(known).toEqual({ start: Date.parse(at(8)), end: range.end });
		const [lane] = lanesOf(exporting(), newest, [], known, NOW);
		expect(lane?.entries).toMatchObject([{ kind: "run" }, { windows: 2 }, { kind: "run" }]);
		// All that was loaded ends after the range.
		expect(knownOf({ start: 0, end: HOUR_MS }, newest, true).start).toBe(HOUR_MS);
	});

	test("have no gap where no run is due: before start_at, after end_at, and while a run may still start", () => {
		const of = exporting({ start_at: at(3.5), end_at: at(9) });
		expect(shown(of, runs(4, 5))).toEqual([["Scheduled", "3 to 4", 4, 5, "6 to 9"]]);
		// The first window is the one that ends at or after start_at, the last one ends at or before
		// end_at.
		const exact = exporting({ start_at: at(3), end_at: at(8) });
		expect(shown(exact, runs(4, 5))).toEqual([["Scheduled", "2 to 4", 4, 5, "6 to 8"]]);
		const between = exporting({ start_at: at(3.1), end_at: at(8.9) });
		expect(shown(between, runs(4, 5))).toEqual([["Scheduled", "3 to 4", 4, 5, "6 to 8"]]);
		const [found] = lanesOf(between, runs(4), [], rangeOf("hour", 24, NOW), NOW);
		expect(found?.entries.at(-1)).toMatchObject({ kind: "gap", end: Date.parse(at(8)) });
		const soon = Date.parse(at(12.1));
		const [lane] = lanesOf(exporting(), runs(10), [], rangeOf("hour", 2, soon), soon);
		expect(lane?.entries.map(({ kind }) => kind)).toEqual([]);
		expect(shown(exporting(), runs(10), 3)).toEqual([["Scheduled", 10, "11 to 12"]]);
	});

	test("say of a gap whether the export was paused, and what backfills have exported", () => {
		const of = exporting({ last_paused_at: at(5.5) });
		const backfilled = [
			run(6, { id: "a", backfill_id: "one" }),
			run(6, { id: "b", backfill_id: "two", status: "Failed" }),
			run(5, { id: "c", backfill_id: "one" }),
		];
		const lanes = lanesOf(
			of,
			[...runs(1, 2, 3, 4, 8, 10, 11), ...backfilled],
			[],
			rangeOf("hour", 24, NOW),
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
		expect(shown(exporting(), runs(9, 10, 11), 24, [range(-20, 7), range(8, 9)])).toEqual([
			["Scheduled", "delivered 13 to 7", "7 to 8", "delivered 8 to 9", 9, 10, 11],
		]);
		expect(shown(exporting(), runs(11), 4, [range(3, 11)])).toEqual([
			["Scheduled", "delivered 9 to 11", 11],
		]);
		// What happened in a range isn't what arrived in it.
		expect(shown(exporting(), runs(11), 4, [range(3, 11, { by: "event" })])).toEqual([
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
		const [lane] = lanesOf(exporting(), runs(8, 9, 11), old, rangeOf("hour", 24, NOW), NOW);
		expect(lane?.entries.filter(({ kind }) => kind === "gap")).toMatchObject([
			{ windows: 4, exported: 1, error: "No bucket." },
			{ windows: 1, exported: 0, error: null },
		]);
	});

	test("say of a scheduled run how late it is", () => {
		const late = run(3, { finished_at: at(6.5) });
		expect(lateness(run(3), "hour", NOW)).toBe(0);
		expect(lateness(late, "hour", NOW)).toBe(2.5 * HOUR_MS);
		expect(lateness(run(9, { finished_at: null }), "hour", NOW)).toBe(2.5 * HOUR_MS);
		expect(lateness(run(3, { backfill_id: "one", finished_at: at(9) }), "hour", NOW)).toBe(0);
	});
});

describe("the axis of a timeline", () => {
	afterEach(() => {
		vi.unstubAllEnvs();
	});

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
	afterEach(() => {
		vi.unstubAllEnvs();
	});

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

/**
 * How often the pointer goes from one entry to another, and a script that counts the texts that are
 * made of ranges then.
 */
const MOVES = 20;
const WORDS_OF_MOVES = `(async () => {
	const { formatRange } = Intl.DateTimeFormat.prototype;
	let count = 0;
	Intl.DateTimeFormat.prototype.formatRange = function (...range) {
		count += 1;
		return formatRange.apply(this, range);
	};
	const entries = document.querySelectorAll(".timeline-entry");
	for (let i = 1; i <= ${MOVES}; i += 1) {
		entries[i % entries.length].dispatchEvent(new MouseEvent("mouseenter"));
		await new Promise(requestAnimationFrame);
	}
	return count;
})()`;

/** A Monday. */
const MONDAY_MS = 4 * 24 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;
const FIVE_MINUTES_MS = HOUR_MS / 12;

inBrowser("the timeline of an export", (open) => {
	test("shows each window that reaches into its range, and says if runs are missing", async () => {
		const { client, at, path } = await newOrganization();
		const created = await client.batchExports.create(at, {
			name: "Weekly once",
			destination: { type: "NoOp", config: {} },
			interval: "week",
			paused: true,
		});
		const end = Math.floor((Date.now() - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS;
		const [start_at, end_at] = [end - WEEK_MS, end].map((at) => new Date(at).toISOString());
		await client.batchExports.backfill({ ...at, ...created }, { start_at, end_at });
		await client.batchExports.update({ ...at, ...created }, { interval: "every 5 minutes" });
		const tuesday = end - 6 * 24 * HOUR_MS;
		// The timeline that contains its first minute ends within it.
		const across = [tuesday + FIVE_MINUTES_MS / 2, tuesday + 1.5 * FIVE_MINUTES_MS];
		const [from, until = ""] = across.map((at) => new Date(at).toISOString());
		await client.batchExports.backfill({ ...at, ...created }, { start_at: from, end_at: until });
		const runs = async () => (await client.batchExports.listRuns({ ...at, ...created })).count;
		await expect.poll(runs).toBe(2);
		const page = await open("/console");
		await page.route(/\/runs\?.*starts_before/, async (route) => {
			const answer = await route.fetch();
			const json = { ...(await answer.json()), next: answer.url() };
			await route.fulfill({ response: answer, json });
		});
		// The list below the timeline, whose runs it shows too, has none of this state.
		const query = new URLSearchParams({ until: new Date(tuesday).toISOString(), status: "Failed" });
		const of = `${path}/batch_exports/${created.id}?${query}`;
		await page.goto(new URL(of, page.url()).href);
		// One of the week, and one that begins and ends between two intervals.
		await expect.poll(() => page.getByRole("link", { name: /^Backfill run of/ }).count()).toBe(2);
		const part = "Only the 1000 runs of the newest windows are shown.";
		await page.getByText(`${part} The list below has all runs.`).waitFor();
		await page.getByLabel("Span").selectOption("24 hours");
		await page.getByText(`${part} To see all runs, choose a shorter span.`).waitFor();
		await page.unrouteAll({ behavior: "wait" });
	});

	test("leads from window to window by keys, to a run and its log, and to a backfill of a gap", async () => {
		const { client, at, project, path } = await newOrganization();
		const event = { event: "signed up", distinct_id: "visitor-1", timestamp: hoursAgo(3.5) };
		await client.events.ingest({ project: project.id }, [event, { ...event, distinct_id: "two" }]);
		const pausedAt = hoursAgo(6);
		const created = await client.batchExports.create(at, {
			name: "Sign-ups",
			destination: { type: "R2", config: { prefix: "sign-ups" } },
			interval: "hour",
			paused: true,
			last_paused_at: pausedAt,
		});
		await client.batchExports.backfill(
			{ ...at, ...created },
			{ start_at: hoursAgo(5), end_at: hoursAgo(3) },
		);
		const runs = async () => (await client.batchExports.listRuns({ ...at, ...created })).results;
		const states = async () => (await runs()).map(({ status }) => status);
		await expect.poll(states).toEqual(["Completed", "Completed"]);
		const withRows = (await runs()).find(({ records_completed }) => records_completed === 2);
		if (!withRows) throw new Error("No run has rows.");
		await client.batchExports.retryRun(
			{ ...at, id: withRows.batch_export, run: withRows.id },
			{ from: "start" },
		);
		await expect.poll(states).toEqual(["Completed", "Completed"]);

		const page = await open(`${path}/batch_exports/${created.id}`);
		const gap = page.getByRole("link", {
			name: /^No run, .*, [56] windows, the export was paused, 2 of them exported by a backfill. Backfill this gap$/,
		});
		await gap.focus();
		const focused = () =>
			page.evaluate<string>("document.activeElement.getAttribute('aria-label')");
		await page.keyboard.press("ArrowDown");
		expect(await focused()).toMatch(/^Backfill run of .*, completed, 0 rows$/);
		await page.keyboard.press("ArrowRight");
		expect(await focused()).toMatch(/^Backfill run of .*, completed, 2 rows, attempt 2$/);
		await page.getByText("Several attempts").waitFor();
		await page.getByText(/Backfills: 2 completed\. 2 rows\./).waitFor();
		await checkLooks(page, "exports-timeline");
		expect(await page.evaluate<number>(WORDS_OF_MOVES)).toBeLessThan(3 * MOVES);
		await page.keyboard.press("ArrowLeft");
		await expect.poll(() => page.url()).not.toContain(`window=${withRows.id}`);
		await page.setViewportSize({ width: 1280, height: 400 });
		await page.evaluate("scrollTo(0, 120)");
		await page.keyboard.press("ArrowRight");
		const left = await page.evaluate<number>("scrollY");
		expect(left).toBeGreaterThan(0);
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: /^Run of/ }).waitFor();
		await page.getByText(/ 2 rows, .*attempt 2/).waitFor();
		expect(page.url()).toContain(`/runs/${withRows.id}`);

		await page.goBack();
		await expect.poll(() => page.evaluate("scrollY")).toBe(left);
		await page.setViewportSize({ width: 1280, height: 800 });
		const detail = page.locator(".timeline-detail");
		await detail.getByText("attempt 2").waitFor();
		const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
		expect(await rows.count()).toBe(3);
		await detail.getByRole("button", { name: "List only runs of this window" }).click();
		await expect.poll(() => rows.count()).toBe(2);
		await page.locator(`.timeline-entry[tabindex="0"][data-key="${withRows.id}"]`).waitFor();
		expect(await page.locator('.timeline-entry[tabindex="0"]').count()).toBe(1);
		await page.getByRole("button", { name: "Earlier" }).click();
		await expect.poll(() => new URL(page.url()).searchParams.get("until")).not.toBeNull();
		await gap.waitFor({ state: "detached" });
		await detail.getByText("Point at a window").waitFor();
		await page.getByRole("button", { name: "Later" }).click();
		await gap.waitFor();
		await detail.getByText("Point at a window").waitFor();
		await gap.click();
		const dialog = page.getByRole("dialog", { name: "New backfill" });
		await dialog.getByText(/^[56] windows$/).waitFor();
		expect(await dialog.getByLabel("From").inputValue()).toBe(pausedAt.slice(0, 16));
		await dialog.getByRole("button", { name: "Cancel" }).click();
		expect(page.url()).toBe(
			`${inject("console").url}${path}/batch_exports/${created.id}/backfills`,
		);
		await page.goBack();
		await detail.getByText("the export was paused").waitFor();

		const phone = await open(`${path}/batch_exports/${created.id}`, { hasTouch: true });
		const gapThere = phone.getByRole("link", { name: /^No run, / }).first();
		await gapThere.tap();
		await phone
			.locator(".timeline-detail")
			.getByText(/[56] windows, the export was paused, 2 of them exported by a backfill/)
			.waitFor();
		await expect.poll(() => new URL(phone.url()).searchParams.get("window")).toMatch(/^gap-/);
		await gapThere.tap();
		await phone.getByRole("dialog", { name: "New backfill" }).waitFor();
	});
});
