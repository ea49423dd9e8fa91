import { useMemo } from "preact/hooks";
import { listOf } from "../../load.ts";
import { Chart } from "../../ui/chart.tsx";
import { Section } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Count } from "../../ui/values.tsx";
import type { sumByDay } from "./state.ts";

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

type Days = ReturnType<typeof sumByDay>;

const COLUMNS: Column<Days[number]>[] = [
	{ title: "Day (UTC)", cell: ({ day }) => DAY.format(new Date(day)) },
	{ title: "Rows", align: "end", cell: ({ rows }) => <Count value={rows} /> },
	{ title: "Runs", align: "end", cell: ({ runs }) => <Count value={runs} /> },
	{ title: "Failed", align: "end", cell: ({ failures }) => <Count value={failures} /> },
];

/**
 * The rows that exports wrote, by day.
 * @param of a description of the exports
 */
export function Rows({ days, of }: { days: Days; of: string }) {
	const points = useMemo(() => days.map(({ day, rows }) => ({ day, value: rows })), [days]);
	const total = days.reduce((sum, { rows }) => sum + rows, 0);
	const newestFirst = days.toReversed().map((day) => ({ ...day, id: day.day }));
	return (
		<Section title="Rows exported">
			<div class="panel">
				<p class="rows-total">
					<strong>
						<Count value={total} />
					</strong>{" "}
					rows in the last {days.length} days, {of}
				</p>
				<Chart points={points} />
				<details>
					<summary>Show as table</summary>
					<Table list={listOf(newestFirst)} label="Rows by day" columns={COLUMNS} />
				</details>
			</div>
		</Section>
	);
}
