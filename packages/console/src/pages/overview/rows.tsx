import { useMemo } from "preact/hooks";
import type { BatchExport } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Chart } from "../../ui/chart.tsx";
import { Show } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { Count } from "../../ui/values.tsx";
import { sumByDay } from "./state.ts";

/** How many days the picture shows. */
const DAYS = 14;

/** Of how many exports the numbers are loaded, with a request each. */
const MAX_EXPORTS = 8;

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
				rows in the last {DAYS} days, {of}
			</p>
			<Chart points={points} />
			<details>
				<summary>The same as a table</summary>
				<table aria-label="Rows a day">
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

/** How many rows the organization's exports wrote by day. */
export function Rows({ exports }: { exports: readonly BatchExport[] }) {
	const { organization } = useOrganization();
	const shown = exports.slice(0, MAX_EXPORTS);
	const days = useLoad(
		async (signal) => {
			const found = await Promise.all(
				shown.map(({ id }) =>
					api.batchExports.listMetrics(
						{ organization: organization.id, id, limit: DAYS },
						{ signal },
					),
				),
			);
			return sumByDay(
				found.flatMap(({ results }) => results),
				DAYS,
			);
		},
		[organization.id, shown.map(({ id }) => id).join()],
	);
	const of =
		exports.length > shown.length ? `of the ${shown.length} newest exports` : "by all exports";
	return (
		<Section title="Rows exported">
			<Show of={days}>{(days) => <Picture days={days} of={of} />}</Show>
		</Section>
	);
}
