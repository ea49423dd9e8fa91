import { useRef, useState } from "preact/hooks";
import { type Loaded, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Area, Field, Form, text } from "../../ui/form.tsx";
import { Danger, DangerZone } from "../../ui/page.tsx";
import { type Config, configName } from "./config_parts.tsx";
import { ConfigView, useConfig } from "./config_view.tsx";
import { fieldsOf, parsed, pluginIn } from "./schema.ts";
import { changedSettings, nameOfSetting, SettingFields } from "./settings.tsx";

export default function ConfigPage() {
	const loaded = useConfig();
	return (
		<ConfigView of={loaded} tab="">
			{(config) => (
				<>
					<Settings key={`${config.team_id} ${config.id}`} config={config} reload={loaded.reload} />
					<Remove config={config} reload={loaded.reload} />
				</>
			)}
		</ConfigView>
	);
}

type Values = Record<string, unknown>;

/** Renames settings to the names of their fields. */
const underNames = (settings: Values) =>
	Object.fromEntries(Object.entries(settings).map(([key, value]) => [nameOfSetting(key), value]));

/** Returns the settings of a config with masked secrets. */
function shownSettings(config: Config) {
	const secrets = fieldsOf(pluginIn(config).config_schema).filter(({ isSecret }) => isSecret);
	return Object.fromEntries(
		Object.entries(parsed(config.config)).map(([key, value]) => [
			key,
			value && secrets.some((field) => field.key === key) ? "Saved value" : value,
		]),
	);
}

/**
 * Saves settings of a config. Secrets are only in `settings`, which isn't passed to the dialog for
 * conflicts.
 */
function useSaveConfig(
	{ id, team_id: project, ...config }: Config,
	settings: { current: Values },
	onSaved: () => Promise<unknown>,
) {
	const fields = fieldsOf(pluginIn(config).config_schema);
	return useSave<Config, Values>({
		read: () => api.pluginConfigs.get({ project, id }),
		update: (read, { name, description }) =>
			api.pluginConfigs.update(
				{ ...read, project },
				{
					...(name !== undefined && { name: String(name) || null }),
					...(description !== undefined && { description: String(description) || null }),
					...(Object.keys(settings.current).length > 0 && {
						config: { ...parsed(read.config), ...settings.current },
					}),
				},
			),
		onSaved: async (saved) => {
			await onSaved();
			say(`${configName(saved)} is saved.`);
		},
		labels: {
			name: "Name",
			description: "Description",
			...Object.fromEntries(fields.map(({ key, label }) => [nameOfSetting(key), label])),
		},
		fields: (config) => ({
			name: config.name,
			description: config.description,
			...underNames(shownSettings(config)),
		}),
	});
}

/** Returns the changes for the dialog for conflicts: with masked secrets. */
function changesIn(form: FormData, before: Config, settings: Values) {
	const fields = fieldsOf(pluginIn(before).config_schema);
	const isSecret = (key: string) => fields.some((field) => field.key === key && field.isSecret);
	const compared = Object.entries(settings).map(([key, value]) => [
		key,
		isSecret(key) && value !== "" ? "New value" : value,
	]);
	const name = text(form, "name");
	const description = text(form, "description");
	return {
		...underNames(Object.fromEntries(compared)),
		...(name !== before.name && { name }),
		...(description !== before.description && { description }),
	};
}

function Settings({ config, reload }: { config: Config; reload: Loaded<Config>["reload"] }) {
	/**
	 * The config that the form started with. The switch reloads the config, which others may have
	 * changed.
	 */
	const [before, setBefore] = useState(config);
	const plugin = pluginIn(before);
	const fields = fieldsOf(plugin.config_schema);
	const stored = parsed(before.config);
	/** The changed settings, with secrets. */
	const settings = useRef<Values>({});
	const { save, dialog, version } = useSaveConfig(before, settings, async () => {
		const read = await reload();
		if (read) setBefore(read);
	});

	return (
		<>
			<Form
				key={version}
				action="Save"
				showsSaved
				onSubmit={async (form) => {
					settings.current = changedSettings(fields, form, stored);
					const changes = changesIn(form, before, settings.current);
					if (Object.keys(changes).length > 0) return save(before, changes);
					return say("No changes to save.");
				}}
			>
				<SettingFields fields={fields} stored={stored} />
				<Field
					name="name"
					label="Name"
					maxlength={400}
					defaultValue={before.name}
					hint="The name of the plugin in this project."
				/>
				<Area
					name="description"
					label="Description"
					rows={2}
					maxlength={1000}
					defaultValue={before.description}
				/>
			</Form>
			{dialog}
		</>
	);
}

function Remove({ config, reload }: { config: Config; reload: () => Promise<unknown> }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const yes = await confirm({
			title: `Remove ${configName(config)} from the project?`,
			text: (
				<p>
					Its settings, log and stored data in this project are deleted. The plugin stays installed.
					For 30 days, it can be restored, except its log.
				</p>
			),
			action: "Remove from project",
		});
		if (!yes) return;
		await api.pluginConfigs.delete({ project: config.team_id, id: config.id });
		say(`${configName(config)} is removed from the project.`, async () => {
			await api.pluginConfigs.restore({ project: config.team_id, id: String(config.id) });
			say(`${configName(config)} is restored.`);
			return to(`plugin_configs/${config.team_id}/${config.id}`);
		});
		navigate(to(`plugin_configs?project=${config.team_id}`));
	}
	async function hide() {
		await api.pluginConfigs.update({ project: config.team_id, id: config.id }, { deleted: true });
		await reload();
	}
	return (
		<DangerZone>
			{!config.deleted && (
				<Danger
					title="Hide from lists"
					text="Disables it, and keeps its settings, log and stored data. It can be restored at the address of this page."
					action="Hide"
					onPress={hide}
				/>
			)}
			<Danger
				title="Remove from project"
				text="Deletes its settings, log and stored data. To only stop it, disable it."
				action="Remove"
				onPress={remove}
			/>
		</DangerZone>
	);
}
