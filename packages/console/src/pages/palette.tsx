import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import type { Page } from "tenantry-client";
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

/** Returns the newest objects of each kind that the API doesn't search. */
async function load(organization: string) {
	const asked = { organization, limit: MAX_ROWS };
	const own = me.value?.organizations.find(({ id }) => id === organization);
	const isAdmin = (own?.membership_level ?? 0) >= 8;
	return Promise.all([
		listed("Export", api.batchExports.list(asked), ({ id, name }) => [`batch_exports/${id}`, name]),
		...(isAdmin
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
			: []),
	]);
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
		const [searched, all] = await Promise.all([search(organization, text), loaded.current]);
		const named = all.flatMap((objects) =>
			objects.filter(({ words }) => has(words, text)).slice(0, MAX_FOUND),
		);
		return [...searched, ...named].map(({ path, ...target }) => ({
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
					aria-label="Page or name"
					placeholder="Page or name"
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

/** Leads to any page, and to objects by their names (docs/console.md#going-to-a-page). */
export default function Palette({ onClose }: { onClose: () => void }) {
	const { path } = useLocation();
	const organization = organizationIn(path) ?? (me.value && usualOrganization(me.value));
	return (
		<Dialog title="Go to" onClose={onClose}>
			<Finder key={organization} organization={organization} onClose={onClose} />
		</Dialog>
	);
}
