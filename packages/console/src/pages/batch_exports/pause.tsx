import { api } from "../../session.ts";
import { say } from "../../ui/feedback.tsx";
import { Field, FormDialog, text } from "../../ui/form.tsx";
import type { Opened } from "./states.tsx";

/** Asks whether to pause an export, and why. */
const Pause = ({ of, at, reload, onClose }: Opened & { onClose: () => void }) => (
	<FormDialog
		title={`Pause “${of.name}”?`}
		action="Pause export"
		asks={false}
		onClose={onClose}
		onSubmit={async (fields) => {
			await api.batchExports.pause(at, { pause_note: text(fields, "pause_note") || null });
			onClose();
			await reload();
			say("The export is paused.");
		}}
	>
		<p>No more scheduled runs start. Current runs and backfills continue.</p>
		<p>
			Windows that end during the pause are skipped. When you resume the export, you can choose to
			export them.
		</p>
		<Field
			name="pause_note"
			label="Why"
			maxLength={500}
			hint="Optional. Others see it while the export is paused."
		/>
	</FormDialog>
);

export default Pause;
