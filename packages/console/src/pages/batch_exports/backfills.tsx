import { useState } from "preact/hooks";
import type { BatchExport, BatchExportBackfill } from "tenantry-client";
import { boundaryBefore, boundaryPast, windowsIn } from "../../../../../src/exports/engine/grid.ts";
import { useList, useQuery } from "../../load.ts";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SmallButton } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Filter, Filters, RangeFilter } from "../../ui/filters.tsx";
import { Choice, Field, FormDialog, Group, text } from "../../ui/form.tsx";
import { fromLocal, toLocal } from "../../ui/moments.ts";
import { buttons, type Column, Table } from "../../ui/table.tsx";
import { Badge, type Mood, Time } from "../../ui/values.tsx";
import { BUSY_MS } from "./intervals.ts";
import type { Opened } from "./states.tsx";
import { sayRange, windows } from "./states.tsx";
import { sayRetried } from "./undelivered.tsx";

const MOODS: Record<BatchExportBackfill["status"], Mood> = {
	Running: "warn",
	Completed: "good",
	Cancelled: "quiet",
};

const SELECTIONS: Record<BatchExportBackfill["by"], string> = {
	event: "Event time",
	arrival: "Arrival",
};

/** The options of the status filter. */
const STATUSES = [
	["", "All states"],
	["Running", "Running"],
	["Completed", "Completed"],
	["Cancelled", "Cancelled"],
] as const;

function Progress({ of }: { of: BatchExportBackfill }) {
	const { total_runs, finished_runs, failed_runs } = of;
	const words = `${finished_runs} of ${windows(total_runs)}`;
	return (
		<div class="export-progress">
			<progress value={finished_runs} max={total_runs} aria-label={words} />
			<small>
				{words}
				{failed_runs > 0 && <span class="failure"> · {failed_runs} failed</span>}
			</small>
		</div>
	);
}

async function cancel(at: Opened["at"], { id }: BatchExportBackfill, onDone: () => void) {
	const isSure = await confirm({
		title: "Cancel this backfill?",
		text: "The current run is cancelled, and the remaining windows aren't exported. Exported data stays.",
		action: "Cancel backfill",
		stay: "Keep it running",
	});
	if (!isSure) return;
	await api.batchExports.cancelBackfill({ ...at, backfill: id });
	say("The backfill is cancelled.");
	onDone();
}

const rangeOf = ({ start_at, end_at }: BatchExportBackfill) =>
	sayRange({ start: Date.parse(start_at), end: Date.parse(end_at) });

const columnsOf = (at: Opened["at"], onDone: () => void): Column<BatchExportBackfill>[] => [
	{
		title: "Range",
		cell: ({ start_at, end_at }) => (
			<>
				<Time value={start_at} /> to <Time value={end_at} />
			</>
		),
	},
	{ title: "Selects", cell: ({ by }) => SELECTIONS[by] },
	{ title: "State", cell: ({ status }) => <Badge mood={MOODS[status]}>{status}</Badge> },
	{ title: "Progress", cell: (of) => <Progress of={of} /> },
	{ title: "Started", cell: ({ created_at }) => <Time value={created_at} isRelative /> },
	buttons(
		(of) =>
			of.status === "Running" && (
				<SmallButton
					aria-label={`Cancel the backfill of ${rangeOf(of)}`}
					onPress={() => cancel(at, of, onDone)}
				>
					Cancel
				</SmallButton>
			),
	),
];

/** The number of windows in the default range. */
const PROPOSED = 24;

const UTC = (moment: string | null) => moment?.slice(0, 16).replace("T", " ") ?? "";

/** Shows the number of windows in the range while the user edits it. */
function Estimate({
	of,
	start,
	end,
}: {
	of: BatchExport;
	start: string | null;
	end: string | null;
}) {
	if (start === null || end === null) return null;
	const count = windowsIn(of, Date.parse(start), Date.parse(end));
	return (
		<p role="status">
			{count === 0 ? (
				"The range contains no complete window."
			) : (
				<>
					<strong>{windows(count)}</strong>, exported one after another: {UTC(start)} to {UTC(end)}{" "}
					UTC.
				</>
			)}
		</p>
	);
}

/** Parses a time in the URL to milliseconds. */
const momentOf = (text: string | undefined) => {
	const at = Date.parse(text ?? "");
	return Number.isNaN(at) ? undefined : at;
};

const Selection = ({ isFailing }: { isFailing: boolean }) => (
	<Group label="Select">
		{isFailing && (
			<Choice
				name="by"
				value="undelivered"
				label="Only what isn't delivered"
				hint="Retries failed runs in this range, and adds runs for windows without one."
				defaultChecked
			/>
		)}
		<Choice
			name="by"
			value="event"
			label="What happened in this range"
			hint="Writes files of its own."
			defaultChecked={!isFailing}
		/>
		<Choice
			name="by"
			value="arrival"
			label="What arrived in this range, whenever it happened"
			hint="Exports only windows that the schedule has skipped, and writes its files."
		/>
	</Group>
);

/**
 * The form that starts a backfill. The default range is in the URL, for example from a gap of the
 * timeline, or the newest windows.
 */
function NewBackfill({
	of,
	at,
	onClose,
	onDone,
}: Pick<Opened, "of" | "at"> & {
	onClose: () => void;
	onDone: () => void;
}) {
	const [query] = useQuery();
	const isFailing = of.undelivered !== null;
	const [proposed] = useState(() => {
		const newest = momentOf(of.undelivered?.end_at) ?? boundaryBefore(of, Date.now());
		const oldest = momentOf(of.undelivered?.start_at) ?? boundaryPast(of, newest, -PROPOSED);
		return { from: momentOf(query.from) ?? oldest, until: momentOf(query.until) ?? newest };
	});
	const [from, setFrom] = useState(toLocal(proposed.from));
	const [until, setUntil] = useState(toLocal(proposed.until));
	const start_at = fromLocal(from, proposed.from);
	const end_at = fromLocal(until, proposed.until);
	async function start(fields: FormData) {
		const chosen = text(fields, "by");
		if (chosen === "undelivered") {
			sayRetried(
				await api.batchExports.retry(at, {
					...(start_at && { after: start_at }),
					...(end_at && { before: end_at }),
				}),
			);
			onClose();
			return onDone();
		}
		const by = chosen === "arrival" ? "arrival" : "event";
		await api.batchExports.backfill(at, { start_at, end_at, by });
		onClose();
		say("The backfill has started.");
		onDone();
	}
	return (
		<FormDialog title="New backfill" action="Start backfill" onSubmit={start} onClose={onClose}>
			<p>
				A backfill exports the windows in this range, even if the export is paused. If a window
				fails, the others are still exported.{" "}
				<a href="/docs/exports#backfills" target="_blank" rel="noopener">
					What a backfill exports
				</a>
			</p>
			<div class="pair">
				<Field
					name="start_at"
					label="From"
					type="datetime-local"
					required
					value={from}
					onInput={({ currentTarget }) => setFrom(currentTarget.value)}
				/>
				<Field
					name="end_at"
					label="Until"
					type="datetime-local"
					required
					value={until}
					onInput={({ currentTarget }) => setUntil(currentTarget.value)}
				/>
			</div>
			<Selection isFailing={isFailing} />
			<Estimate of={of} start={start_at} end={end_at} />
		</FormDialog>
	);
}

/**
 * The backfills of an export, newest first. With a filter by time, they are sorted by their ranges.
 */
export default function Backfills({ of, at, reload }: Opened) {
	const [{ from, status: named, after, before }, change] = useQuery();
	const status = STATUSES.map(([value]) => value).find((value) => value === named) || undefined;
	const isFiltered = Boolean(status || after || before);
	const [isAsking, setAsking] = useState(from !== undefined);
	const close = () => {
		setAsking(false);
		change({ from: undefined, until: undefined });
	};
	const list = useList(
		(page, signal) =>
			api.batchExports.listBackfills(
				{
					...at,
					...page,
					status: status && [status],
					...(after && { after }),
					...(before && { before }),
				},
				{ signal },
			),
		[of.id, status, after, before],
	);
	const reloadAll = () => {
		list.reload();
		reload();
	};
	const isBusy = list.data?.results.some(({ status }) => status === "Running") ?? false;
	usePolling(list.refresh, BUSY_MS, isBusy);
	return (
		<>
			<div class="above-list">
				<button type="button" onClick={() => setAsking(true)}>
					New backfill
				</button>
			</div>
			<Filters>
				<Filter name="status" label="State" options={STATUSES} />
				<RangeFilter
					from={{ name: "after", label: "Ends after" }}
					to={{ name: "before", label: "Ends before" }}
				/>
			</Filters>
			<Table
				list={list}
				label="Backfills"
				columns={columnsOf(at, reloadAll)}
				notFound={isFiltered && "Change or remove the filters."}
				empty={
					<Empty title="No backfills yet">
						Start a backfill to export past events, for example from before you created the export.
					</Empty>
				}
			/>
			{isAsking && <NewBackfill of={of} at={at} onClose={close} onDone={reloadAll} />}
		</>
	);
}
