import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { pathIn } from "./organization.tsx";
import { MENU, OWN_MENU } from "./pages.ts";
import { me, signOut } from "./session.ts";
import { Questions } from "./ui/dialog.tsx";
import { attempt, Notes } from "./ui/feedback.tsx";

/** A path of the menu, marked when its page or one below it is open. */
function Entry({ path, isExact, children }: { path: string; isExact?: boolean; children: string }) {
	const { path: open } = useLocation();
	const isOpen = open === path || (!isExact && open.startsWith(`${path}/`));
	return (
		<li>
			<a href={path} aria-current={isOpen ? "page" : undefined}>
				{children}
			</a>
		</li>
	);
}

function Switch({ current }: { current: string | undefined }) {
	const { route } = useLocation();
	const organizations = me.value?.organizations ?? [];
	if (organizations.length === 0) return null;
	return (
		<select
			aria-label="Organization"
			onChange={({ currentTarget }) => route(pathIn(currentTarget.value))}
		>
			{current === undefined && <option value="">Choose…</option>}
			{organizations.map(({ id, name }) => (
				<option key={id} value={id} selected={id === current}>
					{name}
				</option>
			))}
		</select>
	);
}

function Menu({ organization }: { organization: string | undefined }) {
	return (
		<nav class="menu" aria-label="Pages">
			<Switch current={organization} />
			{organization &&
				MENU.map(([group, entries]) => (
					<div key={group}>
						<p class="menu-group">{group}</p>
						<ul>
							{entries.map(([path, words]) => (
								<Entry key={path} path={pathIn(organization, path)} isExact={path === ""}>
									{words}
								</Entry>
							))}
						</ul>
					</div>
				))}
			<p class="menu-group">You</p>
			<ul>
				{OWN_MENU.map(([path, words]) => (
					<Entry key={path} path={path}>
						{words}
					</Entry>
				))}
				<li>
					<button type="button" class="plain" onClick={() => attempt(signOut)}>
						Sign out
					</button>
				</li>
			</ul>
			<p class="menu-user">{me.value?.email}</p>
		</nav>
	);
}

/** The id of an organization in the path of a page; undefined on other pages. */
const organizationIn = (path: string) => /^\/console\/([\da-f-]{36})(?:\/|$)/.exec(path)?.[1];

/** What surrounds every page of a signed-in user: a bar, the menu, and where notes and questions appear. */
export function Shell({ children }: { children: ComponentChildren }) {
	const { path } = useLocation();
	const [isOpen, setOpen] = useState(false);
	useEffect(() => setOpen(false), [path]);
	const current = organizationIn(path) ?? me.value?.organization?.id;
	return (
		<div class="shell">
			<a class="skip" href="#main">
				Skip to content
			</a>
			<header class="bar">
				<a class="brand" href="/console">
					Tenantry
				</a>
				<button
					type="button"
					class="secondary outline menu-button"
					aria-expanded={isOpen}
					aria-controls="menu"
					onClick={() => setOpen(!isOpen)}
				>
					Menu
				</button>
			</header>
			<div id="menu" class={isOpen ? "side open" : "side"}>
				<Menu organization={current} />
			</div>
			<main id="main" tabIndex={-1}>
				{children}
			</main>
			<Notes />
			<Questions />
		</div>
	);
}
