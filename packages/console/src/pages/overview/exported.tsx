/** The rows and failed runs of exports in the last days. */
import {
	type BatchExport,
	type BatchExportDay,
	type BatchExportRun,
	type Page,
	TenantryError,
} from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { formatNumber, Time } from "../../ui/values.tsx";
import { sayWindow } from "../batch_exports/states.tsx";
import { Rows } from "./rows.tsx";
import { DAY_MS, hasRunIn, sumByDay } from "./state.ts";

/** The number of days (UTC) for rows, and for failures. */
const DAYS = 14;
const FAILURE_DAYS = 7;

/** The maximum number of exports whose metrics are loaded, with one request each. */
const MAX_EXPORTS = 20;

const MAX_FAILURES = 5;

const firstDay = () => (Math.floor(Date.now() / DAY_MS) - FAILURE_DAYS + 1) * DAY_MS;

const countFailures = (days: readonly BatchExportDay[]) =>
	sumByDay(days, FAILURE_DAYS).reduce((sum, { failures }) => sum + failures, 0);

const endOf = ({ finished_at, last_updated_at }: BatchExportRun) => finished_at ?? last_updated_at;

const FAILED: BatchExportRun["status"][] = ["Failed", "FailedRetryable"];

/** Returns the results of a page; none if the export has been deleted in the meantime. */
async function resultsOf<T>(page: PromiseLike<Page<T>>): Promise<readonly T[]> {
	try {
		return (await page).results;
	} catch (error) {
		if (error instanceof TenantryError && error.status === 404) return [];
		throw error;
	}
}

/** Returns the newest day with failed runs; "" if there is none. */
const lastFailedDay = (days: readonly BatchExportDay[]) =>
	sumByDay(days, FAILURE_DAYS).findLast(({ failures }) => failures > 0)?.day ?? "";

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

/** Loads the metrics by day, and the newest failed runs of the exports that failed last. */
async function load(organization: string, exports: readonly BatchExport[], signal: AbortSignal) {
	const found = await Promise.all(
		exports.map(async ({ id, name }) => {
			const parameters = { organization, id, limit: DAYS };
			const days = await resultsOf(api.batchExports.listMetrics(parameters, { signal }));
			return { id, name, days, last: lastFailedDay(days) };
		}),
	);
	const failing = found
		.filter(({ last }) => last !== "")
		.sort((a, b) => b.last.localeCompare(a.last))
		.slice(0, MAX_FAILURES);
	const failed = await Promise.all(
		failing.map(async ({ id, name }) => {
			const parameters = { organization, id, status: FAILED, limit: MAX_FAILURES };
			const runs = await resultsOf(api.batchExports.listRuns(parameters, { signal }));
			return runs.map((run) => ({ ...run, name }));
		}),
	);
	const days = found.flatMap(({ days }) => days);
	return {
		days: sumByDay(days, DAYS),
		failures: countFailures(days),
		failed: grouped(
			failed
				.flat()
				.filter((run) => Date.parse(endOf(run)) >= firstDay())
				.sort((a, b) => endOf(b).localeCompare(endOf(a))),
		).slice(0, MAX_FAILURES),
	};
}

type Loaded = Awaited<ReturnType<typeof load>>;

function Failures({ failed, failures }: Pick<Loaded, "failed" | "failures">) {
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
	count,
}: {
	/** The newest exports. */
	exports: readonly BatchExport[];
	/** The number of all exports. */
	count: number;
}) {
	const { organization } = useOrganization();
	const active = exports.filter((of) => hasRunIn(of, DAYS));
	const asked = active.slice(0, MAX_EXPORTS);
	const loaded = useLoad(
		(signal) => load(organization.id, asked, signal),
		[organization.id, asked.map(({ id }) => id).join()],
	);
	const of =
		active.length > asked.length
			? `of the ${MAX_EXPORTS} newest exports`
			: exports.length < count
				? "of the newest exports"
				: "by all exports";
	return (
		<Show of={loaded}>
			{({ days, failed, failures }) => (
				<>
					<Rows days={days} of={of} />
					<Failures failed={failed} failures={failures} />
				</>
			)}
		</Show>
	);
}
