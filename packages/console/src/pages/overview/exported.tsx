/** The rows and failed runs of exports in the last days. */
import type { BatchExport, BatchExportDay, BatchExportRun } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { Section } from "../../ui/page.tsx";
import { formatNumber, Time } from "../../ui/values.tsx";
import { sayWindow } from "../batch_exports/states.tsx";
import { Rows } from "./rows.tsx";
import { DAY_MS, isFailure, sumByDay } from "./state.ts";

/** The number of days (UTC) for rows, and for failures. */
const DAYS = 14;
const FAILURE_DAYS = 7;

const MAX_FAILURES = 5;

const firstDay = () => (Math.floor(Date.now() / DAY_MS) - FAILURE_DAYS + 1) * DAY_MS;

const countFailures = (days: readonly BatchExportDay[]) =>
	sumByDay(days, FAILURE_DAYS).reduce((sum, { failures }) => sum + failures, 0);

const endOf = ({ finished_at, last_updated_at }: BatchExportRun) => finished_at ?? last_updated_at;

type Failed = BatchExportRun & { name: string };

/** Returns the runs of each export that failed with the same error together, in the given order. */
function grouped(runs: readonly Failed[]) {
	const groups = new Map<string, [Failed, ...Failed[]]>();
	for (const run of runs) {
		const key = JSON.stringify([run.batch_export, run.latest_error]);
		const group = groups.get(key);
		if (group) group.push(run);
		else groups.set(key, [run]);
	}
	return [...groups.values()];
}

/** Returns the newest failed runs of the exports, from the latest ones that each comes with. */
const failedIn = (exports: readonly BatchExport[]) =>
	grouped(
		exports
			.flatMap(({ name, latest_runs }) => latest_runs.map((run) => ({ ...run, name })))
			.filter((run) => isFailure(run) && Date.parse(endOf(run)) >= firstDay())
			.sort((a, b) => endOf(b).localeCompare(endOf(a))),
	).slice(0, MAX_FAILURES);

function Failures({ failed, failures }: { failed: ReturnType<typeof failedIn>; failures: number }) {
	const { to } = useOrganization();
	if (failures === 0) return null;
	return (
		<Section title={`Failed runs of the last ${FAILURE_DAYS} days`}>
			{failed.length > 0 && (
				<ul class="panel failed-runs">
					{failed.map(([run, ...others]) => (
						<li key={run.id}>
							<a href={to(`batch_exports/${run.batch_export}/runs/${run.id}`)}>{run.name}</a>
							<small>
								<Time value={endOf(run)} isRelative />
							</small>
							<p>{run.latest_error ?? "No error was recorded."}</p>
							<p class="soft">{[run, ...others].map(sayWindow).join(", ")}</p>
						</li>
					))}
				</ul>
			)}
			{failures > failed.flat().length && (
				<p>
					{failures === 1 ? "1 failure" : `${formatNumber(failures)} failures`} in total, including
					runs that have been retried. See <a href={to("batch_exports")}>all exports</a>.
				</p>
			)}
		</Section>
	);
}

export function Exported({
	exports,
	days,
}: {
	/** The newest exports. */
	exports: readonly BatchExport[];
	/** The totals of all exports. */
	days: readonly BatchExportDay[];
}) {
	return (
		<>
			<Rows days={sumByDay(days, DAYS)} of="by all exports" />
			<Failures failed={failedIn(exports)} failures={countFailures(days)} />
		</>
	);
}
