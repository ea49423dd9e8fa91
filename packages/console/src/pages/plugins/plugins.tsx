import type { ListedPlugin } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filters, Search } from "../../ui/filters.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge } from "../../ui/values.tsx";
import { useAccess } from "./access.ts";
import {
	FAMILIES,
	FAMILY_WORDS,
	type Family,
	familyName,
	isFamily,
	nameOf,
	originOf,
	Version,
} from "./words.tsx";

const columnsIn = (organization: string, to: (path: string) => string): Column<ListedPlugin>[] => [
	{
		title: "Plugin",
		cell: (plugin) => (
			<>
				<a href={to(`plugins/${plugin.id}`)}>
					<strong>{nameOf(plugin)}</strong>
				</a>
				{plugin.description && <small class="below clipped">{plugin.description}</small>}
			</>
		),
	},
	{
		title: "Family",
		cell: ({ families }) => families.map(familyName).join(", ") || "–",
	},
	{
		title: "From",
		cell: ({ url, organization_id, organization_name, is_global }) => (
			<>
				{organization_id === organization
					? url
						? originOf(url)
						: "Written here"
					: organization_name}
				{is_global && (
					<>
						{" "}
						<Badge>Global</Badge>
					</>
				)}
			</>
		),
	},
	{ title: "Version", cell: (plugin) => <Version plugin={plugin} /> },
];

/** The plugins that an organization can use, by family. */
export default function Plugins() {
	const { organization, to } = useOrganization();
	const { canConfigure, canInstall } = useAccess();
	const [{ search, family }] = useQuery();
	const chosen = isFamily(family) ? family : undefined;
	if (!canConfigure)
		return (
			<PageView title="Plugins">
				<PluginsAreOff />
			</PageView>
		);
	const tab = (family?: string) => to(family ? `plugins?family=${family}` : "plugins");
	return (
		<PageView
			title="Plugins"
			lead={
				<>
					{chosen
						? `${familyName(chosen)} ${FAMILY_WORDS[chosen].toLowerCase()}`
						: "A plugin is code that sends events elsewhere, brings them in, or runs in the browser."}{" "}
					Install it here for your organization, then set it up in each project that should use it,
					with a <a href={to("plugin_configs")}>plugin config</a>.
				</>
			}
			actions={
				canInstall && (
					<a class="button" href={to("plugins/install")}>
						Install plugin
					</a>
				)
			}
		>
			<Tabs
				label="Families"
				current={tab(chosen)}
				tabs={[
					[tab(), "All"],
					...FAMILIES.map(([family, words]): [string, string] => [tab(family), words]),
				]}
			/>
			<PluginList organization={organization.id} search={search} family={chosen} />
		</PageView>
	);
}

/** What the pages of plugins show where the organization may not use them. */
export const PluginsAreOff = () => (
	<Empty title="Plugins are turned off">
		<p>Ask the operator of this service to turn them on for your organization.</p>
	</Empty>
);

function PluginList({
	organization,
	search,
	family,
}: {
	organization: string;
	search: string | undefined;
	family: Family | undefined;
}) {
	const { to } = useOrganization();
	const { canInstall } = useAccess();
	const list = useList(
		(page, signal) => api.plugins.list({ organization, ...page, search, family }, { signal }),
		[organization, search, family],
	);
	return (
		<>
			<Filters>
				<Search label="Search plugins" />
			</Filters>
			<Table
				list={list}
				label="Plugins"
				columns={columnsIn(organization, to)}
				id={({ id }) => id}
				empty={
					search ? (
						<Empty title="No plugin found">
							<p>No name, description or address contains “{search}”.</p>
						</Empty>
					) : (
						<Empty title={family ? "None of this family yet" : "No plugins yet"}>
							<p>
								{canInstall ? (
									<>
										<a href={to("plugins/install")}>Install one</a> from npm, GitHub, GitLab or the
										catalogue, or write your own.
									</>
								) : (
									"Your organization may use plugins but not install them."
								)}
							</p>
						</Empty>
					)
				}
			/>
		</>
	);
}
