import type { Plugin, PluginConfig } from "tenantry-client";
import { useList, useNavigate } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Button, useAction } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { Empty, say } from "../../ui/feedback.tsx";
import { Going, itemsOf } from "../../ui/going.tsx";
import { Danger, DangerZone, Section } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge, Facts } from "../../ui/values.tsx";
import { useAccess } from "./access.ts";
import { ConfigState } from "./config_parts.tsx";
import { PluginView, usePlugin, useRights } from "./plugin_view.tsx";
import { fieldsOf, jobsOf } from "./schema.ts";
import { hasUpdate, nameOf, newest, originOf, Version, versionName } from "./words.tsx";

export default function PluginPage() {
	const loaded = usePlugin();
	return (
		<PluginView of={loaded} tab="">
			{(plugin) => (
				<>
					<About plugin={plugin} onChange={loaded.replace} />
					<Uses plugin={plugin} />
					<Abilities plugin={plugin} />
					<Dangers plugin={plugin} onChange={loaded.replace} />
				</>
			)}
		</PluginView>
	);
}

type Part = { plugin: Plugin; onChange: (plugin: Plugin) => void };

/** Returns the path parameters of a plugin. Only its own organization can change it. */
const at = ({ organization_id, id }: Plugin) => ({ organization: organization_id, id });

function About({ plugin, onChange }: Part) {
	const { organization } = useOrganization();
	const { url } = plugin;
	return (
		<Section title="Installed" actions={<Updates plugin={plugin} onChange={onChange} />}>
			<div class="panel">
				<Facts
					rows={[
						["Version", <Version key="version" plugin={plugin} />],
						[
							"Source",
							url ? (
								<a href={url} rel="noreferrer" target="_blank">
									{originOf(url)}
								</a>
							) : (
								"Created here"
							),
						],
						[
							"Owner",
							plugin.organization_id === organization.id
								? "Your organization"
								: plugin.organization_name,
						],
						[
							"Available to",
							plugin.is_global ? <Badge>All organizations</Badge> : "Only this organization",
						],
					]}
				/>
			</div>
		</Section>
	);
}

function Updates({ plugin, onChange }: Part) {
	const { canChangeCode, isOwn } = useRights(plugin);
	// One at a time, because the response to a check may arrive after the response to an upgrade.
	const { isBusy, run } = useAction();
	if (!isOwn || !plugin.url) return null;

	async function check() {
		const checked = await api.pipelineDestinations.checkForUpdates(at(plugin));
		onChange(checked);
		const { update_available, latest_tag } = checked;
		say(
			update_available && latest_tag
				? `Version ${versionName(latest_tag)} is available.`
				: "The newest version is installed.",
		);
	}
	async function upgrade() {
		const isSure = await confirm({
			title: `Upgrade ${nameOf(plugin)}?`,
			text: `Version ${versionName(plugin.latest_tag ?? "")} immediately replaces the current code in all projects. Settings stay.`,
			action: "Upgrade plugin",
			isDangerous: false,
		});
		if (!isSure) return;
		const upgraded = await api.pipelineDestinations.upgrade(at(plugin), newest(plugin));
		onChange(upgraded);
		say(
			upgraded.tag === plugin.tag
				? `${nameOf(upgraded)} stays at ${versionName(upgraded.tag ?? "")}.`
				: `${nameOf(upgraded)} is upgraded to ${versionName(upgraded.tag ?? "")}.`,
		);
	}
	return (
		<>
			<Button class="secondary" isOff={isBusy} onPress={() => run(check)}>
				Check for updates
			</Button>
			{hasUpdate(plugin) && canChangeCode && (
				<Button class="secondary" isOff={isBusy} onPress={() => run(upgrade)}>
					Upgrade
				</Button>
			)}
		</>
	);
}

/** Where the plugin is set up. */
function Uses({ plugin: { id: plugin } }: { plugin: Plugin }) {
	const { at, organization, to } = useOrganization();
	const list = useList(
		(page, signal) => api.organizationPluginConfigs.list({ ...at, ...page, plugin }, { signal }),
		[organization.id, plugin],
	);
	const columns: Column<PluginConfig>[] = [
		{
			title: "Plugin config",
			cell: ({ id, name, team_id }) => (
				<a href={to(`plugin_configs/${team_id}/${id}`)}>{name || `Config ${id}`}</a>
			),
		},
		{
			title: "Project",
			cell: ({ team_id }) => (
				<a href={to(`projects/${team_id}`)}>
					{organization.teams.find(({ id }) => id === team_id)?.name ?? `Project ${team_id}`}
				</a>
			),
		},
		{
			title: "State",
			cell: (config) => <ConfigState config={config} />,
		},
	];
	return (
		<Section title="Used in">
			<Table
				list={list}
				label="Plugin configs"
				columns={columns}
				empty={<Empty title="Not used yet">No project that you can see has a config of it.</Empty>}
			/>
		</Section>
	);
}

const codes = (names: string[]) =>
	names.length > 0 ? (
		<span class="row">
			{names.map((name) => (
				<code key={name}>{name}</code>
			))}
		</span>
	) : (
		"–"
	);

function Abilities({ plugin }: { plugin: Plugin }) {
	const { methods = [], scheduled_tasks = [] } = plugin.capabilities;
	return (
		<Section title="Capabilities">
			<div class="panel">
				<Facts
					rows={[
						["Methods", codes(methods)],
						["Scheduled tasks", codes(scheduled_tasks)],
						["Jobs", codes(jobsOf(plugin).map(({ name }) => name))],
						["Settings", codes(fieldsOf(plugin.config_schema).map(({ key }) => key))],
					]}
				/>
			</div>
		</Section>
	);
}

function Remove({ plugin }: { plugin: Plugin }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	const { is_global } = plugin;
	async function remove() {
		const yes = await confirm({
			title: `Remove ${nameOf(plugin)}?`,
			text: (
				<>
					<p>
						Its source is deleted, and its settings, logs and stored data in all projects. For 30
						days, it can be restored with them, except the logs.
					</p>
					<Going
						lead="This stops and deletes"
						none="No project uses it."
						load={async (signal) => itemsOf(await api.plugins.getContents(at(plugin), { signal }))}
					/>
				</>
			),
			action: "Remove plugin",
			typed: nameOf(plugin),
		});
		if (!yes) return;
		await api.pipelineDestinations.delete(at(plugin));
		say(`${nameOf(plugin)} is removed.`, async () => {
			const { id, ...place } = at(plugin);
			await api.plugins.restore({ ...place, id: String(id) });
			say(`${nameOf(plugin)} is restored.`);
			return to(`plugins/${id}`);
		});
		navigate(to("plugins"));
	}
	return (
		<Danger
			title="Remove this plugin"
			text={
				is_global
					? "You can't remove a global plugin. Make it local first."
					: "Also deletes its settings in all projects."
			}
			action={!is_global && "Remove plugin"}
			onPress={remove}
		/>
	);
}

function Dangers({ plugin, onChange }: Part) {
	const { isRoot } = useAccess();
	const { isOwn } = useRights(plugin);
	if (!isOwn) return null;
	const { is_global } = plugin;

	async function share() {
		onChange(await api.pipelineDestinations.update(at(plugin), { is_global: !is_global }));
		say(
			is_global
				? "Only your organization can use the plugin now."
				: "All organizations can use the plugin now.",
		);
	}

	return (
		<DangerZone>
			{isRoot && (
				<Danger
					title={is_global ? "Make this plugin local" : "Make this plugin global"}
					text={
						is_global
							? "Other organizations can no longer set it up."
							: "All organizations can set it up. Only yours can change it."
					}
					look="secondary"
					action={is_global ? "Make local" : "Make global"}
					onPress={share}
				/>
			)}
			<Remove plugin={plugin} />
		</DangerZone>
	);
}
