/**
 * Random histories of an export: pauses, downtime, changes of the interval and of the time zone, and
 * backfills of what wasn't exported.
 */
import { type Grid, type Interval, inUtc, LENGTHS } from "../../../src/exports/engine/grid.ts";
import type { Window } from "../../../src/exports/engine/windows.ts";
import { DAY_MS } from "../../../src/lib/time.ts";
import type { Random } from "../../support/random.ts";

type Intervals = readonly [Interval, ...Interval[]];

/** An export whose clock is the test's. */
export type Subject = {
	/** Waits, while the schedule works or not. */
	wait(ms: number, isUp: boolean): Promise<void>;
	pause(): Promise<void>;
	unpause(backfill: boolean): Promise<void>;
	change(grid: Grid): Promise<void>;
	/** Starts a backfill by arrival, unless a running one overlaps it. */
	backfill(range: Window): Promise<void>;
	/** Lets all backfills end. */
	drain(): Promise<void>;
	/**
	 * Where the schedule has come, the windows of all runs by arrival, and the ranges that the log
	 * says are missing.
	 */
	state(): Promise<{ until: string; runs: Window[]; missing: Window[] }>;
};

/** Zones whose clocks change by an hour, by half an hour, in a month of fasting, and never. */
export const ZONES = [
	"America/New_York",
	"Europe/Berlin",
	"Australia/Lord_Howe",
	"Africa/Casablanca",
	"Asia/Kathmandu",
] as const;

function gridWith(interval: Interval, random: Random): Grid {
	if (interval !== "day" && interval !== "week") return inUtc(interval);
	return {
		interval,
		time_zone: random.pick([null, ...ZONES]),
		hour: random.pick([null, 0, 2, 23]),
		weekday: interval === "week" ? random.pick([null, "monday", "sunday"]) : null,
	};
}

/** Lives through a history of `steps` steps. Downtime ends after `maxDowntime` milliseconds. */
export async function live(
	subject: Subject,
	random: Random,
	{ steps, intervals, maxDowntime }: { steps: number; intervals: Intervals; maxDowntime: number },
) {
	let interval: Interval = "hour";
	for (let i = 0; i < steps; i += 1) {
		const length = LENGTHS[interval];
		switch (random.integer(0, 6)) {
			case 0:
				await subject.pause();
				break;
			case 1:
				await subject.unpause(random.chance(0.6));
				break;
			case 2:
				interval = random.pick(intervals);
				await subject.change(gridWith(interval, random));
				break;
			case 3: {
				const { missing } = await subject.state();
				const range = missing[random.integer(0, Math.max(0, missing.length - 1))];
				if (range) await subject.backfill(range);
				break;
			}
			case 4:
				// Downtime, often of more windows than are caught up.
				await subject.wait(random.between(0, Math.min(60 * length, maxDowntime)), false);
				break;
			default:
				await subject.wait(random.between(0, Math.min(5 * length, DAY_MS / 4)), true);
		}
	}
	await subject.unpause(true);
	await subject.wait(1, true);
	await subject.drain();
}

/** Follows the log's advice, and then exports every missing range by arrival. */
export async function followAdvice(subject: Subject) {
	for (const range of (await subject.state()).missing) {
		await subject.backfill(range);
		await subject.drain();
	}
}

/**
 * Returns what is wrong with windows that should cover the time from `start` until `until` once;
 * null if nothing is.
 */
export function flaw(runs: Window[], start: string, until: string) {
	let at = start;
	for (const run of runs.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
		if (run.start !== at)
			return `${run.start < at ? "repeated" : "missing"}: ${run.start} to ${at}`;
		at = run.end;
	}
	return at === until ? null : `missing: ${at} to ${until}`;
}

/** Whether two of the windows overlap. */
export const overlap = (runs: Window[]) =>
	runs
		.toSorted((a, b) => (a.start < b.start ? -1 : 1))
		.some((run, i, all) => i > 0 && run.start < (all[i - 1]?.end ?? ""));
