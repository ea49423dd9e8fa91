import { useNavigate } from "../../load.ts";
import { api } from "../../session.ts";
import { say } from "../../ui/feedback.tsx";
import { Choice, FormDialog, Group, text } from "../../ui/form.tsx";
import { Time } from "../../ui/values.tsx";
import { type Opened, skippedBy, windows } from "./states.tsx";

/** The dialog that resumes an export, with a choice for the skipped windows. */
export default function Unpause({
	of,
	at,
	path,
	onClose,
	onDone,
}: Pick<Opened, "of" | "at" | "path"> & {
	onClose: () => void;
	onDone: () => Promise<unknown>;
}) {
	const navigate = useNavigate();
	const skipped = skippedBy(of);
	async function resume(fields: FormData) {
		const { backfill_id } = await api.batchExports.unpause(at, {
			backfill: text(fields, "backfill") === "yes",
		});
		await onDone();
		onClose();
		say(
			backfill_id
				? "The export is resumed. A backfill exports what arrived during the pause."
				: "The export is resumed.",
		);
		if (backfill_id) navigate(`${path}/backfills`);
	}
	return (
		<FormDialog
			title={`Resume “${of.name}”?`}
			action="Resume export"
			onSubmit={resume}
			onClose={onClose}
		>
			<p>
				The export was paused <Time value={of.last_paused_at} isRelative />.{" "}
				{skipped === 0
					? "No windows were skipped."
					: `Since then, ${windows(skipped)} ${skipped === 1 ? "was" : "were"} skipped.`}
			</p>
			{skipped > 0 && (
				<Group label="Skipped windows">
					<Choice
						name="backfill"
						value="yes"
						label="Export them"
						hint="A backfill exports what arrived in them, one window after another."
						defaultChecked
					/>
					<Choice
						name="backfill"
						value="no"
						label="Don't export them"
						hint="You can start a backfill by arrival for them at any time."
					/>
				</Group>
			)}
		</FormDialog>
	);
}
