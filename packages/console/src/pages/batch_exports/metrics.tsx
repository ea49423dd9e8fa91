import { useEffect, useRef } from "preact/hooks";
import type { BatchExportDay } from "tenantry-client";
import { useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty, Show } from "../../ui/feedback.tsx";
import { Filter, Filters } from "../../ui/filters.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count } from "../../ui/values.tsx";
import type { Opened } from "./export.tsx";
import { duration } from "./states.tsx";

const DAY_MS = 86_400_000;

const SPANS = [
	["", "Last 30 days"],
	["90", "Last 90 days"],
	["365", "Last year"],
] as const;

const NOTHING = { runs: 0, rows: 0, bytes: 0, failures: 0, seconds: 0 };

/** The days of a span, the oldest first, also those without runs. */
function daysOf(found: BatchExportDay[], span: number): BatchExportDay[] {
	const byDay = new Map(found.map((day) => [day.day, day]));
	const today = Math.floor(Date.now() / DAY_MS);
	return Array.from({ length: span }, (_, i) => {
		const day = new Date((today - span + 1 + i) * DAY_MS).toISOString().slice(0, 10);
		return byDay.get(day) ?? { day, ...NOTHING };
	});
}

const HEIGHT = 180;

const tokenOf = (element: Element, name: string) =>
	getComputedStyle(element).getPropertyValue(name).trim();

/** Numbers by day as bars. A table beside it has the same numbers. */
function Chart({
	days,
	name,
	token,
}: {
	days: BatchExportDay[];
	name: "rows" | "failures";
	token: string;
}) {
	const ref = useRef<HTMLDivElement>(null);
	useEffect(() => {
		const element = ref.current;
		if (!element) return;
		let plot: { destroy: () => void; setSize: (size: { width: number; height: number }) => void };
		let isGone = false;
		const dark = matchMedia("(prefers-color-scheme: dark)");
		const observer = new ResizeObserver(() =>
			plot?.setSize({ width: element.clientWidth, height: HEIGHT }),
		);
		async function draw() {
			const { default: Plot } = await import("uplot");
			if (isGone || !element) return;
			plot?.destroy();
			const [fill, soft, line] = [token, "--soft", "--line"].map((one) => tokenOf(element, one));
			const axis = {
				stroke: soft ?? "",
				grid: { stroke: line ?? "", width: 1 },
				ticks: { show: false },
			};
			plot = new Plot(
				{
					width: element.clientWidth,
					height: HEIGHT,
					legend: { show: false },
					cursor: { show: false },
					tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1000), "UTC"),
					scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
					axes: [
						{ ...axis, grid: { show: false } },
						{ ...axis, size: 56 },
					],
					series: [
						{},
						{
							fill: fill ?? "",
							paths: Plot.paths.bars?.({ size: [0.7, 40] }) ?? (() => null),
							points: { show: false },
						},
					],
				},
				[days.map(({ day }) => Date.parse(day) / 1000), days.map((day) => day[name])],
				element,
			);
		}
		draw();
		observer.observe(element);
		dark.addEventListener("change", draw);
		return () => {
			isGone = true;
			observer.disconnect();
			dark.removeEventListener("change", draw);
			plot?.destroy();
		};
	}, [days, name, token]);
	return <div ref={ref} class="chart" aria-hidden="true" />;
}

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
	const days = daysOf(found, span);
	const used = days.filter(({ runs, failures }) => runs + failures > 0).reverse();
	if (used.length === 0)
		return (
			<Empty title="No run has ended in this time">
				<p>Rows, sizes and failures by day appear here after the first run.</p>
			</Empty>
		);
	const sum = (name: "rows" | "failures") => days.reduce((total, day) => total + day[name], 0);
	return (
		<>
			<figure class="figure">
				<figcaption>
					Rows a day <span class="soft">{NUMBER.format(sum("rows"))} in all</span>
				</figcaption>
				<Chart days={days} name="rows" token="--accent" />
			</figure>
			{sum("failures") > 0 && (
				<figure class="figure">
					<figcaption>
						Failed runs a day <span class="soft">{NUMBER.format(sum("failures"))} in all</span>
					</figcaption>
					<Chart days={days} name="failures" token="--bad" />
				</figure>
			)}
			<Table
				list={{
					data: { count: used.length, next: null, previous: null, results: used },
					error: undefined,
					isLoading: false,
					reload: () => {},
					replace: () => {},
					offset: 0,
					limit: span,
					parameter: "offset",
				}}
				label="Days"
				columns={columns}
				id={({ day }) => day}
				empty={null}
			/>
		</>
	);
}

/** What the runs of each day came to, as pictures and as a table. */
export default function Metrics({ of }: Opened) {
	const { organization } = useOrganization();
	const [{ days }] = useQuery();
	const span = Number(SPANS.find(([value]) => value === days)?.[0] || 30);
	const loaded = useLoad(
		(signal) =>
			api.batchExports.listMetrics(
				{ organization: organization.id, id: of.id, limit: span },
				{ signal },
			),
		[of.id, span],
	);
	return (
		<>
			<Filters>
				<Filter name="days" label="Time" options={SPANS} />
			</Filters>
			<Show of={loaded}>{({ results }) => <Figures found={results} span={span} />}</Show>
		</>
	);
}
