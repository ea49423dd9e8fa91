import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import {
	boundariesIn,
	boundaryBefore,
	boundaryPast,
	type Grid,
	inUtc,
	partsIn,
	windowAfter,
	windowsIn,
} from "../../../src/exports/engine/grid.ts";
import {
	dueWindows,
	reschedule,
	schedule,
	type Window,
} from "../../../src/exports/engine/windows.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS } from "../../../src/lib/time.ts";
import { isTimeZone, localTime, WEEKDAYS } from "../../../src/lib/zone.ts";
import { seeded } from "../../support/random.ts";
import { ZONES } from "./histories.ts";

const MONDAY = Date.parse("1970-01-05T00:00:00Z");

const daily = (time_zone: string, hour: number | null = null): Grid => ({
	...inUtc("day"),
	time_zone,
	hour,
});

/** Returns what clocks of a zone show, in another way than the service. */
function clocksIn(zone: string) {
	const format = new Intl.DateTimeFormat("en-GB", {
		timeZone: zone,
		hourCycle: "h23",
		weekday: "long",
		year: "numeric",
		month: "2-digit",
		day: "2-digit",
		hour: "2-digit",
		minute: "2-digit",
	});
	return (at: number) => {
		const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
		const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
		return {
			date: `${of("year")}-${of("month")}-${of("day")}`,
			weekday: of("weekday").toLowerCase(),
			minutes: Number(of("hour")) * 60 + Number(of("minute")),
		};
	};
}

/** Lets the schedule of an export work for years. Returns its windows. */
function windowsOver(grid: Grid, from: string, until: string) {
	const windows: Window[] = [];
	const row = { id: v7(), ...grid, start_at: null, end_at: null };
	let position = schedule(row, Date.parse(from));
	while (position.next_end_at < until) {
		const due = dueWindows({ ...row, ...position }, Date.parse(position.due_at) + 1);
		expect(due.skipped).toBeNull();
		windows.push(...due.windows);
		position = due.next;
	}
	return windows;
}

/** Ten years of each zone, and an hour that its clocks skip, or show twice. */
const DECADES = [
	...ZONES.map((zone) => [zone, "2020-06-01T12:00:00Z", "2030-06-01T12:00:00Z", 2] as const),
	// Its clocks were changed at midnight.
	["America/Sao_Paulo", "2010-06-01T12:00:00Z", "2020-06-01T12:00:00Z", 0],
	// It had no 30 December 2011.
	["Pacific/Apia", "2010-06-01T12:00:00Z", "2020-06-01T12:00:00Z", 0],
] as const;

describe.each(DECADES)("ten years in %s", (zone, from, until, hour) => {
	test("have a window for each day, none twice, none missing", () => {
		const windows = windowsOver(daily(zone, hour), from, until);
		const clock = clocksIn(zone);
		const lengths = windows.map(({ start, end }) => Date.parse(end) - Date.parse(start));
		expect(windows.findIndex(({ end }, i) => end !== (windows[i + 1]?.start ?? end))).toBe(-1);
		const dates = windows.map(({ start }) => {
			const at = Date.parse(start);
			const { date, minutes } = clock(at);
			if (minutes !== hour * 60) {
				// Where clocks skip the hour, the day begins when they do.
				const before = clock(at - MINUTE_MS);
				expect(before.date < date || before.minutes < hour * 60).toBe(true);
			}
			return date;
		});
		const first = Date.parse(dates[0] ?? "");
		const all = Array.from({ length: dates.length + 1 }, (_, i) =>
			iso(first + i * DAY_MS).slice(0, 10),
		).filter((date) => zone !== "Pacific/Apia" || date !== "2011-12-30");
		expect(dates).toEqual(all.slice(0, dates.length));
		expect(Math.min(...lengths)).toBeGreaterThanOrEqual(23 * HOUR_MS);
		expect(Math.max(...lengths)).toBeLessThanOrEqual(25 * HOUR_MS);
		expect(new Set(lengths).size > 1).toBe(zone !== "Asia/Kathmandu");
	});

	test("have a window for each week", () => {
		const windows = windowsOver(
			{ interval: "week", time_zone: zone, hour: 9, weekday: "friday" },
			from,
			until,
		);
		const clock = clocksIn(zone);
		for (const [i, { start }] of windows.entries()) {
			expect(start).toBe(windows[i - 1]?.end ?? start);
			const { date, weekday, minutes } = clock(Date.parse(start));
			const isSkipped = zone === "Pacific/Apia" && date === "2011-12-31";
			expect([weekday, minutes]).toEqual([isSkipped ? "saturday" : "friday", 9 * 60]);
		}
		expect(windows.length).toBeGreaterThan(520);
	});

	test("are counted as they are listed", () => {
		const random = seeded(7);
		const grid = daily(zone, hour);
		const boundaries: number[] = [];
		const [first, last] = [Date.parse(from), Date.parse(until)];
		for (let at = boundaryPast(grid, first); at < last; at = boundaryPast(grid, at))
			boundaries.push(at);
		for (let i = 0; i < 100; i += 1) {
			const [a, b] = [random.between(first, last), random.between(first, last)];
			const [start, end] = [Math.min(a, b), Math.max(a, b)];
			const inside = boundaries.filter((at) => at > start && at <= end);
			expect(boundariesIn(grid, start, end)).toBe(inside.length);
			expect(partsIn(grid, start, end)).toBe(inside.filter((at) => at < end).length + 1);
			const n = random.integer(1, 400);
			const known = boundaries.indexOf(boundaryBefore(grid, start));
			const expected = boundaries[known + n];
			if (known >= 0 && expected) expect(boundaryPast(grid, start, n)).toBe(expected);
		}
	});
});

describe("a backfill", () => {
	test.each(DECADES)(
		"of ten years in %s has windows at the time of day of its start",
		(zone, from, until, hour) => {
			const clock = clocksIn(zone);
			const start = Date.parse(from) + 17 * MINUTE_MS;
			const grid = daily(zone, hour);
			const total = windowsIn(grid, start, Date.parse(until));
			const starts = Array.from({ length: total + 1 }, (_, i) => windowAfter(grid, start, i));
			expect(starts[0]).toBe(start);
			expect(starts.at(-1)).toBeLessThanOrEqual(Date.parse(until));
			expect(windowAfter(grid, start, total + 1)).toBeGreaterThan(Date.parse(until));
			expect(new Set(starts.map((at) => clock(at).minutes)).size).toBe(1);
			const lengths = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
			expect(Math.min(...lengths)).toBeGreaterThanOrEqual(DAY_MS - HOUR_MS);
			expect(Math.max(...lengths)).toBeLessThanOrEqual(DAY_MS + HOUR_MS);
			expect(starts.map((at) => windowsIn(grid, start, at))).toEqual([...starts.keys()]);
		},
	);
});

test("hours and shorter windows are the same everywhere", () => {
	const at = Date.parse("2026-11-01T05:47:11Z");
	for (const interval of ["hour", "every 5 minutes", "every 15 minutes"] as const)
		expect(boundaryBefore(inUtc(interval), at) % (5 * MINUTE_MS)).toBe(0);
});

test.each(WEEKDAYS)("a week in UTC can begin on %s", (weekday) => {
	const grid: Grid = { interval: "week", time_zone: null, hour: 7, weekday };
	const at = boundaryBefore(grid, Date.parse("2026-11-29T12:00:00Z"));
	expect(new Date(at).toISOString().slice(11)).toBe("07:00:00.000Z");
	expect((at - MONDAY - 7 * HOUR_MS) % (7 * DAY_MS)).toBe(WEEKDAYS.indexOf(weekday) * DAY_MS);
});

describe("a change of the zone", () => {
	const now = Date.parse("2026-03-28T15:00:00Z");
	const before = {
		id: v7(),
		...inUtc("day"),
		start_at: null,
		end_at: null,
		paused: false,
		last_paused_at: null,
		next_start_at: "2026-03-28T00:00:00.000Z",
		next_end_at: "2026-03-29T00:00:00.000Z",
	};

	test.each([
		[
			"ahead of UTC",
			daily("Europe/Berlin"),
			"2026-03-28T23:00:00.000Z",
			"2026-03-29T22:00:00.000Z",
		],
		[
			"behind UTC",
			daily("America/New_York"),
			"2026-03-28T04:00:00.000Z",
			"2026-03-29T04:00:00.000Z",
		],
		["another hour", daily("UTC", 14), "2026-03-28T14:00:00.000Z", "2026-03-29T14:00:00.000Z"],
		[
			"a week",
			{ interval: "week", time_zone: "Asia/Kathmandu", hour: 5, weekday: "sunday" },
			"2026-03-28T23:15:00.000Z",
			"2026-04-04T23:15:00.000Z",
		],
	] as const)("goes on where it stopped: %s", (_, grid, end, following) => {
		const after = { ...before, ...grid };
		const next = reschedule(before, after, now);
		expect(next).toMatchObject({ next_start_at: before.next_start_at, next_end_at: end });
		const { windows } = dueWindows({ ...after, ...next }, Date.parse(following) + 7 * DAY_MS);
		expect(windows.slice(0, 2)).toEqual([
			{ start: before.next_start_at, end },
			{ start: end, end: following },
		]);
	});
});

test("zones are the names of the IANA database, in any case", () => {
	for (const name of ["Europe/Berlin", "europe/berlin", "UTC", "Etc/GMT+2", "Asia/Kolkata"])
		expect(isTimeZone(name)).toBe(true);
	for (const name of ["", "Mars/Olympus", "+02:00", "-05", "Europe/", "Zürich", "__proto__"])
		expect(isTimeZone(name)).toBe(false);
});

test("times before there were zones, and after all changes, have an offset", () => {
	const hours = (at: string) =>
		(localTime("Asia/Kathmandu", Date.parse(at)) - Date.parse(at)) / HOUR_MS;
	expect(hours("9999-12-31T23:59:59Z")).toBe(5.75);
	expect(hours("0001-01-01T00:00:00Z")).toBeCloseTo(5.6878, 3);
	expect((localTime("America/New_York", 0) - 0) / HOUR_MS).toBe(-5);
});
