import { useMemo } from "preact/hooks";
import type { BatchExportDay } from "tenantry-client";
import { listOf, useLoad, useQuery } from "../../load.ts";
import { api } from "../../session.ts";
import { Chart } from "../../ui/chart.tsx";
import { Empty, Show } from "../../ui/feedback.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count } from "../../ui/values.tsx";
import type { Opened } from "./states.tsx";
import { duration } from "./states.tsx";

const DAY_MS = 86_400_000;

const SPANS = [
	["", "Last 30 days"],
	["90", "Last 90 days"],
	["365", "Last year"],
] as const;

const NOTHING = { runs: 0, rows: 0, bytes: 0, failures: 0, seconds: 0 };

/** Returns the days of a span, oldest first, including days without runs. */
function daysOf(found: BatchExportDay[], span: number): BatchExportDay[] {
	const byDay = new Map(found.map((day) => [day.day, day]));
	const today = Math.floor(Date.now() / DAY_MS);
	return Array.from({ length: span }, (_, i) => {
		const day = new Date((today - span + 1 + i) * DAY_MS).toISOString().slice(0, 10);
		return byDay.get(day) ?? { day, ...NOTHING };
	});
}

const pointsOf = (days: BatchExportDay[], name: "rows" | "failures") =>
	days.map((day) => ({ day: day.day, value: day[name] }));

const NUMBER = new Intl.NumberFormat();

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

function size(bytes: number) {
	const power = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
	const value = bytes / 1000 ** power;
	return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

const columns: Column<BatchExportDay>[] = [
	{
		title: "Day (UTC)",
		cell: ({ day }) => <time dateTime={day}>{DATE.format(new Date(day))}</time>,
	},
	{ title: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
	{ title: "Runs", align: "end", cell: ({ runs }) => <Count value={runs} /> },
	{
		title: "Failed",
		align: "end",
		cell: ({ failures }) =>
			failures > 0 ? <strong class="failure">{NUMBER.format(failures)}</strong> : 0,
	},
	{ title: "Size as text", align: "end", cell: ({ bytes }) => size(bytes) },
	{ title: "Time", align: "end", cell: ({ seconds }) => duration(seconds * 1000) },
];

function Figures({ found, span }: { found: BatchExportDay[]; span: number }) {
	const { days, rows, failures } = useMemo(() => {
		const days = daysOf(found, span);
		return { days, rows: pointsOf(days, "rows"), failures: pointsOf(days, "failures") };
	}, [found, span]);
	const used = days.filter(({ runs, failures }) => runs + failures > 0).reverse();
	if (used.length === 0)
		return (
			<Empty title="No runs in this period">
				Rows, sizes and failures by day appear here after the first run.
			</Empty>
		);
	const sum = (points: typeof rows) => points.reduce((total, { value }) => total + value, 0);
	return (
		<>
			{sum(rows) > 0 && (
				<figure class="figure">
					<figcaption>
						Rows by day <span class="soft">{NUMBER.format(sum(rows))} in total</span>
					</figcaption>
					<Chart points={rows} />
				</figure>
			)}
			{sum(failures) > 0 && (
				<figure class="figure">
					<figcaption>
						Failed runs by day <span class="soft">{NUMBER.format(sum(failures))} in total</span>
					</figcaption>
					<Chart points={failures} token="--bad" />
				</figure>
			)}
			<Table
				list={listOf(used.map((day) => ({ ...day, id: day.day })))}
				label="Days"
				columns={columns}
			/>
		</>
	);
}

export default function Metrics({ of, at }: Opened) {
	const [{ days }] = useQuery();
	const span = Number(SPANS.find(([value]) => value === days)?.[0] || 30);
	const loaded = useLoad(
		(signal) => api.batchExports.listMetrics({ ...at, limit: span }, { signal }),
		[of.id, span],
	);
	return (
		<>
			<Filters>
				<Filter name="days" label="Period" options={SPANS} />
			</Filters>
			<Show of={loaded}>{({ results }) => <Figures found={results} span={span} />}</Show>
		</>
	);
}
