import { useRoute } from "preact-iso/router";
import type { BatchExportRun } from "tenantry-client";
import { useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { Show } from "../../ui/feedback.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Facts, Time } from "../../ui/values.tsx";
import { Files } from "./files.tsx";
import { BUSY_MS } from "./intervals.ts";
import { Log } from "./log.tsx";
import { RunActions } from "./run_actions.tsx";
import { Rows } from "./runs.tsx";
import {
	duration,
	hasEnded,
	hasFailed,
	Kind,
	lengthOf,
	RunState,
	sayWindow,
	WindowInUtc,
} from "./states.tsx";

/** Advice after a failed run, by status. */
const NEXT = {
	Failed:
		"The error is permanent, so the run isn't retried automatically. Fix the cause, then retry the run.",
	FailedRetryable:
		"The run failed after several attempts. Retry it when the destination works again.",
};

const RunFacts = ({ run, isOnce }: { run: BatchExportRun; isOnce: boolean }) => (
	<div class="panel">
		<Facts
			rows={[
				["State", <RunState key="state" status={run.status} />],
				["Kind", isOnce ? "One-off export" : <Kind key="kind" run={run} />],
				[isOnce ? "Range (UTC)" : "Window (UTC)", <WindowInUtc key="window" run={run} />],
				["Rows", <Rows key="rows" run={run} />],
				["Duration", duration(lengthOf(run))],
				["Scheduled", <Time key="created" value={run.created_at} />],
				["Ended", <Time key="ended" value={run.finished_at} />],
			]}
		/>
	</div>
);

/** The page of a run, with its log (docs/console.md#batch-exports). */
export default function RunPage() {
	const { id = "", run: run_id = "" } = useRoute().params;
	const { at, organization, to } = useOrganization();
	const parameters = { ...at, id, run: run_id };
	const loaded = useLoad(
		(signal) => api.batchExports.getRun(parameters, { signal }),
		[organization.id, id, run_id],
	);
	const owner = useLoad(
		(signal) => api.batchExports.get({ ...at, id }, { signal }),
		[organization.id, id],
	);
	const { data: run, reload, refresh } = loaded;
	const of = owner.data;
	const isOnce = typeof of?.expires_at === "string";
	const isBusy = run !== undefined && !hasEnded(run);
	usePolling(refresh, BUSY_MS, isBusy);
	return (
		<PageView
			title={run ? `${isOnce ? "Export" : "Run"} of ${sayWindow(run)}` : "Run"}
			above={[
				[to("batch_exports"), "Batch exports"],
				isOnce
					? [to("batch_exports?kind=once"), "One-off exports"]
					: [to(`batch_exports/${id}`), of?.name ?? "Export"],
			]}
			actions={run && <RunActions run={run} onDone={reload} />}
		>
			<Show of={loaded}>
				{(run) => (
					<>
						{hasFailed(run) && (
							<div class="problem">
								<p>
									<strong>{run.latest_error}</strong>
								</p>
								<p>{run.status === "Failed" ? NEXT.Failed : NEXT.FailedRetryable}</p>
							</div>
						)}
						<RunFacts run={run} isOnce={isOnce} />
						{of?.destination.type === "R2" && <Files run={run} expires_at={of.expires_at} />}
					</>
				)}
			</Show>
			<Section title="Log">
				<Log
					id={run_id}
					isLive={isBusy}
					read={(filters, signal) =>
						api.batchExports.listRunLogs({ ...parameters, ...filters }, { signal })
					}
				/>
			</Section>
		</PageView>
	);
}
