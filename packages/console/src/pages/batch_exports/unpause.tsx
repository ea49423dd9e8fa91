import type { BatchExport, Received } from "tenantry-client";
import { useNavigate } from "../../load.ts";
import { api } from "../../session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Choice, Form, Group, text } from "../../ui/form.tsx";
import { Time } from "../../ui/values.tsx";
import { skippedBy, windows } from "./states.tsx";

/** Asks what happens to the windows that ended during the pause, and resumes the export. */
export function Unpause({
	of,
	path,
	onClose,
	onDone,
}: {
	of: Received<BatchExport, "batchExports">;
	path: string;
	onClose: () => void;
	onDone: () => Promise<unknown>;
}) {
	const navigate = useNavigate();
	const skipped = skippedBy(of);
	async function resume(fields: FormData) {
		const { backfill_id } = await api.batchExports.unpause(of, {
			backfill: text(fields, "backfill") === "yes",
		});
		await onDone();
		onClose();
		say(
			backfill_id
				? "The export goes on, and a backfill exports what was skipped."
				: "The export goes on.",
		);
		if (backfill_id) navigate(`${path}/backfills`);
	}
	return (
		<Dialog title={`Resume “${of.name}”?`} onClose={onClose}>
			<Form action="Resume export" onSubmit={resume} onCancel={onClose}>
				<p>
					It was paused <Time value={of.last_paused_at} isRelative />.{" "}
					{skipped === 0
						? "No window has ended since, so nothing is missing."
						: `Since then ${windows(skipped)} ended and ${skipped === 1 ? "was" : "were"} not exported.`}
				</p>
				{skipped > 0 && (
					<Group label="What was skipped">
						<Choice
							name="backfill"
							value="yes"
							label="Export it, too"
							hint="A backfill runs the skipped windows one after another."
							defaultChecked
						/>
						<Choice
							name="backfill"
							value="no"
							label="Leave it out"
							hint="You can export it by a backfill at any time."
						/>
					</Group>
				)}
			</Form>
		</Dialog>
	);
}
