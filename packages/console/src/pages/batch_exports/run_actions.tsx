import { useState } from "preact/hooks";
import type { BatchExportRun } from "tenantry-client";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Choice, FormDialog, Group, text } from "../../ui/form.tsx";
import { Count } from "../../ui/values.tsx";
import { hasEnded, sayWindow, Window } from "./states.tsx";

const parametersOf = (at: { organization: string }, { batch_export, id }: BatchExportRun) => ({
	...at,
	id: batch_export,
	run: id,
});

/** The dialog that retries a run. If the run can be continued, asks where to start. */
function Retry({
	run,
	onClose,
	onDone,
}: {
	run: BatchExportRun;
	onClose: () => void;
	onDone: () => void;
}) {
	const { at } = useOrganization();
	const resumes = run.cursor !== null && run.records_completed > 0;
	async function retry(fields: FormData) {
		const from = text(fields, "from") === "start" ? "start" : undefined;
		await api.batchExports.retryRun(parametersOf(at, run), { from });
		onClose();
		say("The run is being retried.");
		onDone();
	}
	return (
		<FormDialog title="Retry this run?" action="Retry run" onSubmit={retry} onClose={onClose}>
			<p>
				This exports the window <Window run={run} /> again.
			</p>
			{resumes ? (
				<Group label="Start">
					<Choice
						name="from"
						value=""
						label={
							<>
								Continue after <Count value={run.records_completed} /> rows
							</>
						}
						hint="If the destination or the query has changed, the run starts from the first row."
						defaultChecked
					/>
					<Choice name="from" value="start" label="From the first row" />
				</Group>
			) : (
				<p>The run starts from the first row. Files and rows that it already wrote are replaced.</p>
			)}
		</FormDialog>
	);
}

async function cancel(at: { organization: string }, run: BatchExportRun, onDone: () => void) {
	const isSure = await confirm({
		title: "Cancel this run?",
		text: (
			<p>
				The window <Window run={run} /> isn't exported unless you retry the run. Unfinished files
				are removed.
			</p>
		),
		action: "Cancel run",
		stay: "Keep it running",
	});
	if (!isSure) return;
	await api.batchExports.cancelRun(parametersOf(at, run));
	say("The run is cancelled.");
	onDone();
}

export function RunActions({
	run,
	isSmall = false,
	onDone,
}: {
	run: BatchExportRun;
	isSmall?: boolean;
	onDone: () => void;
}) {
	const { at } = useOrganization();
	const [isAsking, setAsking] = useState(false);
	const look = isSmall ? "secondary outline small" : "secondary outline";
	if (!hasEnded(run))
		return (
			<Button
				class={look}
				aria-label={`Cancel the run of ${sayWindow(run)}`}
				onPress={() => cancel(at, run, onDone)}
			>
				Cancel
			</Button>
		);
	return (
		<>
			<button
				type="button"
				class={look}
				aria-label={`Retry the run of ${sayWindow(run)}`}
				onClick={() => setAsking(true)}
			>
				Retry
			</button>
			{isAsking && <Retry run={run} onClose={() => setAsking(false)} onDone={onDone} />}
		</>
	);
}
