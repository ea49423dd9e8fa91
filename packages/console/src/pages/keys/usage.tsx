import { useMemo } from "preact/hooks";
import type { KeyDay } from "tenantry-client";
import { listOf } from "../../load.ts";
import { Chart } from "../../ui/chart.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count, formatNumber } from "../../ui/values.tsx";

const DAY_MS = 86_400_000;

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

/** Returns the last days until today (UTC), oldest first, including days without use. */
function fill(days: readonly KeyDay[], count: number): KeyDay[] {
	const used = new Map(days.map((each) => [each.day, each]));
	return Array.from({ length: count }, (_, index) => {
		const day = new Date(Date.now() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10);
		return used.get(day) ?? { day, requests: 0, refusals: 0, last_address: null };
	});
}

/** Returns the IP addresses that the key was used from, latest first. */
export const addressesOf = (days: readonly KeyDay[]) => [
	...new Set(days.flatMap(({ last_address }) => last_address ?? [])),
];

const COLUMNS: Column<KeyDay>[] = [
	{ title: "Day (UTC)", cell: ({ day }) => DAY.format(new Date(day)) },
	{ title: "Requests", align: "end", cell: ({ requests }) => <Count value={requests} /> },
	{ title: "Rejected", align: "end", cell: ({ refusals }) => <Count value={refusals} /> },
	{ title: "Last IP address", cell: ({ last_address }) => last_address ?? "–" },
];

const pointsOf = (days: readonly KeyDay[], name: "requests" | "refusals") =>
	days.map((day) => ({ day: day.day, value: day[name] }));

export function UseByDay({ days, shown }: { days: readonly KeyDay[]; shown: number }) {
	const { all, requests, rejected } = useMemo(() => {
		const all = fill(days, shown);
		return { all, requests: pointsOf(all, "requests"), rejected: pointsOf(all, "refusals") };
	}, [days, shown]);
	const used = all.filter(({ requests }) => requests > 0).reverse();
	const sum = (points: typeof requests) => points.reduce((total, { value }) => total + value, 0);
	if (used.length === 0)
		return (
			<p class="hint">Not used in the last {shown} days. Requests appear here within 30 seconds.</p>
		);
	return (
		<>
			<p class="key-use-sum">
				<strong>{formatNumber(sum(requests))}</strong>{" "}
				{sum(requests) === 1 ? "request" : "requests"}
				{sum(rejected) > 0 && (
					<>
						, <strong class="key-rejected">{formatNumber(sum(rejected))}</strong> of them rejected
					</>
				)}
				. The busiest day had {formatNumber(Math.max(...requests.map(({ value }) => value)))}.
			</p>
			<Chart points={requests} />
			{sum(rejected) > 0 && <Chart points={rejected} token="--bad" />}
			<details>
				<summary>Days with use</summary>
				<Table
					list={listOf(used.map((day) => ({ ...day, id: day.day })))}
					label="Days with use"
					columns={COLUMNS}
				/>
			</details>
		</>
	);
}
