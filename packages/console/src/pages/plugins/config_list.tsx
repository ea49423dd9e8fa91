/** The plugin configs as a table, which is sorted and saved. The other view keeps their order. */
import type { PluginConfig } from "tenantry-client";
import { has, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { ConfigState, configName, Success, stateOf } from "./config_parts.tsx";
import { pluginIn } from "./schema.ts";

/** Returns the filter that the URL has; undefined without one. */
export function filterOf({ search = "", state = "" }: Record<string, string>) {
	if (search === "" && state === "") return undefined;
	return (config: PluginConfig) =>
		[config.name, config.description, pluginIn(config).name].some((text) => has(text, search)) &&
		(state !== "enabled" || config.enabled) &&
		(state !== "disabled" || !config.enabled) &&
		(state !== "failing" || config.error !== null);
}

function columnsOf(
	projects: readonly { id: number; name: string }[],
	to: (path: string) => string,
): Column<PluginConfig>[] {
	const projectOf = ({ team_id }: PluginConfig) =>
		projects.find(({ id }) => id === team_id)?.name ?? `Project ${team_id}`;
	return [
		{
			title: "Plugin config",
			value: configName,
			cell: (config) => (
				<a href={to(`plugin_configs/${config.team_id}/${config.id}`)}>{configName(config)}</a>
			),
		},
		{
			title: "Plugin",
			value: (config) => pluginIn(config).name,
			cell: (config) => pluginIn(config).name,
		},
		{
			title: "Project",
			value: projectOf,
			cell: (config) => <a href={to(`projects/${config.team_id}`)}>{projectOf(config)}</a>,
		},
		{
			title: "State",
			value: stateOf,
			cell: (config) => <ConfigState config={config} />,
		},
		{
			title: "Succeeded in 24 hours",
			value: ({ delivery_rate_24h: rate }) => (rate === null ? null : Number(rate)),
			cell: ({ delivery_rate_24h }) =>
				delivery_rate_24h === null ? "–" : <Success rate={delivery_rate_24h} />,
		},
	];
}

export function ConfigList({ project }: { project: { id: number } | undefined }) {
	const { organization, to } = useOrganization();
	const [query] = useQuery();
	const { search, state } = query;
	const isWanted = filterOf(query);
	const columns = columnsOf(organization.teams, to);
	const list = useSorted(
		(range, options) =>
			project
				? api.pluginConfigs.list({ project: project.id, ...range }, options)
				: api.organizationPluginConfigs.list({ organization: organization.id, ...range }, options),
		[organization.id, project?.id, search, state],
		{ columns, name: "plugin-configs", matches: isWanted },
	);
	return (
		<Table
			list={list}
			label="Plugin configs"
			columns={columns}
			notFound="Change or remove the filters."
		/>
	);
}
