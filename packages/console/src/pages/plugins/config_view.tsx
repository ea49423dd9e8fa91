import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso/router";
import { type Loaded, useLoad } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { Show, say } from "../../ui/feedback.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { type Config, configName, EnabledSwitch } from "./config_parts.tsx";
import { pluginIn } from "./schema.ts";
import { nameOf } from "./words.tsx";

export function useIds() {
	const { project = "", config = "" } = useRoute().params;
	return { project, id: config };
}

/** Loads the config in the URL. */
export function useConfig() {
	const { project, id } = useIds();
	return useLoad<Config>(
		(signal) => api.pluginConfigs.get({ project: Number(project), id }, { signal }),
		[project, id],
	);
}

/** Says that the config is hidden, and offers to restore it. */
function Hidden({ config, reload }: { config: Config; reload: () => Promise<unknown> }) {
	async function restore() {
		await api.pluginConfigs.update({ project: config.team_id, id: config.id }, { deleted: false });
		say(`${configName(config)} is restored. It stays disabled until you enable it.`);
		await reload();
	}
	return (
		<div class="problem">
			<p>This config is disabled and hidden from lists.</p>
			<SecondaryButton onPress={restore}>Restore config</SecondaryButton>
		</div>
	);
}

export function ConfigView({
	of,
	tab,
	children,
}: {
	of: Loaded<Config>;
	/** The last part of the path. */
	tab: "" | "/log" | "/activity";
	children: (config: Config) => ComponentChildren;
}) {
	const { to, organization } = useOrganization();
	const { project, id } = useIds();
	const { data: config } = of;
	const path = to(`plugin_configs/${project}/${id}`);
	const team = organization.teams.find((team) => String(team.id) === project);
	return (
		<PageView
			title={config ? configName(config) : "Plugin config"}
			above={[
				[to("plugin_configs"), "Plugin configs"],
				[to(`plugin_configs?project=${project}`), team?.name ?? `Project ${project}`],
			]}
			actions={
				config &&
				!config.deleted && (
					<>
						<a
							class="button secondary"
							href={to(`plugin_configs/new?plugin=${config.plugin}&project=${project}&of=${id}`)}
						>
							Duplicate
						</a>
						<EnabledSwitch config={config} onChanged={of.reload} />
					</>
				)
			}
			lead={
				config && (
					<>
						A config of the plugin{" "}
						<a href={to(`plugins/${config.plugin}`)}>
							{nameOf({ ...pluginIn(config), id: config.plugin })}
						</a>
						, for this project only. {config.description}
					</>
				)
			}
		>
			<Tabs
				label="Plugin config"
				current={path + tab}
				tabs={[
					[path, "Settings"],
					[`${path}/log`, "Jobs and log"],
					[`${path}/activity`, "Activity"],
				]}
			/>
			{config?.deleted && <Hidden config={config} reload={of.reload} />}
			{config?.error && (
				<div class="problem last-failure">
					<p>
						<strong>The last run failed.</strong> {config.error}
					</p>
				</div>
			)}
			<Show of={of}>{children}</Show>
		</PageView>
	);
}
