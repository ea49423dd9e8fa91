import type { BatchExportRun } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, RangeFilter } from "../../ui/filters.tsx";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Count, Time } from "../../ui/values.tsx";
import { BUSY_MS, IDLE_MS } from "./intervals.ts";
import { RunActions } from "./run_actions.tsx";
import type { Opened } from "./states.tsx";
import {
	duration,
	hasEnded,
	Kind,
	lengthOf,
	RUN_FILTER,
	RunState,
	skippedBy,
	statusesOf,
	Window,
} from "./states.tsx";
import { Timeline } from "./timeline.tsx";
import { Undelivered } from "./undelivered.tsx";

const KINDS = [
	["", "Scheduled and backfills"],
	["scheduled", "Scheduled"],
	["backfill", "Backfills"],
] as const;

const kindOf = (value: string | undefined) =>
	KINDS.map(([kind]) => kind).find((kind) => kind === value) || undefined;

/** The number of exported rows, and of all rows if it differs. */
export const Rows = ({ run }: { run: BatchExportRun }) => {
	const { records_completed, records_total_count } = run;
	const isPart = records_total_count !== null && records_total_count !== records_completed;
	return (
		<>
			<Count value={records_completed} />
			{isPart && (
				<>
					{" "}
					of <Count value={records_total_count} />
				</>
			)}
		</>
	);
};

/** The duration of a run, with a bar that compares it with the longest run in the list. */
const Took = ({ run, longest }: { run: BatchExportRun; longest: number }) => (
	<span class="took">
		<svg class="took-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
			<rect width={Math.max(1, (lengthOf(run) / longest) * 100)} height="4" />
		</svg>
		{duration(lengthOf(run))}
	</span>
);

const columnsOf = (path: string, longest: number, reload: () => void): Column<BatchExportRun>[] => [
	{
		title: "Window",
		cell: (run) => (
			<>
				<a href={`${path}/runs/${run.id}`}>
					<Window run={run} />
				</a>
				{run.latest_error !== null && run.status !== "Cancelled" && (
					<small class="below failure">{run.latest_error}</small>
				)}
			</>
		),
	},
	{ title: "Kind", cell: (run) => <Kind run={run} /> },
	{ title: "State", cell: (run) => <RunState status={run.status} /> },
	{ title: "Rows", align: "end", cell: (run) => <Rows run={run} /> },
	{ title: "Duration", align: "end", cell: (run) => <Took run={run} longest={longest} /> },
	{
		title: "Ended",
		cell: (run) => (
			<span class="nowrap">
				<Time value={run.finished_at} isRelative />
			</span>
		),
	},
	buttons((run) => <RunActions run={run} isSmall onDone={reload} />),
];

export function Runs(opened: Opened) {
	const { of, path, reload } = opened;
	const { at } = useOrganization();
	const [query] = useQuery();
	const filters = {
		status: statusesOf(query.status),
		kind: kindOf(query.kind),
		after: query.after || undefined,
		starts_before: query.starts_before || undefined,
	};
	const list = useList(
		(page, signal) =>
			api.batchExports.listRuns({ ...at, id: of.id, ...page, ...filters }, { signal }),
		[of.id, ...Object.values(filters).map(String)],
	);
	const runs = list.data?.results ?? [];
	const isBusy = runs.some((run) => !hasEnded(run));
	const reloadAll = () => {
		list.reload();
		reload();
	};
	usePolling(list.refresh, isBusy ? BUSY_MS : IDLE_MS);
	const longest = Math.max(1, ...runs.map(lengthOf));
	return (
		<>
			<Undelivered {...opened} onDone={reloadAll} />
			{(of.latest_runs.length > 0 || skippedBy(of) > 0) && (
				<Timeline of={of} path={path} fresh={runs} />
			)}
			<Filters>
				<Filter name="status" label="State" options={RUN_FILTER} />
				<Filter name="kind" label="Kind" options={KINDS} />
				<RangeFilter
					from={{ name: "after", label: "Windows from" }}
					to={{ name: "starts_before", label: "until" }}
				/>
			</Filters>
			<Table
				list={list}
				label="Runs"
				columns={columnsOf(path, longest, reloadAll)}
				empty={
					Object.values(filters).some((value) => value) ? (
						<Empty title="No runs found">No run matches the filters.</Empty>
					) : (
						<Empty title="No runs yet">
							<p>
								{of.paused
									? "The export is paused. Resume it to export new windows, or start a backfill to export past ones."
									: "The first run starts when the current window ends. To export past events, start a backfill."}
							</p>
							<a class="button secondary" href={`${path}/backfills`}>
								View backfills
							</a>
						</Empty>
					)
				}
			/>
		</>
	);
}
