/** The summary, the legend and the description of the selected entry. */
import type { ComponentChildren } from "preact";
import type { BatchExport, BatchExportRun } from "tenantry-client";
import { useQuery } from "../../load.ts";
import {
	duration,
	hasEnded,
	hasFailed,
	lengthOf,
	RunState,
	sayRange,
	Window,
	wordsOfRun,
} from "./states.tsx";
import type { Attention } from "./timeline_attention.ts";
import {
	type GapEntry,
	isRetried,
	type Lane,
	lateness,
	type RangeEntry,
	type RunEntry,
} from "./timeline_lanes.ts";
import { Sample } from "./timeline_shapes.tsx";
import { actionOf, linkOf, remarks, rows, whatRange, wholeOf, whyGap } from "./timeline_words.ts";

type Status = BatchExportRun["status"];

/** The states in the order of the legend. */
const STATES: readonly Status[] = [
	"Completed",
	"Running",
	"Starting",
	"Failed",
	"FailedRetryable",
	"Cancelled",
];

const runsOf = ({ entries }: Lane) => entries.filter((entry) => entry.kind === "run");
const rangesOf = ({ entries }: Lane) => entries.filter((entry) => entry.kind === "range");
const gapsOf = ({ entries }: Lane) => entries.filter((entry) => entry.kind === "gap");

const countOf = (runs: RunEntry[], status: Status) =>
	runs.filter(({ run }) => run.status === status).length;

function sayLane(lane: Lane) {
	const runs = runsOf(lane);
	const old = rangesOf(lane).reduce((sum, { windows }) => sum + windows, 0);
	const missing = gapsOf(lane).reduce((sum, { windows }) => sum + windows, 0);
	const written = runs.reduce((sum, { run }) => sum + run.records_completed, 0);
	const parts = [
		...STATES.map((status) => [countOf(runs, status), wordsOfRun(status).toLowerCase()] as const),
		[old, "delivered by old runs"] as const,
		[missing, "without a run"] as const,
	].filter(([n]) => n > 0);
	if (parts.length === 0) return `${lane.name}: no runs.`;
	const states = parts.map(([n, words]) => `${n} ${words}`).join(", ");
	return `${lane.name}: ${states}.${runs.length > 0 ? ` ${rows(written)}.` : ""}`;
}

export const Summary = ({ lanes }: { lanes: Lane[] }) => (
	<p class="timeline-summary">{lanes.map(sayLane).join(" ")}</p>
);

export function Legend({
	lanes,
	of,
	now,
	isNow,
}: {
	lanes: Lane[];
	of: BatchExport;
	now: number;
	/** Whether the range includes the current time. */
	isNow: boolean;
}) {
	const runs = lanes.flatMap(runsOf);
	const gaps = lanes.flatMap(gapsOf);
	const items = [
		...STATES.map((status) => [status, wordsOfRun(status), countOf(runs, status) > 0] as const),
		["range", "Delivered by old runs", lanes.some((lane) => rangesOf(lane).length > 0)] as const,
		["gap", "No run", gaps.some(({ exported, windows }) => exported < windows)] as const,
		[
			"exported",
			"No run, but exported by a backfill",
			gaps.some(({ exported, windows }) => exported === windows),
		] as const,
		["retried", "Several attempts", runs.some(({ run }) => isRetried(run))] as const,
		["late", "Late", runs.some(({ run }) => lateness(run, of.interval, now) > 0)] as const,
		["now", "Now", isNow] as const,
	].filter(([, , isShown]) => isShown);
	return (
		<ul class="timeline-legend" aria-label="Legend">
			{items.map(([sample, words]) => (
				<li key={sample}>
					<Sample of={sample} /> {words}
				</li>
			))}
		</ul>
	);
}

const Facts = ({ children }: { children: ComponentChildren }) => (
	<p class="timeline-facts">{children}</p>
);

type LinkOf = (words: string) => ComponentChildren;

const GapDetail = ({ entry, link }: { entry: GapEntry; link: LinkOf }) => (
	<>
		<Facts>
			<strong>No run</strong>
			<span>{sayRange(entry)}</span>
			<span>{whyGap(entry)}</span>
			{link(actionOf(entry))}
		</Facts>
		{entry.error !== null && <p class="failure">{entry.error}</p>}
	</>
);

const RangeDetail = ({ entry, link }: { entry: RangeEntry; link: LinkOf }) => (
	<Facts>
		<strong>Delivered</strong>
		<span>{sayRange(wholeOf(entry))}</span>
		<span>{whatRange(entry)}</span>
		<span>The runs are no longer listed</span>
		{link("View totals by day")}
	</Facts>
);

function RunDetail({
	entry: { run, older },
	of,
	now,
	link,
}: {
	entry: RunEntry;
	of: BatchExport;
	now: number;
	link: LinkOf;
}) {
	const length = duration(lengthOf(run));
	return (
		<>
			<Facts>
				<RunState status={run.status} />
				<strong>
					<Window run={run} />
				</strong>
				<span>{rows(run.records_completed)}</span>
				<span>{hasEnded(run) ? `took ${length}` : `running for ${length}`}</span>
				{remarks(run, of, now).map((words) => (
					<span key={words}>{words}</span>
				))}
				{older > 0 && <span>{older} older</span>}
				{link("View run and log")}
			</Facts>
			{hasFailed(run) && <p class="failure">{run.latest_error}</p>}
		</>
	);
}

export function Detail({
	lanes,
	of,
	path,
	now,
	attention: { active, choose },
}: {
	lanes: Lane[];
	of: BatchExport;
	path: string;
	now: number;
	attention: Attention;
}) {
	const [, change] = useQuery();
	const entry = lanes.flatMap(({ entries }) => entries).find(({ key }) => key === active.value);
	if (!entry)
		return (
			<div class="timeline-detail soft">
				Point at a window, tap it, or use the arrow keys to see details.
			</div>
		);
	const link: LinkOf = (words) => (
		<a href={linkOf(entry, path)} onClick={() => choose(entry.key, true)}>
			{words}
		</a>
	);
	return (
		<div class="timeline-detail">
			{entry.kind === "gap" && <GapDetail entry={entry} link={link} />}
			{entry.kind === "range" && <RangeDetail entry={entry} link={link} />}
			{entry.kind === "run" && <RunDetail entry={entry} of={of} now={now} link={link} />}
			{entry.kind !== "range" && (
				<button
					type="button"
					class="link"
					onClick={() =>
						change({
							after: new Date(entry.start).toISOString(),
							starts_before: new Date(entry.end).toISOString(),
							offset: undefined,
						})
					}
				>
					List only runs of this window
				</button>
			)}
		</div>
	);
}
