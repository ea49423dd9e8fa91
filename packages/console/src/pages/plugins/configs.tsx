import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PluginConfig } from "tenantry-client";
import { type Loaded, MAX_ROWS, useLoad, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api, me } from "../../session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Empty, Show } from "../../ui/feedback.tsx";
import { Filter, Filters, ProjectFilter, Search } from "../../ui/filters.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { useAccess } from "./access.ts";
import { ConfigList, filterOf } from "./config_list.tsx";
import { configName, EnabledSwitch, PluginLine, Success } from "./config_parts.tsx";
import { useDrag, useOrder } from "./order.ts";
import { PluginsAreOff } from "./plugins.tsx";

/** Returns the project in the URL; otherwise the user's current project, or the first one. */
export function useProject() {
	const { organization } = useOrganization();
	const [{ project }] = useQuery();
	const { teams } = organization;
	const current = me.value?.team?.id;
	return (
		teams.find(({ id }) => String(id) === project) ??
		teams.find(({ id }) => id === current) ??
		teams[0]
	);
}

/** Returns all configs of a project, which are needed to order them. */
export async function readConfigs(project: number, signal?: AbortSignal) {
	const configs: PluginConfig[] = [];
	for await (const config of api.pluginConfigs.list({ project, limit: MAX_ROWS }, { signal }))
		configs.push(config);
	return configs;
}

/** Returns the configs of all projects of an organization, by project and order. */
async function readAllConfigs(organization: string, signal: AbortSignal) {
	const configs: PluginConfig[] = [];
	const pages = api.organizationPluginConfigs.list({ organization, limit: MAX_ROWS }, { signal });
	for await (const config of pages) configs.push(config);
	return configs;
}

const LEAD =
	"A plugin config sets up a plugin in one project. It has its own settings, jobs and log. To install plugins, go to ";

/** The plugin configs of an organization (docs/console.md#plugins). */
export default function Configs() {
	const { organization, to } = useOrganization();
	const { canConfigure } = useAccess();
	const [{ project, view }] = useQuery();
	const { teams } = organization;
	const only = teams.find(({ id }) => String(id) === project);
	if (!canConfigure)
		return (
			<PageView title="Plugin configs">
				<PluginsAreOff />
			</PageView>
		);
	if (teams.length === 0)
		return (
			<PageView title="Plugin configs">
				<Empty title="No project">
					Plugins are set up in projects. Create a project, or ask an admin for access to one.
				</Empty>
			</PageView>
		);
	const newPath = to(only ? `plugin_configs/new?project=${only.id}` : "plugin_configs/new");
	return (
		<PageView
			title="Plugin configs"
			lead={
				<>
					{LEAD}
					<a href={to("plugins")}>Plugins</a>.
				</>
			}
			actions={<LinkButton href={newPath}>Set up plugin</LinkButton>}
		>
			<Filters>
				<Search label="Search plugin configs" />
				<Filter
					name="state"
					label="State"
					options={[
						["", "All states"],
						["enabled", "Enabled"],
						["disabled", "Disabled"],
						["failing", "Failing"],
					]}
				/>
				<ProjectFilter projects={teams} />
				<Filter
					name="view"
					label="View"
					options={[
						["", "In their order"],
						["table", "As a table"],
					]}
				/>
			</Filters>
			{view === "table" ? (
				<ConfigList project={only} />
			) : (
				<Projects only={only} newPath={newPath} />
			)}
		</PageView>
	);
}

type Team = { id: number; name: string };

/** The configs that match the filters, by project. Projects without any aren't shown. */
function Projects(shown: {
	/** The project in the filter. */
	only: Team | undefined;
	newPath: string;
}) {
	const { organization } = useOrganization();
	const loaded = useLoad((signal) => readAllConfigs(organization.id, signal), [organization.id]);
	return (
		<Show of={loaded}>
			{(configs) => <ByProject configs={configs} loaded={loaded} {...shown} />}
		</Show>
	);
}

function ByProject({
	configs,
	only,
	loaded,
	newPath,
}: {
	configs: PluginConfig[];
	only: Team | undefined;
	loaded: List;
	newPath: string;
}) {
	const { organization } = useOrganization();
	const [query] = useQuery();
	const matches = filterOf(query);
	const isFiltered = matches !== undefined;
	const teams = only ? [only] : organization.teams;
	const inProject = ({ id }: Team) => configs.filter(({ team_id }) => team_id === id);
	const parts = teams.map((project) => ({
		project,
		configs: inProject(project).filter((config) => matches?.(config) ?? true),
	}));
	const shown = parts.filter(({ configs }) => configs.length > 0);
	if (shown.length === 0)
		return isFiltered ? (
			<Empty title="No plugin configs found">Change or remove the filters.</Empty>
		) : (
			<Empty title={only ? `No plugins in ${only.name} yet` : "No plugins are set up yet"}>
				<a href={newPath}>Set up a plugin</a>: choose it, enter its settings, and enable it.
			</Empty>
		);
	return (
		<>
			{shown.map(({ project, configs }) => (
				<InProject
					key={project.id}
					project={project}
					configs={configs}
					isFiltered={isFiltered}
					isNamed={!only && organization.teams.length > 1}
					loaded={loaded}
				/>
			))}
		</>
	);
}

function InProject({
	project,
	configs,
	isFiltered,
	isNamed,
	loaded,
}: {
	project: Team;
	configs: PluginConfig[];
	isFiltered: boolean;
	/** Whether the page shows other projects, too. */
	isNamed: boolean;
	loaded: List;
}) {
	const prefix = isNamed ? `${project.name}: ` : "";
	const enabled = configs.filter(({ enabled }) => enabled);
	const disabled = configs.filter(({ enabled }) => !enabled);
	return (
		<>
			{enabled.length > 0 && (
				<Section title={`${prefix}Enabled, in order`}>
					<Ordered configs={enabled} isFiltered={isFiltered} project={project.id} loaded={loaded} />
				</Section>
			)}
			{disabled.length > 0 && (
				<Section title={`${prefix}Disabled`}>
					<ol class="configs">
						{disabled.map((config) => (
							<li key={config.id}>
								<Row config={config} loaded={loaded} />
							</li>
						))}
					</ol>
				</Section>
			)}
		</>
	);
}

type List = Loaded<PluginConfig[]>;

function Row({ config, loaded }: { config: PluginConfig; loaded: List }) {
	const { to } = useOrganization();
	return (
		<>
			<div class="config-name">
				<a href={to(`plugin_configs/${config.team_id}/${config.id}`)}>
					<strong>{configName(config)}</strong>
				</a>{" "}
				<small>
					<PluginLine config={config} />
				</small>
				{config.error && <small class="below field-error">{config.error}</small>}
			</div>
			<Success rate={config.delivery_rate_24h} />
			<a class="config-log" href={to(`plugin_configs/${config.team_id}/${config.id}/log`)}>
				Log<span class="unseen"> of {configName(config)}</span>
			</a>
			<EnabledSwitch
				config={config}
				onChanged={(changed) =>
					loaded.change((all) => all.map((one) => (one.id === changed.id ? changed : one)))
				}
			/>
		</>
	);
}

/** Whether the enabled configs are in this order. Configs that aren't in both lists are ignored. */
function isSameOrder(configs: readonly PluginConfig[], order: readonly number[]) {
	const enabled = configs.filter(({ enabled }) => enabled).map(({ id }) => id);
	const known = order.filter((id) => enabled.includes(id));
	return enabled.filter((id) => order.includes(id)).join() === known.join();
}

/**
 * Saves the order of the enabled configs, unless someone else has changed it since this page last
 * showed or saved it.
 */
function useSavedOrder(configs: PluginConfig[], project: number, loaded: List) {
	const known = useRef<number[]>([]);
	known.current = configs.map(({ id }) => id);
	return useOrder(known.current, async (ids) => {
		const current = await readConfigs(project);
		if (!isSameOrder(current, known.current)) {
			loaded.change((all) => [...all.filter(({ team_id }) => team_id !== project), ...current]);
			throw new Error(
				"Someone else has changed the order. The list now shows the new order, so repeat your change.",
			);
		}
		const orders = Object.fromEntries(ids.map((id, i) => [id, i + 1]));
		await api.pluginConfigs.rearrange({ project }, { orders });
		known.current = ids;
		loaded.change((all) =>
			all
				.map((config) => ({ ...config, order: orders[config.id] ?? config.order }))
				.sort((a, b) => a.order - b.order || a.id - b.id),
		);
	});
}

/**
 * Buttons that move a config up and down. They keep the focus after a move, which takes it from the
 * moved item.
 */
function useMoveButtons(count: number, move: (config: PluginConfig, to: number) => void) {
	const pressed = useRef<{ id: number; word: string }>(undefined);
	useLayoutEffect(() => {
		if (!pressed.current) return;
		const { id, word } = pressed.current;
		pressed.current = undefined;
		for (const name of [`${word}-${id}`, `up-${id}`, `down-${id}`]) {
			document.getElementById(name)?.focus();
			if (document.activeElement?.id === name) break;
		}
	});
	const button = (config: PluginConfig, to: number, word: "up" | "down") => (
		<button
			type="button"
			id={`${word}-${config.id}`}
			class="secondary outline small"
			aria-label={`Move ${configName(config)} ${word}`}
			disabled={to < 0 || to >= count}
			onClick={() => {
				pressed.current = { id: config.id, word };
				move(config, to);
			}}
		>
			{word === "up" ? "↑" : "↓"}
		</button>
	);
	return (config: PluginConfig, at: number) => (
		<span class="order-buttons">
			{button(config, at - 1, "up")}
			{button(config, at + 1, "down")}
		</span>
	);
}

/** The enabled configs, which can be reordered by dragging or with buttons. */
function Ordered({
	configs,
	isFiltered,
	project,
	loaded,
}: {
	configs: PluginConfig[];
	isFiltered: boolean;
	project: number;
	loaded: List;
}) {
	const [note, setNote] = useState("");
	const order = useSavedOrder(configs, project, loaded);
	const shown = order.ids.flatMap((id) => configs.find((config) => config.id === id) ?? []);
	function move(config: PluginConfig, to: number) {
		order.move(config.id, to);
		setNote(`${configName(config)} is now ${to + 1} of ${configs.length}.`);
	}
	const drag = useDrag(order.ids, (id, to) => {
		const config = configs.find((config) => config.id === id);
		if (config) move(config, to);
	});
	const buttons = useMoveButtons(shown.length, move);
	return (
		<>
			<ol ref={drag.list} class={isFiltered ? "configs" : "configs ordered"}>
				{shown.map((config, i) => (
					<li key={config.id} class={drag.markOf(config.id)}>
						{!isFiltered && shown.length > 1 && (
							<>
								<span
									class="grip"
									title="Drag to move"
									aria-hidden="true"
									onPointerDown={(event) => drag.start(event, config.id)}
								>
									⠿
								</span>
								{buttons(config, i)}
							</>
						)}
						<Row config={config} loaded={loaded} />
					</li>
				))}
			</ol>
			<p class="unseen" role="status">
				{note}
			</p>
		</>
	);
}
