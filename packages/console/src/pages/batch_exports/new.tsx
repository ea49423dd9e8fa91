import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty, say } from "../../ui/feedback.tsx";
import { Check, Form, Select, text } from "../../ui/form.tsx";
import { fromLocal } from "../../ui/moments.ts";
import { PageView } from "../../ui/page.tsx";
import { besideSettings, configOf } from "../../ui/settings.ts";
import { settingsOf } from "./destination_settings.ts";
import { chosen, clockIn, destinationWith, ExportFields } from "./fields.tsx";
import { INTERVALS, MODELS } from "./states.tsx";
import { useTrial } from "./trial.tsx";

function bodyOf(fields: FormData) {
	const type = text(fields, "type");
	return {
		name: text(fields, "name"),
		model: chosen(fields, "model", MODELS),
		destination: destinationWith({ type, config: configOf(settingsOf(type), fields) }),
		interval: chosen(fields, "interval", INTERVALS),
		...clockIn(fields),
		xql_query: text(fields, "xql_query") || null,
		start_at: fromLocal(text(fields, "start_at")),
		end_at: fromLocal(text(fields, "end_at")),
		paused: fields.has("paused"),
	};
}

/** The form that creates an export and can test its destination (docs/console.md#batch-exports). */
export default function NewExport() {
	const { organization, to } = useOrganization();
	const navigate = useNavigate();
	const trial = useTrial();
	const above = [[to("batch_exports"), "Batch exports"]] as const;
	const projects = organization.teams.map(({ id, name }) => [String(id), name] as const);
	if (projects.length === 0)
		return (
			<PageView title="New export" above={above}>
				<Empty title="No projects">
					Exports belong to projects. Ask an admin of your organization for access to a project.
				</Empty>
			</PageView>
		);

	async function test(fields: FormData) {
		const { model, destination, xql_query } = bodyOf(fields);
		const project = text(fields, "project");
		await besideSettings(settingsOf(destination.type), () =>
			trial.run(destination.type, () =>
				api.projectBatchExports.testNew({ project }, { model, destination, xql_query }),
			),
		);
	}

	async function create(fields: FormData) {
		const body = bodyOf(fields);
		const project = text(fields, "project");
		const { id } = await besideSettings(settingsOf(body.destination.type), () =>
			api.projectBatchExports.create({ project }, body),
		);
		say("The export is created.");
		navigate(to(`batch_exports/${id}`));
	}

	return (
		<PageView title="New export" above={above}>
			<Form
				action="Create export"
				others={[["Test destination", test]]}
				onSubmit={create}
				onCancel={() => navigate(to("batch_exports"))}
			>
				<ExportFields
					onChange={trial.clear}
					last={
						<Check
							name="paused"
							label="Create paused"
							hint="Scheduled runs start after you resume the export. You can start backfills anytime."
						/>
					}
				>
					<Select name="project" label="Project" options={projects} />
				</ExportFields>
				{trial.panel}
			</Form>
		</PageView>
	);
}
