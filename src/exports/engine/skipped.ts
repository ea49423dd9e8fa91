/** Texts about windows that aren't run, in logs and events. */
import { pluralize } from "../../lib/text.ts";
import { MAX_CATCH_UP_WINDOWS, type Skipped, type Window } from "./windows.ts";

/** Why windows are skipped after downtime. */
export const LIMIT = `At most ${MAX_CATCH_UP_WINDOWS} missed windows are caught up.`;

/** Says how to export what arrived in a range that the schedule has passed over. */
export const howToExport = ({ start, end }: Window) =>
	`Export what arrived in this range with a backfill by arrival: ${JSON.stringify({ by: "arrival", start_at: start, end_at: end })}.`;

const describe = ({ windows, start, end }: Skipped) =>
	`${pluralize(windows, "window")}, from ${start} to ${end}`;

/** Returns the log entry of windows that are skipped after downtime. */
export const describeSkipped = (skipped: Skipped) =>
	`Skipped: ${describe(skipped)}. ${LIMIT} ${howToExport(skipped)}`;

/** The log entry of an export that is unpaused. `paused`: windows that ended in the pause. */
export const describeUnpaused = (paused: Skipped | null) =>
	paused
		? `The export was unpaused. Not exported: ${describe(paused)}. ${howToExport(paused)}`
		: "The export was unpaused.";
