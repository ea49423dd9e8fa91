import { useRef, useState } from "preact/hooks";
import { useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useSave } from "../../ui/conflict.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { say } from "../../ui/feedback.tsx";
import { Area, Field, Form, text } from "../../ui/form.tsx";
import { Danger, DangerZone } from "../../ui/page.tsx";
import { type Config, configName } from "./config_parts.tsx";
import { ConfigView, useConfig } from "./config_view.tsx";
import { fieldsOf, parsed, pluginIn } from "./schema.ts";
import { changedSettings, nameOfSetting, SettingFields } from "./settings.tsx";

/** The settings of a plugin in a project. */
export default function ConfigPage() {
	const loaded = useConfig();
	const [saves, setSaves] = useState(0);
	return (
		<ConfigView of={loaded} tab="">
			{(config) => (
				<>
					<Settings
						// Saved values replace those in the form; turning it on or off doesn't.
						key={[saves, config.name, config.description, config.config].join("\n")}
						config={config}
						onSaved={(saved) => {
							say(`${configName(saved)} is saved.`);
							setSaves(saves + 1);
							loaded.replace(saved);
							// For its ETag, which only a GET has.
							loaded.reload();
						}}
					/>
					<Remove config={config} />
				</>
			)}
		</ConfigView>
	);
}

type Values = Record<string, unknown>;

/** Settings under the names that they have in forms. */
const underNames = (settings: Values) =>
	Object.fromEntries(Object.entries(settings).map(([key, value]) => [nameOfSetting(key), value]));

/** The settings of a config, as people see them: of a secret only that one is saved. */
function shownSettings(config: Config) {
	const secrets = fieldsOf(pluginIn(config).config_schema).filter(({ isSecret }) => isSecret);
	return Object.fromEntries(
		Object.entries(parsed(config.config)).map(([key, value]) => [
			key,
			value && secrets.some((field) => field.key === key) ? "A saved value" : value,
		]),
	);
}

function Settings({ config, onSaved }: { config: Config; onSaved: (saved: Config) => void }) {
	const plugin = pluginIn(config);
	const fields = fieldsOf(plugin.config_schema);
	const stored = parsed(config.config);
	/** The settings that change. The comparison of versions only says that a secret is a new one. */
	const settings = useRef<Values>({});
	const { save, dialog } = useSave<Config, Values>({
		read: () => api.pluginConfigs.get({ project: config.team_id, id: config.id }),
		update: (read, { name, description }) =>
			api.pluginConfigs.update(read, {
				...(name !== undefined && { name: String(name) || null }),
				...(description !== undefined && { description: String(description) || null }),
				...(Object.keys(settings.current).length > 0 && {
					config: { ...parsed(read.config), ...settings.current },
				}),
			}),
		onSaved,
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

	function changesIn(form: FormData) {
		settings.current = changedSettings(fields, form, stored);
		const isSecret = (key: string) => fields.some((field) => field.key === key && field.isSecret);
		const compared = Object.entries(settings.current).map(([key, value]) => [
			key,
			isSecret(key) && value !== "" ? "A new value" : value,
		]);
		const name = text(form, "name");
		const description = text(form, "description");
		return {
			...underNames(Object.fromEntries(compared)),
			...(name !== config.name && { name }),
			...(description !== config.description && { description }),
		};
	}

	return (
		<>
			<Form
				action="Save"
				onSubmit={async (form) => {
					const changes = changesIn(form);
					if (Object.keys(changes).length > 0) return save(config, changes);
					return say("Nothing has changed.");
				}}
			>
				<SettingFields fields={fields} stored={stored} />
				<Field
					name="name"
					label="Name"
					maxlength={400}
					defaultValue={config.name}
					hint="What this project calls the plugin."
				/>
				<Area
					name="description"
					label="Description"
					rows={2}
					maxlength={1000}
					defaultValue={config.description}
				/>
			</Form>
			{dialog}
		</>
	);
}

function Remove({ config }: { config: Config }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	async function remove() {
		const yes = await confirm({
			title: `Remove ${configName(config)} from the project?`,
			text: (
				<p>
					Its settings, log and what it has stored in this project go. The plugin stays installed.
					This can't be undone.
				</p>
			),
			action: "Remove from project",
		});
		if (!yes) return;
		await api.pluginConfigs.delete({ project: config.team_id, id: config.id });
		say(`${configName(config)} is removed from the project.`);
		navigate(to(`plugin_configs?project=${config.team_id}`));
	}
	return (
		<DangerZone>
			<Danger
				title="Remove from the project"
				text="Its settings and its log go. To stop it only, disable it."
			>
				<Button class="danger" onPress={remove}>
					Remove
				</Button>
			</Danger>
		</DangerZone>
	);
}
