import { BookOpen, ChevronsUpDown, Clock, type IconNode, LogOut, Plus } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso/router";
import { guardForms } from "./leaving.ts";
import { MENU, OWN_MENU } from "./menu.ts";
import { organizationIn, pathIn, usualOrganization } from "./organization.tsx";
import { Palette, SignInAgain } from "./pages.ts";
import { changesInProgress, me, renewal, signOut } from "./session.ts";
import { Boundary } from "./ui/boundary.tsx";
import { Button } from "./ui/button.tsx";
import { mayDiscard } from "./ui/dialog.tsx";
import { useDismiss } from "./ui/dismiss.ts";
import { dialogs } from "./ui/feedback.tsx";
import { Icon } from "./ui/icon.tsx";
import { isUtc, setUtc } from "./ui/zone.ts";

/** An entry of the menu. It is marked if its page or a page below it is open. */
function Entry({
	path,
	icon,
	isExact,
	children,
}: {
	path: string;
	icon: IconNode;
	isExact?: boolean;
	children: string;
}) {
	const { path: open } = useLocation();
	const isOpen = open === path || (!isExact && open.startsWith(`${path}/`));
	return (
		<li>
			<a href={path} aria-current={isOpen ? "page" : undefined}>
				<Icon of={icon} />
				{children}
			</a>
		</li>
	);
}

const Initial = ({ name }: { name: string }) => (
	<span class="initial" aria-hidden="true">
		{[...name.toUpperCase()][0]}
	</span>
);

function Switch({ current }: { current: string | undefined }) {
	const root = useRef<HTMLDivElement>(null);
	const id = useId();
	const [isOpen, setOpen] = useState(false);
	const { path } = useLocation();
	useEffect(() => setOpen(false), [path]);
	useDismiss(root, isOpen, () => setOpen(false));
	const organizations = me.value?.organizations ?? [];
	const name = organizations.find(({ id }) => id === current)?.name;
	const words = organizations.length > 0 ? "Choose…" : me.value ? "No organization" : "…";
	return (
		<div class="switch" ref={root}>
			<button
				type="button"
				class="secondary outline"
				aria-expanded={isOpen}
				aria-controls={id}
				onClick={() => setOpen(!isOpen)}
			>
				{name && <Initial name={name} />}
				<span class="unseen">Organization: </span>
				<span class="switch-name">{name ?? words}</span>
				<Icon of={ChevronsUpDown} />
			</button>
			<ul id={id} hidden={!isOpen}>
				{organizations.map(({ id, name }) => (
					<li key={id}>
						<a href={pathIn(id)} aria-current={id === current ? "true" : undefined}>
							<Initial name={name} />
							{name}
						</a>
					</li>
				))}
				<li class="switch-new">
					<a href="/console/new">
						<Icon of={Plus} />
						New organization
					</a>
				</li>
			</ul>
		</div>
	);
}

async function switchZone() {
	if (!(await mayDiscard())) return;
	setUtc(!isUtc);
	location.reload();
}

type MenuProps = {
	organization: string | undefined;
	/** Opens the palette. */
	onGo: () => void;
};

function Menu({ organization, onGo }: MenuProps) {
	return (
		<nav aria-label="Pages">
			<Switch current={organization} />
			<button type="button" class="secondary outline go-to" onClick={onGo}>
				Go to… <kbd>Ctrl K</kbd>
			</button>
			{organization &&
				MENU.filter(([, entries]) => entries.length > 0).map(([group, entries]) => (
					<div key={group}>
						<p class="menu-group">{group}</p>
						<ul>
							{entries.map(([path, words, icon]) => (
								<Entry
									key={path}
									path={pathIn(organization, path)}
									icon={icon}
									isExact={path === ""}
								>
									{words}
								</Entry>
							))}
						</ul>
					</div>
				))}
			<div class="menu-own">
				<p class="menu-group menu-user" title={me.value?.email}>
					{me.value?.email ?? "You"}
				</p>
				<ul>
					{OWN_MENU.map(([path, words, icon]) => (
						<Entry key={path} path={path} icon={icon}>
							{words}
						</Entry>
					))}
					<li>
						<a href="/docs">
							<Icon of={BookOpen} />
							Documentation
						</a>
					</li>
					<li>
						<Button class="plain" onPress={switchZone}>
							<Icon of={Clock} />
							{isUtc ? "Show local times" : "Show times in UTC"}
						</Button>
					</li>
					<li>
						<Button class="plain" onPress={async () => (await mayDiscard()) && signOut()}>
							<Icon of={LogOut} />
							Sign out
						</Button>
					</li>
				</ul>
			</div>
		</nav>
	);
}

/** The menu. On a phone, it is a bar with a button that opens the menu. */
function Side(menu: MenuProps) {
	const root = useRef<HTMLDivElement>(null);
	const [isOpen, setOpen] = useState(false);
	const { url } = useLocation();
	useEffect(() => setOpen(false), [url]);
	useDismiss(root, isOpen, () => setOpen(false));
	return (
		<div class="side">
			<div class="side-view" ref={root}>
				<header class="bar">
					<a class="brand" href="/console">
						<img src="/console/assets/icon.svg" alt="" width="20" height="20" />
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
				<div id="menu" class={isOpen ? "menu open" : "menu"}>
					<Menu {...menu} />
				</div>
			</div>
		</div>
	);
}

/**
 * A progress bar at the top of the page during changes. Dialogs cover it, so their forms have
 * `aria-busy`.
 */
const Working = () =>
	changesInProgress.value > 0 ? <div class="working" aria-hidden="true" /> : null;

export function Shell({ children }: { children: ComponentChildren }) {
	const { path, route } = useLocation();
	const [isGoing, setGoing] = useState(false);
	useEffect(() => guardForms(route), []);
	useEffect(() => {
		const openPalette = (event: KeyboardEvent) => {
			if (!(event.ctrlKey || event.metaKey) || event.key !== "k") return;
			// Editors of text may have the same keys.
			if (event.defaultPrevented || dialogs.value.length > 0) return;
			event.preventDefault();
			setGoing(true);
		};
		addEventListener("keydown", openPalette);
		return () => removeEventListener("keydown", openPalette);
	}, []);
	return (
		<div class="shell">
			<a class="skip" href="#main">
				Skip to content
			</a>
			<Side
				organization={organizationIn(path) ?? (me.value && usualOrganization(me.value))}
				onGo={() => setGoing(true)}
			/>
			<main id="main" tabIndex={-1}>
				<Boundary path={path}>{children}</Boundary>
			</main>
			<Working />
			{isGoing && <Palette onClose={() => setGoing(false)} />}
			{renewal.value && <SignInAgain />}
		</div>
	);
}
