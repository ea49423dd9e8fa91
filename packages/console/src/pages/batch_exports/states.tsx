/** Names and colours of runs and exports. */
import { Fragment } from "preact";
import type { BatchExport, BatchExportRun } from "tenantry-client";
import {
	boundariesIn,
	type Grid,
	WEEKDAYS,
	windowsIn,
} from "../../../../../src/exports/engine/grid.ts";
import type { Reloading } from "../../load.ts";
import { Badge, type Mood } from "../../ui/values.tsx";
import { TIME } from "../../ui/zone.ts";

/** The export of a page, with the functions that load it again. */
export type Opened = {
	of: BatchExport;
	/** The parameters of calls for it. */
	at: { organization: string; id: string };
	/** The path of the export's page. */
	path: string;
} & Reloading<BatchExport>;

type Status = BatchExportRun["status"];

/** The states of runs: name, colour, and the mark that distinguishes squares without colours. */
const RUNS: Record<Status, readonly [words: string, mood: Mood, mark: string]> = {
	Starting: ["Waiting", "quiet", "·"],
	Running: ["Running", "warn", "▸"],
	Completed: ["Completed", "good", ""],
	Failed: ["Failed", "bad", "×"],
	FailedRetryable: ["Failed (retryable)", "bad", "×"],
	Cancelled: ["Cancelled", "quiet", "–"],
};

/** The options of the filter by the state of runs. */
export const RUN_FILTER = [
	["", "All states"],
	["Starting", "Waiting"],
	["Running", "Running"],
	["Completed", "Completed"],
	["Failed", "Failed"],
	["Cancelled", "Cancelled"],
] as const;

/** Returns the statuses that an option stands for: whether a failure can be retried is no choice. */
export const statusesOf = (option: string | undefined): Status[] | undefined => {
	const [found] = RUN_FILTER.find(([value]) => value === option) ?? [""];
	return found === "" ? undefined : found === "Failed" ? ["Failed", "FailedRetryable"] : [found];
};

export const wordsOfRun = (status: Status) => RUNS[status][0];

export const moodOfRun = (status: Status) => RUNS[status][1];

export const RunState = ({ status }: { status: Status }) => (
	<Badge mood={RUNS[status][1]}>{RUNS[status][0]}</Badge>
);

export const hasEnded = ({ finished_at }: BatchExportRun) => finished_at !== null;

export const hasFailed = ({ status }: BatchExportRun) =>
	status === "Failed" || status === "FailedRetryable";

/** Formats the window of a run in the zone of the console. */
export const sayWindow = ({ data_interval_start, data_interval_end }: BatchExportRun) =>
	TIME.formatRange(new Date(data_interval_start), new Date(data_interval_end));

/** Formats a range in the zone of the console. */
export const sayRange = ({ start, end }: { start: number; end: number }) =>
	TIME.formatRange(new Date(start), new Date(end));

const utc = (moment: string) => moment.slice(0, 16).replace("T", " ");

/** Whether a run is of the schedule or of a backfill. */
export const Kind = ({ run }: { run: BatchExportRun }) => (
	<span class="nowrap">{run.backfill_id === null ? "Scheduled" : "Backfill"}</span>
);

export const Window = ({ run }: { run: BatchExportRun }) => (
	<span title={`${utc(run.data_interval_start)} to ${utc(run.data_interval_end)} UTC`}>
		{sayWindow(run)}
	</span>
);

export const WindowInUtc = ({ run }: { run: BatchExportRun }) => (
	<>
		{utc(run.data_interval_start)} to {utc(run.data_interval_end)}
	</>
);

/** Returns how many windows lie between a scheduled run and the next one. */
function missingBefore(of: BatchExport, run: BatchExportRun, earlier: BatchExportRun | undefined) {
	if (run.backfill_id !== null || !earlier || earlier.backfill_id !== null) return 0;
	const [start, end] = [earlier.data_interval_end, run.data_interval_start].map(Date.parse);
	return windowsIn(of, start ?? 0, end ?? 0);
}

/** The latest runs, and holes where scheduled windows have none. */
export function Squares({ of, path }: { of: BatchExport; path: string }) {
	if (of.latest_runs.length === 0) return <span class="soft nowrap">No runs yet</span>;
	const runs = [...of.latest_runs].reverse();
	return (
		<ul class="squares" aria-label="Latest runs, newest last">
			{runs.map((run, i) => {
				const [words, mood, mark] = RUNS[run.status];
				const kind = run.backfill_id === null ? "" : ", backfill";
				const missing = missingBefore(of, run, runs[i - 1]);
				const gap = `No run for ${windows(missing)} before ${sayWindow(run)}`;
				return (
					<Fragment key={run.id}>
						{missing > 0 && (
							<li class="square hole" title={gap}>
								<span class="unseen">{gap}</span>
							</li>
						)}
						<li>
							<a
								class={`square ${mood}`}
								href={`${path}/runs/${run.id}`}
								title={`${words}${kind}: ${sayWindow(run)}`}
							>
								<span aria-hidden="true">{mark}</span>
								<span class="unseen">
									{words}
									{kind}: {sayWindow(run)}
								</span>
							</a>
						</li>
					</Fragment>
				);
			})}
		</ul>
	);
}

/** The options of the filter by the state of exports. */
export const EXPORT_FILTER = [
	["", "All states"],
	["active", "Active"],
	["failing", "Failing"],
	["paused", "Paused"],
	["ended", "Ended"],
] as const;

/** Returns the newest finished run, if it failed and nobody dismissed it. */
export const failureOf = ({ latest_runs }: BatchExport) => {
	const last = latest_runs.find(hasEnded);
	return last && hasFailed(last) && !last.dismissed ? last : undefined;
};

export function stateOf(of: BatchExport) {
	if (of.paused) return "paused";
	if (of.end_at !== null && Date.parse(of.end_at) < Date.now() && !of.undelivered) return "ended";
	return of.undelivered || failureOf(of) ? "failing" : "active";
}

const EXPORT_WORDS = {
	active: <Badge mood="good">Active</Badge>,
	failing: <Badge mood="bad">Failing</Badge>,
	paused: <Badge mood="warn">Paused</Badge>,
	ended: <Badge>Ended</Badge>,
};

export const ExportState = ({ of }: { of: BatchExport }) => EXPORT_WORDS[stateOf(of)];

/** The options of the interval, shortest first. */
export const INTERVALS = [
	["every 5 minutes", "Every 5 minutes"],
	["every 15 minutes", "Every 15 minutes"],
	["hour", "Every hour"],
	["day", "Every day"],
	["week", "Every week"],
] as const;

export const wordsOfInterval = (interval: BatchExport["interval"]) =>
	INTERVALS.find(([value]) => value === interval)?.[1] ?? interval;

const capitalized = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

/** The options for when windows begin. The first ones are the defaults, which aren't stored. */
export const HOURS = Array.from(
	{ length: 24 },
	(_, hour) => [hour === 0 ? "" : String(hour), `${String(hour).padStart(2, "0")}:00`] as const,
);

export const DAYS = WEEKDAYS.map((day) => [day === "monday" ? "" : day, capitalized(day)] as const);

/** Says when the windows of an export begin, such as "Every day at 02:00, Europe/Berlin". */
export function wordsOfSchedule({ interval, time_zone, hour, weekday }: Grid) {
	const words = wordsOfInterval(interval);
	if (time_zone === null && hour === null && weekday === null) return words;
	const day = weekday ? ` on ${capitalized(weekday)}` : "";
	return `${words}${day} at ${HOURS[hour ?? 0]?.[1]}, ${time_zone ?? "UTC"}`;
}

export const MODELS = [
	["events", "Events"],
	["persons", "Persons"],
] as const;

export const wordsOfModel = (model: BatchExport["model"]) =>
	model === "events" ? "Events" : "Persons";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Formats a duration in milliseconds, such as "4 min 10 s". */
export function duration(ms: number) {
	if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
	if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
	if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
	return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}

/** Returns the milliseconds from when the run was due until it ended, or until now. */
export const lengthOf = ({ created_at, finished_at }: BatchExportRun) =>
	Math.max(0, (finished_at ? Date.parse(finished_at) : Date.now()) - Date.parse(created_at));

export const windows = (n: number) => (n === 1 ? "1 window" : `${n} windows`);

/** Returns the number of windows that have ended since the export was paused. */
export const skippedBy = (of: BatchExport) =>
	of.last_paused_at === null
		? 0
		: Math.max(0, boundariesIn(of, Date.parse(of.last_paused_at), Date.now()));
