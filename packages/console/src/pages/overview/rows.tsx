import { useMemo } from "preact/hooks";
import { Chart } from "../../ui/chart.tsx";
import { Section } from "../../ui/page.tsx";
import { Count } from "../../ui/values.tsx";
import type { sumByDay } from "./state.ts";

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

type Days = ReturnType<typeof sumByDay>;

function Picture({ days, of }: { days: Days; of: string }) {
	const points = useMemo(() => days.map(({ day, rows }) => ({ day, value: rows })), [days]);
	const total = days.reduce((sum, { rows }) => sum + rows, 0);
	return (
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
				<table aria-label="Rows by day">
					<thead>
						<tr>
							<th scope="col">Day (UTC)</th>
							<th scope="col" data-align="end">
								Rows
							</th>
							<th scope="col" data-align="end">
								Runs
							</th>
							<th scope="col" data-align="end">
								Failed
							</th>
						</tr>
					</thead>
					<tbody>
						{days.toReversed().map(({ day, rows, runs, failures }) => (
							<tr key={day}>
								<th scope="row">{DAY.format(new Date(day))}</th>
								<td data-align="end">
									<Count value={rows} />
								</td>
								<td data-align="end">
									<Count value={runs} />
								</td>
								<td data-align="end">
									<Count value={failures} />
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</details>
		</div>
	);
}

/**
 * The rows that exports wrote, by day.
 * @param of a description of the exports
 */
export const Rows = ({ days, of }: { days: Days; of: string }) => (
	<Section title="Rows exported">
		<Picture days={days} of={of} />
	</Section>
);
