import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { type Page, TenantryError } from "tenantry-client";
import { openPage } from "../leaving.ts";
import { has, MAX_ROWS, readable, useNavigate } from "../load.ts";
import { MENU, OWN_MENU } from "../menu.ts";
import { organizationIn, pathIn, usualOrganization } from "../organization.tsx";
import { api, me } from "../session.ts";
import { useDelay } from "../ui/delay.ts";
import { Dialog } from "../ui/dialog.tsx";
import { attempt } from "../ui/feedback.tsx";
import { nameOf } from "../ui/values.tsx";

/** Where the palette can lead. */
type Target = { path: string; words: string; kind: string };

/** The number of objects of each kind that are shown. */
const MAX_FOUND = 5;

/** The pages of the menu, and the overviews of the user's other organizations. */
function pagesOf(organization: string | undefined): Target[] {
	const below = organization === undefined ? [] : MENU.flatMap(([, entries]) => entries);
	return [
		...below.map(([path, words]) => ({
			path: pathIn(organization ?? "", path),
			words,
			kind: "Page",
		})),
		...OWN_MENU.map(([path, words]) => ({ path, words, kind: "Page" })),
		{ path: "/docs", words: "Documentation", kind: "Page" },
		...(me.value?.organizations ?? [])
			.filter(({ id }) => id !== organization)
			.map(({ id, name }) => ({ path: pathIn(id), words: name, kind: "Organization" })),
	];
}

/** Things to do, and whether they are for admins. */
const ACTIONS: readonly (readonly [path: string, words: string, isForAdmins: boolean])[] = [
	["members/invite", "Invite people", true],
	["batch_exports/new", "New export", false],
	["plugins/install", "Install a plugin", false],
	["plugin_configs/new", "Set up a plugin", false],
	["webhooks/new", "New webhook", true],
	["audit_streams/new", "New audit stream", true],
	["/console/keys/new", "New API key", false],
	["/console/new", "New organization", false],
];

const isAdminOf = (organization: string) =>
	(me.value?.organizations.find(({ id }) => id === organization)?.membership_level ?? 0) >= 8;

const actionsOf = (organization: string | undefined): Target[] =>
	ACTIONS.filter(
		([path, , isForAdmins]) =>
			path.startsWith("/") ||
			(organization !== undefined && (!isForAdmins || isAdminOf(organization))),
	).map(([path, words]) => ({
		path: path.startsWith("/") ? path : pathIn(organization ?? "", path),
		words,
		kind: "Action",
	}));

/** Lists the objects of a kind; none if the user may not list them. */
async function listed<T>(
	kind: string,
	list: PromiseLike<Page<T>>,
	targetOf: (row: T) => readonly [path: string, words: string],
): Promise<Target[]> {
	const { results } = await readable(list);
	return results.map((row) => {
		const [path, words] = targetOf(row);
		return { path, words, kind };
	});
}

const pathOfSearch = (list: string, search: string) =>
	`${list}?search=${encodeURIComponent(search)}`;

/** Finds objects of the kinds that the API searches. */
async function search(organization: string, text: string) {
	const asked = { organization, search: text, limit: MAX_FOUND };
	const found = await Promise.all([
		listed("Project", api.organizationProjects.list(asked), ({ id, name }) => [
			`projects/${id}`,
			name,
		]),
		listed("Member", api.members.list(asked), ({ user }) => [
			pathOfSearch("members", user.email),
			nameOf(user),
		]),
		listed("Invite", api.invites.list(asked), ({ target_email }) => [
			pathOfSearch("members/invites", target_email),
			target_email,
		]),
		listed("Domain", api.domains.list(asked), ({ id, domain }) => [`domains/${id}`, domain]),
		listed("Plugin", api.plugins.list(asked), ({ id, name }) => [`plugins/${id}`, name]),
	]);
	return found.flat();
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const NUMBER = /^\d{1,9}$/;

/** Finds one object; none if it doesn't exist or the user may not see it. */
async function one<T>(
	kind: string,
	get: PromiseLike<T>,
	targetOf: (found: T) => readonly [path: string, words: string],
): Promise<Target[]> {
	try {
		const [path, words] = targetOf(await get);
		return [{ path, words, kind }];
	} catch (error) {
		if (error instanceof TenantryError && [403, 404].includes(error.status)) return [];
		throw error;
	}
}

/** Finds what has this id, besides the objects that are loaded anyway. */
async function byId(organization: string, text: string) {
	const at = { organization };
	const id = text.toLowerCase();
	if (UUID.test(id))
		return Promise.all([
			one("Domain", api.domains.get({ ...at, id }), ({ domain }) => [`domains/${id}`, domain]),
			one("Member", api.members.getDetails({ ...at, user: id }), (user) => [
				`members/${id}`,
				nameOf(user),
			]),
			...(isAdminOf(organization)
				? [
						listed("Credential", api.credentials.list({ ...at, search: id }), ({ label }) => [
							pathOfSearch("credentials", id),
							label,
						]),
					]
				: []),
		]);
	return Promise.all([
		one("Project", api.organizationProjects.get({ ...at, id: Number(id) }), ({ name }) => [
			`projects/${id}`,
			name,
		]),
		one("Plugin", api.pipelineDestinations.get({ ...at, id }), ({ name }) => [
			`plugins/${id}`,
			name,
		]),
		listed(
			"Plugin config",
			api.organizationPluginConfigs.list({ ...at, limit: MAX_ROWS }),
			({ id, team_id, name }) => [`plugin_configs/${team_id}/${id}`, name || `Config ${id}`],
		).then((configs) => configs.filter(({ path }) => path.endsWith(`/${id}`))),
	]);
}

const isId = (text: string) => UUID.test(text) || NUMBER.test(text);

/** The exports, and what pauses or resumes them. */
async function loadExports(asked: { organization: string; limit: number }) {
	const { results } = await readable(api.batchExports.list(asked));
	return [
		results.map(({ id, name }) => ({ path: `batch_exports/${id}`, words: name, kind: "Export" })),
		results.map(({ id, name, paused }) => ({
			path: `batch_exports/${id}?do=${paused ? "resume" : "pause"}`,
			words: `${paused ? "Resume" : "Pause"} ${name}`,
			kind: "Action",
		})),
	];
}

/** Returns the newest objects of each kind that the API doesn't search. */
async function load(organization: string) {
	const asked = { organization, limit: MAX_ROWS };
	const ofAdmins = isAdminOf(organization)
		? [
				listed("Webhook", api.webhooks.list(asked), ({ id, url }) => [`webhooks/${id}`, url]),
				listed("Audit stream", api.auditStreams.list(asked), ({ id, name }) => [
					`audit_streams/${id}`,
					name,
				]),
				listed("Service account", api.serviceAccounts.list(asked), ({ id, name }) => [
					`service_accounts/${id}`,
					name,
				]),
			]
		: [];
	const [[exports = [], switches = []], ...others] = await Promise.all([
		loadExports(asked),
		...ofAdmins,
	]);
	return [exports, ...others, switches];
}

/** Searches, a moment after the last letter. */
function useTargets(organization: string | undefined, text: string) {
	const [found, setFound] = useState<{ text: string; objects: Target[] }>();
	const { delay, cancel } = useDelay();
	const loaded = useRef<Promise<Target[][]> | undefined>(undefined);
	async function find(organization: string) {
		loaded.current ??= load(organization).catch((error: unknown) => {
			loaded.current = undefined;
			throw error;
		});
		const finding = isId(text) ? byId(organization, text) : search(organization, text);
		const [searched, all] = await Promise.all([finding, loaded.current]);
		const named = all.flatMap((objects) =>
			objects
				.filter(({ path, words }) =>
					UUID.test(text) ? path.endsWith(`/${text.toLowerCase()}`) : has(words, text),
				)
				.slice(0, MAX_FOUND),
		);
		// An object that has the id is nearer than what only contains it.
		const objects = isId(text) ? [...named, ...searched.flat()] : [...searched.flat(), ...named];
		return objects.map(({ path, ...target }) => ({
			...target,
			path: pathIn(organization, path),
		}));
	}
	useEffect(() => {
		let isLeft = false;
		if (organization !== undefined && text !== "")
			delay(async () => {
				let objects: Target[] = [];
				await attempt(async () => {
					objects = await find(organization);
				});
				if (!isLeft) setFound({ text, objects });
			});
		return () => {
			isLeft = true;
			cancel();
		};
	}, [organization, text]);
	const isSearched = organization === undefined || text === "" || found?.text === text;
	const targets = [
		...pagesOf(organization).filter(({ words }) => has(words, text)),
		...(text === "" ? [] : actionsOf(organization).filter(({ words }) => has(words, text))),
		...(text !== "" && found?.text === text ? found.objects : []),
	];
	return { targets, isSearched };
}

function Finder({
	organization,
	onClose,
}: {
	organization: string | undefined;
	onClose: () => void;
}) {
	const navigate = useNavigate();
	const id = useId();
	const [text, setText] = useState("");
	const [chosen, setChosen] = useState(0);
	const { targets, isSearched } = useTargets(organization, text.trim());
	const at = Math.min(chosen, targets.length - 1);
	function move(by: number) {
		const next = (at + by + targets.length) % targets.length;
		setChosen(next);
		document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
	}
	function open({ path }: Target) {
		onClose();
		if (path.startsWith("/console")) openPage(path, navigate);
		else location.assign(path);
	}
	return (
		<>
			<form
				onSubmit={(event) => {
					event.preventDefault();
					const target = targets[at];
					if (target) open(target);
				}}
			>
				<input
					type="text"
					role="combobox"
					aria-label="Page, name, id or action"
					placeholder="Page, name, id or action"
					aria-expanded="true"
					aria-controls={id}
					aria-activedescendant={targets.length > 0 ? `${id}-${at}` : undefined}
					autocomplete="off"
					value={text}
					onInput={({ currentTarget }) => {
						setText(currentTarget.value);
						setChosen(0);
					}}
					onKeyDown={(event) => {
						if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
						event.preventDefault();
						if (targets.length > 0) move(event.key === "ArrowDown" ? 1 : -1);
					}}
				/>
			</form>
			<div id={id} role="listbox" aria-label="Results" class="palette">
				{targets.map((target, i) => (
					// biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
					<div
						key={target.path}
						id={`${id}-${i}`}
						role="option"
						tabIndex={-1}
						aria-selected={i === at}
						onClick={() => open(target)}
					>
						{target.words} <small>{target.kind}</small>
					</div>
				))}
			</div>
			<p role="status" class={targets.length > 0 ? "unseen" : "soft"}>
				{targets.length > 0
					? `${targets.length} results`
					: isSearched
						? "Nothing found."
						: "Searching…"}
			</p>
		</>
	);
}

/** Leads to any page, to objects by their names or ids, and to actions (docs/console.md#going-to-a-page). */
export default function Palette({ onClose }: { onClose: () => void }) {
	const { path } = useLocation();
	const organization = organizationIn(path) ?? (me.value && usualOrganization(me.value));
	return (
		<Dialog title="Go to" onClose={onClose}>
			<Finder key={organization} organization={organization} onClose={onClose} />
		</Dialog>
	);
}
