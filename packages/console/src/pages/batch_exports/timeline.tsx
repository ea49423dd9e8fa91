import { useMemo, useRef } from "preact/hooks";
import type { BatchExport, BatchExportRange, BatchExportRun } from "tenantry-client";
import { boundaryBefore, boundaryPast, LENGTHS } from "../../../../../src/exports/engine/grid.ts";
import { useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { Problem } from "../../ui/feedback.tsx";
import { IDLE_MS } from "./intervals.ts";
import type { Opened } from "./states.tsx";
import { sayRange } from "./states.tsx";
import { useAttention } from "./timeline_attention.ts";
import { Drawing } from "./timeline_drawing.tsx";
import { knownOf, type Lane, lanesOf, type Range, rangeOf, SPANS } from "./timeline_lanes.ts";
import { Detail, Legend, Summary } from "./timeline_parts.tsx";

/**
 * More than a range has windows. Still, a range can have more runs: of several backfills, or of an
 * earlier, shorter interval.
 */
const MAX_RUNS = 1000;

const NOT_LOADED: Lane[] = [{ name: "Scheduled", entries: [] }];

const iso = (at: number) => new Date(at).toISOString();

function useRange(of: BatchExport, now: number) {
	const { interval } = of;
	const [{ span, until }] = useQuery();
	const [shortest] = SPANS[interval];
	const windows = SPANS[interval].find(([windows]) => String(windows) === span)?.[0] ?? shortest[0];
	const last = Date.parse(until ?? "");
	const isPast = last < now;
	return {
		...rangeOf(of, windows, isPast ? last : now),
		windows,
		isShortest: windows === shortest[0],
		/** Doesn't change while the range moves with the current time. */
		place: `${windows} until ${isPast ? until : "now"}`,
	};
}

type Shown = Pick<Opened, "of" | "path"> & { fresh: readonly BatchExportRun[] };

/** The runs of a range, and the ranges of old runs that overlap it. */
type Loaded = {
	id: string;
	range: Range;
	/** The part of the range whose runs are all loaded. */
	known: Range;
	runs: BatchExportRun[];
	old: BatchExportRange[];
	/** Whether the oldest ones are missing. */
	isPart: boolean;
};

/**
 * Loads the runs of a range, and finds the gaps between them. Until then, shows the part of the
 * range that is known from the previous one.
 */
function useLanes({ of, fresh }: Shown, { start, end }: ReturnType<typeof useRange>) {
	const { at } = useOrganization();
	const reachesNow = end > Date.now();
	const loaded = useLoad(
		async (signal): Promise<Loaded> => {
			const asked = {
				...at,
				id: of.id,
				after: iso(start),
				limit: MAX_RUNS,
			};
			const [{ results: runs, next }, { results: old }] = await Promise.all([
				// The API returns every window of a backfill that ends by this time, but not all that end
				// after it. So the request covers one more window. Runs after the range aren't drawn.
				api.batchExports.listRuns(
					{ ...asked, starts_before: iso(boundaryPast(of, end)) },
					{ signal },
				),
				api.batchExports.listRanges({ ...asked, starts_before: iso(end) }, { signal }),
			]);
			const isPart = next !== null;
			const known = knownOf({ start, end }, runs, isPart);
			return { id: of.id, range: { start, end }, known, runs, old, isPart };
		},
		[of.id, start, end],
	);
	usePolling(loaded.refresh, IDLE_MS, reachesNow);
	const { data, error, reload } = loaded;
	const last = useRef<Loaded | undefined>(undefined);
	last.current = data ?? last.current;
	const shown = last.current?.id === of.id ? last.current : undefined;
	const lanes = useMemo(() => {
		if (!shown) return NOT_LOADED;
		const byId = new Map<string, BatchExportRun>(shown.runs.map((run) => [run.id, run]));
		for (const run of fresh) if (run.batch_export === of.id) byId.set(run.id, run);
		const known = {
			start: Math.max(start, shown.known.start),
			end: Math.min(end, shown.known.end),
		};
		if (known.start > known.end) return NOT_LOADED;
		const runs = [...byId.values()];
		return lanesOf(of, { runs, ranges: shown.old }, known, Date.now());
	}, [shown, fresh, of, start, end]);
	const isLoaded = shown?.range.start === start && shown.range.end === end;
	return { lanes, shown, isLoaded, error, reload };
}

function SpanFilter({ interval }: { interval: BatchExport["interval"] }) {
	const [{ span = "" }, change] = useQuery();
	return (
		<select
			aria-label="Span"
			value={span}
			onChange={({ currentTarget }) => change({ span: currentTarget.value })}
		>
			{SPANS[interval].map(([windows, words], i) => (
				<option key={windows} value={i === 0 ? "" : windows}>
					{words}
				</option>
			))}
		</select>
	);
}

/**
 * The runs of an export on a time axis, by the windows that they cover.
 * @param fresh newer versions of runs, from the list of runs
 */
export function Timeline({ of, path, fresh }: Shown) {
	const [, change] = useQuery();
	const attention = useAttention();
	const now = Date.now();
	const chosen = useRange(of, now);
	const { start, end } = chosen;
	const { lanes, shown, isLoaded, error, reload } = useLanes({ of, path, fresh }, chosen);
	const move = (until: number) => {
		attention.forget();
		change({ until: until < now ? iso(until) : undefined, window: undefined });
	};
	const button = (words: string, until: number, isOff = false) => (
		<button type="button" class="secondary outline" disabled={isOff} onClick={() => move(until)}>
			{words}
		</button>
	);
	return (
		<section class="panel timeline-panel" aria-label="Timeline" aria-busy={!isLoaded}>
			<div class="filters">
				<SpanFilter interval={of.interval} />
				{button("Earlier", boundaryBefore(of, start - 1))}
				{button("Later", boundaryPast(of, end, chosen.windows - 1), end > now)}
				<span class="timeline-range">{sayRange(chosen)}</span>
			</div>
			{error && <Problem error={error} retry={reload} />}
			<Drawing
				of={of}
				path={path}
				lanes={lanes}
				range={{ start, end }}
				place={chosen.place}
				isLoaded={shown !== undefined}
				length={LENGTHS[of.interval]}
				now={now}
				attention={attention}
			/>
			<Detail lanes={lanes} of={of} path={path} now={now} attention={attention} />
			{shown && (
				<>
					<Legend lanes={lanes} of={of} now={now} isNow={now < end} />
					<Summary lanes={lanes} />
					{shown.isPart && (
						<p>
							Only the {MAX_RUNS} runs of the newest windows are shown.{" "}
							{chosen.isShortest
								? "The list below has all runs."
								: "To see all runs, choose a shorter span."}
						</p>
					)}
				</>
			)}
		</section>
	);
}
