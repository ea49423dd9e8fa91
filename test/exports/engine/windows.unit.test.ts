import { v7 } from "uuid";
import { describe, expect, test } from "vitest";
import { type Interval, inUtc, LENGTHS } from "../../../src/exports/engine/grid.ts";
import {
	delay,
	dueWindows,
	lastWindow,
	reschedule,
	schedule,
	windowsIn,
} from "../../../src/exports/engine/windows.ts";

const at = Date.parse;

const of = (interval: Interval, more: object = {}) => ({
	id: v7(),
	...inUtc(interval),
	start_at: null,
	end_at: null,
	paused: false,
	last_paused_at: null,
	...more,
});

describe("the grid of UTC", () => {
	test.each<[Interval, string, string, string]>([
		["hour", "2026-03-01T00:00:00.000Z", "2026-02-28T23:00", "2026-03-01T00:00"],
		["hour", "2026-03-01T00:59:59.999Z", "2026-02-28T23:00", "2026-03-01T00:00"],
		["day", "2026-03-01T00:00:00.000Z", "2026-02-28T00:00", "2026-03-01T00:00"],
		["day", "2024-03-01T12:00:00.000Z", "2024-02-29T00:00", "2024-03-01T00:00"],
		["day", "2024-02-29T23:59:59.999Z", "2024-02-28T00:00", "2024-02-29T00:00"],
		// 2026-11-16 is a Monday.
		["week", "2026-11-21T12:00:00.000Z", "2026-11-09T00:00", "2026-11-16T00:00"],
		["week", "2026-11-23T00:00:00.000Z", "2026-11-16T00:00", "2026-11-23T00:00"],
		["week", "2024-03-01T00:00:00.000Z", "2024-02-19T00:00", "2024-02-26T00:00"],
		["every 5 minutes", "2026-01-01T00:04:59.999Z", "2025-12-31T23:55", "2026-01-01T00:00"],
		["every 15 minutes", "2026-01-01T00:30:00.000Z", "2026-01-01T00:15", "2026-01-01T00:30"],
	])("the last %s before %s", (interval, now, start, end) => {
		expect(lastWindow(inUtc(interval), at(now))).toEqual({
			start: `${start}:00.000Z`,
			end: `${end}:00.000Z`,
		});
	});
});

describe("the next window", () => {
	test("is the current one", () => {
		expect(schedule(of("hour"), at("2026-01-01T10:20:00Z")).next_end_at).toBe(
			"2026-01-01T11:00:00.000Z",
		);
	});

	test("is the first that ends at or after start_at", () => {
		const now = at("2026-01-01T10:20:00Z");
		const first = (start_at: string) => schedule(of("day", { start_at }), now).next_end_at;
		expect(first("2026-01-05T00:00:00.000Z")).toBe("2026-01-05T00:00:00.000Z");
		expect(first("2026-01-05T00:00:00.001Z")).toBe("2026-01-06T00:00:00.000Z");
		expect(first("2025-01-01T00:00:00.000Z")).toBe("2026-01-02T00:00:00.000Z");
	});

	test("is never due after end_at", () => {
		const now = at("2026-01-01T10:20:00Z");
		const due = (end_at: string) => schedule(of("hour", { end_at }), now).due_at;
		expect(due("2026-01-01T11:00:00.000Z") < "2026-01-01T11:06").toBe(true);
		expect(due("2026-01-01T10:59:59.999Z")).toBe("9999-12-31T23:59:59.999Z");
	});

	test("is never due with the latest possible start_at, and sorts after all others", () => {
		for (const interval of ["hour", "day", "week"] as const)
			expect(
				schedule(of(interval, { start_at: "9999-12-31T23:59:59.000Z" }), Date.now()),
			).toMatchObject({
				next_end_at: "9999-12-31T23:59:59.999Z",
				due_at: "9999-12-31T23:59:59.999Z",
			});
	});
});

describe("a changed schedule", () => {
	const now = at("2026-01-01T11:02:00Z");
	/** The window that ended at 11:00 has not run yet. */
	const before = {
		...of("hour"),
		next_start_at: "2026-01-01T10:00:00.000Z",
		next_end_at: "2026-01-01T11:00:00.000Z",
	};
	const next = (from: object, to: object) => {
		const { next_start_at, next_end_at } = reschedule(
			{ ...before, ...from },
			{ ...before, ...to },
			now,
		);
		return [next_start_at, next_end_at].map((at) => at.slice(8, 16));
	};

	test.each([
		["another range", {}, { end_at: "2027-01-01T00:00:00.000Z" }, "01T10:00", "01T11:00"],
		["shorter windows", {}, { interval: "every 15 minutes" }, "01T10:00", "01T11:00"],
		[
			"windows that are much shorter",
			{ interval: "week", next_start_at: "2025-12-29T00:00:00.000Z" },
			{ interval: "every 5 minutes" },
			"29T00:00",
			"01T11:00",
		],
		["longer windows", {}, { interval: "day" }, "01T10:00", "02T00:00"],
		[
			"shorter windows while a window bridges an earlier change",
			{ next_start_at: "2025-12-29T00:00:00.000Z" },
			{ interval: "every 5 minutes" },
			"29T00:00",
			"01T11:00",
		],
		[
			"another range while a window bridges an earlier change",
			{ next_start_at: "2025-12-29T00:00:00.000Z" },
			{ end_at: "2027-01-01T00:00:00.000Z" },
			"29T00:00",
			"01T11:00",
		],
		[
			"shorter windows during a pause",
			{ paused: true, last_paused_at: "2026-01-01T10:32:00.000Z" },
			{ interval: "every 15 minutes" },
			"01T10:00",
			"01T10:30",
		],
		[
			"no start in the future any more",
			{ start_at: "2027-01-01T00:00:00.000Z", next_end_at: "2027-01-01T00:00:00.000Z" },
			{},
			"01T11:00",
			"01T12:00",
		],
		[
			"a later end, when it was over",
			{
				next_start_at: "2025-05-31T23:00:00.000Z",
				next_end_at: "2025-06-01T00:00:00.000Z",
				end_at: "2025-05-31T23:30:00.000Z",
			},
			{},
			"01T11:00",
			"01T12:00",
		],
		[
			"longer windows and no start in the future, which repeats nothing",
			{ start_at: "2027-01-01T00:00:00.000Z", next_end_at: "2027-01-01T00:00:00.000Z" },
			{ interval: "day" },
			"01T10:00",
			"02T00:00",
		],
	])("goes on where it stopped: %s", (_, from, to, start, end) => {
		expect(next(from, to)).toEqual([start, end]);
	});
});

describe("the delay of a run", () => {
	test.each<Interval>(["hour", "day", "week", "every 15 minutes"])(
		"is spread over the first twelfth of %s, and an export's own",
		(interval) => {
			const twelfth = LENGTHS[interval] / 12;
			const ids = Array.from({ length: 500 }, () => v7());
			const delays = ids.map((id) => delay(id, interval));
			expect(Math.min(...delays)).toBeGreaterThanOrEqual(30_000);
			expect(Math.max(...delays)).toBeLessThan(twelfth);
			expect(delays.filter((ms) => ms > twelfth / 2).length).toBeGreaterThan(150);
			expect(ids.map((id) => delay(id, interval))).toEqual(delays);
		},
	);
});

describe("due windows", () => {
	const hourly = (more: object = {}) => ({
		...of("hour"),
		next_start_at: "2025-12-31T23:00:00.000Z",
		next_end_at: "2026-01-01T00:00:00.000Z",
		...more,
	});
	const ends = (one: ReturnType<typeof hourly>, now: number) =>
		dueWindows(one, now).windows.map(({ end }) => end);

	test("is nothing before the delay has passed, then the window", () => {
		const one = hourly();
		const end = at(one.next_end_at);
		const late = delay(one.id, "hour");
		expect(ends(one, end + late - 1)).toEqual([]);
		expect(dueWindows(one, end + Math.ceil(late))).toMatchObject({
			windows: [{ start: "2025-12-31T23:00:00.000Z", end: one.next_end_at }],
			skipped: null,
			next: { next_start_at: one.next_end_at, next_end_at: "2026-01-01T01:00:00.000Z" },
		});
	});

	test("after downtime are the missed windows, oldest first, the newest 24 at most", () => {
		const one = hourly();
		const three = ends(one, at("2026-01-01T02:10:00Z"));
		expect(three.map((end) => end.slice(11, 16))).toEqual(["00:00", "01:00", "02:00"]);
		const { windows, skipped, next } = dueWindows(one, at("2026-01-02T06:10:00Z"));
		expect(windows).toHaveLength(24);
		expect(windows[0]?.end).toBe("2026-01-01T07:00:00.000Z");
		expect(skipped).toEqual({
			start: one.next_start_at,
			end: "2026-01-01T06:00:00.000Z",
			windows: 7,
		});
		expect(next.next_end_at).toBe("2026-01-02T07:00:00.000Z");
	});

	test("is no window that ends after end_at", () => {
		const one = hourly({ end_at: "2026-01-01T01:30:00.000Z" });
		expect(ends(one, at("2026-01-01T09:00:00Z"))).toEqual([
			"2026-01-01T00:00:00.000Z",
			"2026-01-01T01:00:00.000Z",
		]);
	});
});

test("a range has only complete windows", () => {
	const start = "2026-01-01T00:30:00.000Z";
	expect(windowsIn(inUtc("hour"), start, "2026-01-01T03:45:00.000Z", 2)).toEqual({
		total: 3,
		window: {
			start: "2026-01-01T02:30:00.000Z",
			end: "2026-01-01T03:30:00.000Z",
		},
	});
	expect(windowsIn(inUtc("hour"), start, "2026-01-01T01:29:59.999Z").total).toBe(0);
});

test.each([
	["a leap day", "day", "2024-02-28T00:00:00Z", "2024-03-02T00:00:00Z", 3],
	["a day of 23 hours", "day", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", 0],
	["a day of 25 hours", "day", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", 1],
	["the turn of the year", "week", "2025-12-29T00:00:00Z", "2026-01-12T00:00:00Z", 2],
	["the first years", "week", "0001-01-01T00:00:00Z", "0001-01-15T00:00:00Z", 2],
	["one interval", "hour", "2026-01-01T00:00:00.5Z", "2026-01-01T01:00:00.5Z", 1],
	["a time before all events", "hour", "1969-12-31T22:30:00Z", "1970-01-01T00:30:00Z", 2],
] as const)("%s has windows of equal length", (_, interval, start, end, total) => {
	expect(windowsIn(inUtc(interval), start, end).total).toBe(total);
	for (let i = 0; i < total; i += 1) {
		const { window } = windowsIn(inUtc(interval), start, end, i);
		const from = at(start) + i * LENGTHS[interval];
		expect([window.start, window.end].map(at)).toEqual([from, from + LENGTHS[interval]]);
	}
});
