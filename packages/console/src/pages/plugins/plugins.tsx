import type { ListedPlugin, Plugin } from "tenantry-client";
import { useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { PageView, Tabs } from "../../ui/page.tsx";
import { useSorted } from "../../ui/sorted.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Badge } from "../../ui/values.tsx";
import { Entries } from "../events/object_activity.tsx";
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

/** The list of unused plugins is of one family, which isn't in it. */
type Row = Plugin & Partial<Pick<ListedPlugin, "families">>;

const columnsIn = (
	organization: string,
	to: (path: string) => string,
	familiesOf: (plugin: Row) => string,
): Column<Row>[] => [
	{
		title: "Plugin",
		value: nameOf,
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
		value: familiesOf,
		cell: (plugin) => <span class="whole-words">{familiesOf(plugin) || "–"}</span>,
	},
	{
		title: "Source",
		value: ({ url, organization_id, organization_name }) =>
			organization_id !== organization ? organization_name : url ? originOf(url) : "Created here",
		cell: ({ url, organization_id, organization_name, is_global }) => (
			<>
				{organization_id === organization ? (
					url ? (
						originOf(url)
					) : (
						<span class="whole-words">Created here</span>
					)
				) : (
					organization_name
				)}
				{is_global && (
					<>
						{" "}
						<Badge>Global</Badge>
					</>
				)}
			</>
		),
	},
	{
		title: "Version",
		value: ({ tag }) => tag,
		cell: (plugin) => <Version plugin={plugin} />,
	},
];

/** Returns the operations of a family. */
const apiOf = (family: Family) =>
	({
		pipeline_destinations: api.pipelineDestinations,
		pipeline_import_apps: api.pipelineImportApps,
		pipeline_frontend_apps: api.pipelineFrontendApps,
	})[family];

export default function Plugins() {
	const { organization, at, to } = useOrganization();
	const { canConfigure, canInstall } = useAccess();
	const [{ search, family, show }] = useQuery();
	const chosen = isFamily(family) ? family : undefined;
	if (!canConfigure)
		return (
			<PageView title="Plugins">
				<PluginsAreOff />
			</PageView>
		);
	const tab = (family?: string) => to(family ? `plugins?family=${family}` : "plugins");
	const isActivity = chosen && show === "activity";
	return (
		<PageView
			title="Plugins"
			lead={
				<>
					{chosen
						? `${familyName(chosen)} ${FAMILY_WORDS[chosen].toLowerCase()}`
						: "Plugins send events elsewhere, import events, or run in the browser."}{" "}
					Install them here for your organization, then set them up in each project with a{" "}
					<a href={to("plugin_configs")}>plugin config</a>.
				</>
			}
			actions={canInstall && <LinkButton href={to("plugins/install")}>Install plugin</LinkButton>}
		>
			<Tabs
				label="Families"
				current={tab(chosen)}
				tabs={[
					[tab(), "All"],
					...FAMILIES.map(([family, words]): [string, string] => [tab(family), words]),
				]}
			/>
			{chosen && (
				<p>
					{isActivity ? (
						<a href={tab(chosen)}>Back to the list</a>
					) : (
						<a href={`${tab(chosen)}&show=activity`}>
							Activity of all {familyName(chosen).toLowerCase()}
						</a>
					)}
				</p>
			)}
			{isActivity ? (
				<Entries
					scope="Plugin"
					of={chosen}
					about={(id) => to(`plugins/${id}/activity`)}
					load={(asked, signal) => apiOf(chosen).listActivity({ ...at, ...asked }, { signal })}
				/>
			) : (
				<PluginList organization={organization.id} search={search} family={chosen} />
			)}
		</PageView>
	);
}

/** Replaces the pages of plugins if the organization isn't allowed to use them. */
export const PluginsAreOff = () => (
	<Empty title="Plugins are turned off">
		To use plugins, ask the operator of this service to turn them on for your organization.
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
	const [{ unused }] = useQuery();
	const isUnused = family !== undefined && unused === "true";
	const columns = columnsIn(organization, to, ({ families = family ? [family] : [] }) =>
		families.map(familyName).join(", "),
	);
	const list = useSorted<Row>(
		(range, options) =>
			isUnused
				? apiOf(family).listUnused({ organization, ...range }, options)
				: api.plugins.list({ organization, ...range, search, family }, options),
		[organization, search, family, isUnused],
		{ columns, name: "plugins" },
	);
	return (
		<>
			<Filters>
				{/* The list of unused plugins has no search. */}
				{!isUnused && <Search label="Search plugins" />}
				{family && (
					<Filter
						name="unused"
						label="Use"
						options={[
							["", "Used or unused"],
							["true", "Without an enabled config"],
						]}
					/>
				)}
			</Filters>
			<Table
				list={list}
				label="Plugins"
				columns={columns}
				notFound={
					isUnused
						? "All of them have an enabled config."
						: search && `No plugin has “${search}” in its name, description or URL.`
				}
				empty={
					<Empty title={family ? "No plugins of this family yet" : "No plugins yet"}>
						{canInstall ? (
							<>
								<a href={to("plugins/install")}>Install a plugin</a> from npm, GitHub, GitLab or the
								catalogue, or create your own.
							</>
						) : (
							"Your organization can use plugins, but not install them."
						)}
					</Empty>
				}
			/>
		</>
	);
}
