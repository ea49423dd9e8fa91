import { useState } from "preact/hooks";
import type { ListedPlugin, PluginConfig } from "tenantry-client";
import { MAX_ROWS, useLoad, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty, Show, say } from "../../ui/feedback.tsx";
import { Check, Field, Form, Select, text } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { useAccess } from "./access.ts";
import { configName } from "./config_parts.tsx";
import { readConfigs, useProject } from "./configs.tsx";
import { PluginsAreOff } from "./plugins.tsx";
import { fieldsOf, parsed } from "./schema.ts";
import { changedSettings, SettingFields } from "./settings.tsx";
import { nameOf } from "./words.tsx";

async function readPlugins(organization: string, signal: AbortSignal) {
	const plugins: ListedPlugin[] = [];
	for await (const plugin of api.plugins.list({ organization, limit: MAX_ROWS }, { signal }))
		plugins.push(plugin);
	return plugins.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

/** Loads what the form needs; `of` is the config that the new one is a copy of. */
async function readForm(
	{ organization, project, id }: { organization: string; project: number; id: string | undefined },
	signal: AbortSignal,
) {
	const [plugins, of] = await Promise.all([
		readPlugins(organization, signal),
		id === undefined ? undefined : api.pluginConfigs.get({ project, id }, { signal }),
	]);
	return { plugins, of };
}

export default function NewConfig() {
	const { organization, to } = useOrganization();
	const { canConfigure } = useAccess();
	const [{ of: id, project }] = useQuery();
	/** The project of the original, which stays the same if another one is chosen for the copy. */
	const [from] = useState(Number(project));
	const loaded = useLoad(
		(signal) => readForm({ organization: organization.id, project: from, id }, signal),
		[organization.id, id],
	);
	return (
		<PageView
			title={id ? "Duplicate plugin config" : "Set up plugin"}
			above={[[to("plugin_configs"), "Plugin configs"]]}
			lead={
				id ? (
					"The copy has the same settings, in any project. Enter its secrets again, because they can't be read."
				) : (
					<>
						A plugin config has the settings of an installed <a href={to("plugins")}>plugin</a> in
						one project.
					</>
				)
			}
		>
			{canConfigure ? (
				<Show of={loaded}>
					{({ plugins, of }) =>
						plugins.length === 0 ? (
							<Empty title="No plugins installed">
								<a href={to("plugins/install")}>Install a plugin</a> first.
							</Empty>
						) : (
							<SetUp plugins={plugins} of={of} />
						)
					}
				</Show>
			) : (
				<PluginsAreOff />
			)}
		</PageView>
	);
}

function PluginSelect({
	plugins,
	plugin,
}: {
	plugins: ListedPlugin[];
	plugin: ListedPlugin | undefined;
}) {
	const [query, change] = useQuery();
	return (
		<Select
			name="plugin"
			label="Plugin"
			required
			value={query.plugin ?? ""}
			options={[
				["", "Choose…"],
				...plugins.map((plugin): [string, string] => [String(plugin.id), nameOf(plugin)]),
			]}
			onChange={({ currentTarget }) => change({ plugin: currentTarget.value })}
			{...(plugin?.description && { hint: plugin.description })}
		/>
	);
}

/** Returns the settings of a config that can be read. */
function settingsOf(of: PluginConfig, fields: ReturnType<typeof fieldsOf>) {
	const isSecret = (key: string) => fields.some((field) => field.key === key && field.isSecret);
	return Object.fromEntries(Object.entries(parsed(of.config)).filter(([key]) => !isSecret(key)));
}

function SetUp({ plugins, of }: { plugins: ListedPlugin[]; of: PluginConfig | undefined }) {
	const { organization, to } = useOrganization();
	const navigate = useNavigate();
	const [query, change] = useQuery();
	const project = useProject();
	const plugin = plugins.find(({ id }) => String(id) === query.plugin);
	const fields = fieldsOf(plugin?.config_schema);
	const original = of?.plugin === plugin?.id ? of : undefined;

	async function create(form: FormData) {
		if (!plugin || !project) return;
		const configs = await readConfigs(project.id);
		const config = await api.pluginConfigs.create(
			{ project: project.id },
			{
				plugin: plugin.id,
				order: Math.max(0, ...configs.map(({ order }) => order)) + 1,
				enabled: form.has("enabled"),
				config: changedSettings(fields, form, {}),
				...(original && {
					name: text(form, "name") || null,
					description: original.description || null,
				}),
			},
		);
		say(`${configName(config)} is set up${config.enabled ? " and enabled" : ""}.`);
		navigate(to(`plugin_configs/${config.team_id}/${config.id}/log`));
	}

	return (
		<Form action="Set up" onSubmit={create}>
			<PluginSelect plugins={plugins} plugin={plugin} />
			<Select
				name="project"
				label="Project"
				required
				value={String(project?.id ?? "")}
				options={organization.teams.map(({ id, name }): [string, string] => [String(id), name])}
				onChange={({ currentTarget }) => change({ project: currentTarget.value })}
			/>
			{plugin && (
				<>
					<div key={plugin.id}>
						{original && (
							<Field name="name" label="Name" maxlength={400} defaultValue={original.name} />
						)}
						<SettingFields fields={fields} stored={original && settingsOf(original, fields)} />
					</div>
					<Check
						name="enabled"
						label="Enable now"
						hint="Starts its scheduled tasks. You can start jobs of disabled plugins too."
						defaultChecked
					/>
				</>
			)}
		</Form>
	);
}
