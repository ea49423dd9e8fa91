/** Users who pause exports, change their intervals, and repeat runs while clients post events. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../test/support/random.ts";
import type { Exports } from "./runs.ts";

/**
 * How long an export is paused or has another interval, and how long a user waits between two
 * changes.
 */
const CHANGED_MS = [20_000, 200_000] as const;
const UNCHANGED_MS = [5_000, 60_000] as const;

/**
 * The share of pauses after which the export is unpaused with a backfill. After the others,
 * `followAdvice` exports the rest.
 */
const WITH_BACKFILL = 0.6;

/**
 * Changes an export until `until`, in milliseconds since 1970. In the end, it has its interval, and
 * isn't paused.
 * @returns how often it was paused, had another interval, and had a run repeated
 */
export async function changeExport(exports: Exports, id: string, until: number, random: Random) {
	const counts = { pauses: 0, intervals: 0, repeated: 0 };
	const wait = ([min, max]: readonly [number, number]) =>
		sleep(Math.max(0, Math.min(random.between(min, max), until - Date.now())));
	for (;;) {
		await wait(UNCHANGED_MS);
		if (Date.now() >= until) return counts;
		switch (random.integer(0, 2)) {
			case 0:
				counts.pauses += 1;
				await exports.pause(id);
				await wait(CHANGED_MS);
				await exports.unpause(id, random.chance(WITH_BACKFILL));
				break;
			case 1:
				counts.intervals += 1;
				await exports.setInterval(id, random.pick(["every 15 minutes", "hour", "week"]));
				await wait(CHANGED_MS);
				await exports.setInterval(id);
				break;
			default: {
				const runs = await exports.runs(id);
				const [first, ...rest] = runs.filter(({ status }) => status === "Completed");
				if (!first) break;
				counts.repeated += 1;
				await exports.repeat(id, random.pick([first, ...rest]).id);
			}
		}
	}
}
