import { useRoute } from "preact-iso/router";
import type { Project as ProjectType, UpdateProjectBody } from "tenantry-client";
import { MAX_ROWS, useLoad, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Form } from "../../ui/form.tsx";
import { Going, itemsOf } from "../../ui/going.tsx";
import { Danger, DangerZone, LoadedPage, PageView, Section } from "../../ui/page.tsx";
import { Badge, Copy, Facts, Time } from "../../ui/values.tsx";
import { WhoCanSee } from "../members/who_can_see.tsx";
import { ProjectFields, valuesIn } from "./fields.tsx";
import { ProjectMembers } from "./members.tsx";

/** Returns only the changed fields, so that saving doesn't overwrite others. */
function changesIn(project: ProjectType, fields: FormData) {
	const { name, timezone, access_control } = valuesIn(fields);
	const changes: UpdateProjectBody = {};
	if (name !== project.name) changes.name = name;
	if (timezone !== project.timezone) changes.timezone = timezone;
	if (access_control !== project.access_control) changes.access_control = access_control;
	return changes;
}

/** Whether the user is an admin of the project, who can change it. */
async function isProjectAdmin(project: number, signal: AbortSignal) {
	for await (const { user, level } of api.projectMembers.list(
		{ project, limit: MAX_ROWS },
		{ signal },
	))
		if (user.uuid === me.value?.uuid) return level >= 8;
	return false;
}

function Settings({ project, reload }: { project: ProjectType; reload: () => Promise<unknown> }) {
	const { at, reloadOrganization } = useOrganization();
	const { save, dialog, version } = useSave<ProjectType, UpdateProjectBody>({
		read: () => api.organizationProjects.get({ ...at, id: project.id }),
		update: (project, changes) => api.organizationProjects.update(project, changes),
		onSaved: () => Promise.all([reload(), reloadOrganization()]),
		labels: { name: "Name", timezone: "Time zone", access_control: "Private" },
	});
	return (
		<>
			<Form
				key={version}
				action="Save changes"
				showsSaved
				onSubmit={(fields) => save(project, changesIn(project, fields), "The project is saved.")}
			>
				<ProjectFields project={project} />
			</Form>
			{dialog}
		</>
	);
}

/** Sends an event, so that people see what their exports and plugins do with it. */
function TestEvent({ project: { id, name } }: { project: ProjectType }) {
	async function send() {
		await api.events.ingest({ project: id }, { event: "test event", distinct_id: "console" });
		say(`A test event was sent to ${name}.`);
	}
	return (
		<Section title="Events" id="events">
			<p>
				Exports write a test event like any other.{" "}
				<a href="/docs/exports#events">How to send events</a>
			</p>
			<SecondaryButton onPress={send}>Send a test event</SecondaryButton>
		</Section>
	);
}

/** Leads to what the project has. */
function Within({ project: { id } }: { project: ProjectType }) {
	const { to } = useOrganization();
	const links = [
		[to(`batch_exports?project=${id}`), "Batch exports"],
		[to(`plugin_configs?project=${id}`), "Plugin configs"],
		["#events", "Events"],
		["#people", "People"],
		[to(`activity?scope=Project&item_id=${id}`), "Activity"],
		[to(`batch_exports/new?project=${id}`), "New export"],
		[to(`plugin_configs/new?project=${id}`), "Set up plugin"],
	] as const;
	return (
		<Section title="In this project">
			<p class="row">
				{links.map(([path, words]) => (
					<a key={path} href={path}>
						{words}
					</a>
				))}
			</p>
		</Section>
	);
}

function Delete({ project }: { project: ProjectType }) {
	const { at, reloadOrganization, to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const { id, name } = project;
		const isSure = await confirm({
			title: `Delete ${name}?`,
			text: (
				<>
					<p>
						Its events, exports and plugin configs are deleted too, and what runs is stopped. For 30
						days, it can be restored with them; then they are gone for good.
					</p>
					<Going
						load={async (signal) =>
							itemsOf(await api.organizationProjects.getContents({ ...at, id }, { signal }))
						}
						none="It has no events, exports or plugin configs."
					/>
				</>
			),
			action: "Delete project",
			typed: name,
		});
		if (!isSure) return;
		await api.organizationProjects.delete(project);
		say(`${name} is deleted.`, async () => {
			await api.organizationProjects.restore({ ...at, id: String(id) });
			say(`${name} is restored.`);
			reloadOrganization();
			return to(`projects/${id}`);
		});
		reloadOrganization();
		navigate(to("projects"));
	}
	return (
		<Danger
			title="Delete this project"
			text="Deletes its events, exports and plugin configs too."
			action="Delete project"
			onPress={remove}
		/>
	);
}

/** The page of a project, with its settings and members (docs/organizations.md#projects). */
export default function Project() {
	const { at, isAdmin, isOwner, to } = useOrganization();
	const id = Number(useRoute().params.project);
	const loaded = useLoad(
		async (signal) => {
			const [project, mayChange] = await Promise.all([
				api.organizationProjects.get({ ...at, id }, { signal }),
				isAdmin || isProjectAdmin(id, signal),
			]);
			return { project, mayChange };
		},
		[at.organization, id],
	);
	const above = [[to("projects"), "Projects"]] as const;
	return (
		<LoadedPage of={loaded} title="Project" above={above}>
			{({ project, mayChange }) => (
				<PageView
					title={project.name}
					state={
						<>
							{project.access_control && <Badge>Private</Badge>}
							<WhoCanSee resource="project" id={project.id} />
						</>
					}
					above={above}
					lead={
						<span class="row">
							<span>
								Project ID <code>{project.id}</code>
							</span>
							<Copy value={String(project.id)} what="the ID" />
							<span>
								Created <Time value={project.created_at} isRelative />
							</span>
						</span>
					}
				>
					<Section title="Settings">
						{mayChange ? (
							<Settings project={project} reload={loaded.reload} />
						) : (
							<Facts rows={[["Time zone", project.timezone]]} />
						)}
					</Section>
					<Within project={project} />
					<TestEvent project={project} />
					<ProjectMembers project={project} mayChange={mayChange} />
					{isOwner && (
						<DangerZone>
							<Delete project={project} />
						</DangerZone>
					)}
				</PageView>
			)}
		</LoadedPage>
	);
}
