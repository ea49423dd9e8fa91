import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Field, FormDialog, Select, text } from "../../ui/form.tsx";
import { fromLocal, toLocal } from "../../ui/moments.ts";
import { IN_ZONE } from "../../ui/zone.ts";
import { chosen } from "./fields.tsx";
import { MODELS } from "./states.tsx";

const DAY_MS = 86_400_000;

const FORMATS = [
	["CSV", "CSV, for spreadsheets"],
	["JSONLines", "JSON Lines"],
	["Parquet", "Parquet"],
] as const;

/** The dialog that exports a range once, and leads to its run, which shows the progress and files. */
export default function Once({ onClose }: { onClose: () => void }) {
	const { organization, to } = useOrganization();
	const navigate = useNavigate();
	const projects = organization.teams.map(({ id, name }) => [String(id), name] as const);
	const now = Date.now();
	async function start(fields: FormData) {
		const end_at = fromLocal(text(fields, "end_at"));
		const run = await api.projectBatchExports.runOnce(
			{ project: text(fields, "project") },
			{
				model: chosen(fields, "model", MODELS),
				file_format: chosen(fields, "file_format", FORMATS),
				start_at: fromLocal(text(fields, "start_at")) ?? "",
				...(end_at !== null && { end_at }),
			},
		);
		navigate(to(`batch_exports/${run.batch_export}/runs/${run.id}`));
	}
	return (
		<FormDialog title="Export once" action="Export" onSubmit={start} onClose={onClose}>
			<p>
				Exports a range to files that you can download for seven days.{" "}
				<a href="/docs/exports#one-off-exports" target="_blank" rel="noopener">
					What is in them
				</a>
			</p>
			<Select name="project" label="Project" options={projects} />
			<Select name="model" label="Rows" options={MODELS} />
			<div class="pair">
				<Field
					name="start_at"
					label="From"
					type="datetime-local"
					required
					defaultValue={toLocal(now - 7 * DAY_MS)}
				/>
				<Field
					name="end_at"
					label="Until"
					type="datetime-local"
					hint={`Now if empty. Times are ${IN_ZONE}.`}
				/>
			</div>
			<Select name="file_format" label="Format" options={FORMATS} />
		</FormDialog>
	);
}
