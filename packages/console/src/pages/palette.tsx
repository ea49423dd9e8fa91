import { useEffect, useId, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { useNavigate } from "../load.ts";
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

/** The number of exports that are searched. The API has no search for them. */
const MAX_EXPORTS = 1000;

const has = (words: string, text: string) => words.toLowerCase().includes(text.toLowerCase());

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

/** Finds projects, members and exports by name. */
async function objectsOf(organization: string, search: string): Promise<Target[]> {
	const asked = { organization, search, limit: MAX_FOUND };
	const [projects, members, exports] = await Promise.all([
		api.organizationProjects.list(asked),
		api.members.list(asked),
		api.batchExports.list({ organization, limit: MAX_EXPORTS }),
	]);
	const to = (path: string) => pathIn(organization, path);
	return [
		...projects.results.map(({ id, name }) => ({
			path: to(`projects/${id}`),
			words: name,
			kind: "Project",
		})),
		...exports.results
			.filter(({ name }) => has(name, search))
			.slice(0, MAX_FOUND)
			.map(({ id, name }) => ({ path: to(`batch_exports/${id}`), words: name, kind: "Export" })),
		...members.results.map(({ user }) => ({
			path: to(`members?search=${encodeURIComponent(user.email)}`),
			words: nameOf(user),
			kind: "Member",
		})),
	];
}

/** Searches, a moment after the last letter. */
function useTargets(organization: string | undefined, text: string) {
	const [found, setFound] = useState<{ text: string; objects: Target[] }>();
	const { delay } = useDelay();
	useEffect(() => {
		let isLeft = false;
		if (organization !== undefined && text !== "")
			delay(() =>
				attempt(async () => {
					const objects = await objectsOf(organization, text);
					if (!isLeft) setFound({ text, objects });
				}),
			);
		return () => {
			isLeft = true;
		};
	}, [organization, text]);
	const isSearched = organization === undefined || text === "" || found?.text === text;
	const targets = [
		...pagesOf(organization).filter(({ words }) => has(words, text)),
		...(text !== "" && found?.text === text ? found.objects : []),
	];
	return { targets, isSearched };
}

/** Leads to any page, project, member or export (docs/console.md#going-to-a-page). */
export default function Palette({ onClose }: { onClose: () => void }) {
	const { path } = useLocation();
	const organization = organizationIn(path) ?? (me.value && usualOrganization(me.value));
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
		if (path.startsWith("/console")) navigate(path);
		else location.assign(path);
	}
	return (
		<Dialog title="Go to" onClose={onClose}>
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
					aria-label="Page, project, member or export"
					placeholder="Page, project, member or export"
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
		</Dialog>
	);
}
