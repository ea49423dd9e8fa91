import { useState } from "preact/hooks";
import { type Plugin, type RepositoryEntry, TenantryError } from "tenantry-client";
import { has, MAX_ROWS, useLoad, useNavigate, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useAction } from "../../ui/button.tsx";
import { Empty, Show, say } from "../../ui/feedback.tsx";
import { Filter, Filters, Search } from "../../ui/filters.tsx";
import { Choice, Field, Form, Group, rejection, text } from "../../ui/form.tsx";
import { PageView, Section } from "../../ui/page.tsx";
import { Badge } from "../../ui/values.tsx";
import { useAccess } from "./access.ts";
import { PluginsAreOff } from "./plugins.tsx";
import { FAMILIES, FAMILY_WORDS, isFamily, nameOf } from "./words.tsx";

/**
 * Returns the id of the installed plugin, if the error links to it because the URL is already
 * installed.
 */
const installedId = (error: unknown) =>
	error instanceof TenantryError
		? /\/(\d+)\/>; rel="item"/.exec(error.headers.get("link") ?? "")?.[1]
		: undefined;

/** Assigns errors about the URL to its field. */
const aboutUrl = (error: unknown) =>
	error instanceof TenantryError && error.status === 400 && error.attr === null
		? rejection("url", error.detail)
		: error;

/** The page that installs a plugin from a URL or the catalogue, or creates one. */
export default function Install() {
	const { at, organization, to } = useOrganization();
	const { canInstall } = useAccess();
	const navigate = useNavigate();

	function open(plugin: Pick<Plugin, "id" | "name">) {
		say(`${nameOf(plugin)} is installed.`);
		navigate(to(`plugins/${plugin.id}`));
	}

	async function install(url: string) {
		try {
			return await api.pipelineDestinations.create(at, { url });
		} catch (error) {
			const id = installedId(error);
			if (!id) throw error;
			return api.pipelineDestinations.get({ ...at, id });
		}
	}

	const above: [string, string][] = [[to("plugins"), "Plugins"]];
	if (!canInstall)
		return (
			<PageView title="Install plugin" above={above}>
				<PluginsAreOff />
			</PageView>
		);
	return (
		<PageView
			title="Install plugin"
			above={above}
			lead={
				<>
					After installing a plugin, set it up in a project with a{" "}
					<a href={to("plugin_configs")}>plugin config</a>.
				</>
			}
		>
			<Section title="From a URL">
				<FromUrl onInstall={async (url) => open(await install(url))} />
			</Section>
			<Section title="From the catalogue">
				<Catalogue
					organization={organization.id}
					onInstall={async (url) => open(await install(url))}
				/>
			</Section>
			<Section title="Write your own">
				<Own organization={organization.id} />
			</Section>
		</PageView>
	);
}

function FromUrl({ onInstall }: { onInstall: (url: string) => Promise<void> }) {
	const [isPrivate, setPrivate] = useState(false);
	return (
		<Form
			action="Install"
			onSubmit={async (fields) => {
				const token = text(fields, "token");
				const url =
					text(fields, "url") + (token && `?${new URLSearchParams({ private_token: token })}`);
				try {
					await onInstall(url);
				} catch (error) {
					throw aboutUrl(error);
				}
			}}
		>
			<Field
				name="url"
				label="URL"
				type="url"
				required
				placeholder="https://www.npmjs.com/package/…"
				hint="A package on npmjs.com, or a repository on github.com or gitlab.com. To pin the plugin, add a version, branch, tag or commit."
			/>
			{isPrivate ? (
				<Field
					name="token"
					label="Access token"
					type="password"
					autocomplete="off"
					hint="Used to read the private repository, also for upgrades. It is stored encrypted and never shown."
				/>
			) : (
				<p>
					<button type="button" class="link" onClick={() => setPrivate(true)}>
						Use a private repository
					</button>
				</p>
			)}
		</Form>
	);
}

const hasText = ({ name, description, maintainer }: RepositoryEntry, text: string) =>
	[name, description, maintainer].some((value) => has(value, text));

/** The names of the types in the catalogue. */
const TYPES: Record<string, string> = {
	data_in: "Imports events",
	data_out: "Sends events elsewhere",
	data_enrichment: "Enriches events",
	other: "Other",
};

/** Returns the whole catalogue, which is short. */
async function readCatalogue(organization: string, signal: AbortSignal) {
	const entries: RepositoryEntry[] = [];
	const pages = api.pipelineDestinations.listRepository(
		{ organization, limit: MAX_ROWS },
		{ signal },
	);
	for await (const entry of pages) entries.push(entry);
	return entries;
}

const CatalogueEntry = ({
	entry,
	isBusy,
	isInstalling,
	onInstall,
}: {
	entry: RepositoryEntry;
	isBusy: boolean;
	isInstalling: boolean;
	onInstall: () => void;
}) => (
	<li class="panel">
		<div>
			<h3>
				<a href={entry.url} rel="noreferrer" target="_blank">
					{entry.name}
				</a>{" "}
				{entry.verified && <Badge mood="good">Verified</Badge>}
			</h3>
			<p>{entry.description}</p>
		</div>
		<div class="catalogue-foot">
			<small>
				{TYPES[entry.type] ?? entry.type} · by {entry.maintainer}
			</small>
			{entry.installed ? (
				<Badge>Installed</Badge>
			) : (
				<button
					type="button"
					class="secondary outline small"
					aria-label={`Install ${entry.name}`}
					aria-disabled={isBusy}
					aria-busy={isInstalling}
					onClick={onInstall}
				>
					{isInstalling ? "Installing…" : "Install"}
				</button>
			)}
		</div>
	</li>
);

function Catalogue({
	organization,
	onInstall,
}: {
	organization: string;
	onInstall: (url: string) => Promise<void>;
}) {
	const [{ search = "", type }] = useQuery();
	const { isBusy, run } = useAction();
	const [installing, setInstalling] = useState<string>();
	const loaded = useLoad((signal) => readCatalogue(organization, signal), [organization]);
	return (
		<>
			<Filters>
				<Search label="Search the catalogue" />
				<Filter name="type" label="Type" options={[["", "All types"], ...Object.entries(TYPES)]} />
			</Filters>
			<Show of={loaded}>
				{(entries) => {
					const shown = entries.filter(
						(entry) => hasText(entry, search) && (!type || entry.type === type),
					);
					if (shown.length === 0)
						return (
							<Empty title="No plugins found">
								Search for something else, or install a plugin from a URL.
							</Empty>
						);
					return (
						<ul class="catalogue">
							{shown.map((entry) => (
								<CatalogueEntry
									key={entry.url}
									entry={entry}
									isBusy={isBusy}
									isInstalling={isBusy && installing === entry.url}
									onInstall={() =>
										run(() => {
											setInstalling(entry.url);
											return onInstall(entry.url);
										})
									}
								/>
							))}
						</ul>
					);
				}}
			</Show>
		</>
	);
}

const CREATE = {
	pipeline_destinations: () => api.pipelineDestinations,
	pipeline_import_apps: () => api.pipelineImportApps,
	pipeline_frontend_apps: () => api.pipelineFrontendApps,
};

function Own({ organization }: { organization: string }) {
	const { to } = useOrganization();
	const navigate = useNavigate();
	return (
		<Form
			action="Create plugin"
			isSecondary
			onSubmit={async (fields) => {
				const family = text(fields, "family");
				const chosen = isFamily(family) ? family : "pipeline_destinations";
				const { id } = await CREATE[chosen]().create(
					{ organization },
					{ name: text(fields, "name") },
				);
				navigate(to(`plugins/${id}/source`));
			}}
		>
			<Field name="name" label="Name" required maxlength={200} />
			<Group label="Family">
				{FAMILIES.map(([family, words], i) => (
					<Choice
						key={family}
						name="family"
						value={family}
						label={
							<>
								{words} <small>{FAMILY_WORDS[family]}</small>
							</>
						}
						defaultChecked={i === 0}
					/>
				))}
			</Group>
		</Form>
	);
}
