import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useRef } from "preact/hooks";
import type { Loaded } from "../load.ts";
import { Button } from "./button.tsx";
import { Show } from "./feedback.tsx";
import { MayChange } from "./may_change.ts";

/** Links to the parent pages. */
type Above = readonly (readonly [path: string, words: string])[];

/**
 * The frame of a page: title, buttons and content. Screen readers announce the title when the page
 * opens.
 */
export function PageView({
	title,
	state,
	above = [],
	actions,
	isReading = false,
	lead,
	children,
}: {
	title: string;
	/** A `Badge` beside the title. */
	state?: ComponentChildren;
	above?: Above;
	/** The main buttons, which change something unless they are `isReading`. */
	actions?: ComponentChildren;
	isReading?: boolean;
	/** One or two sentences about the purpose of the page. */
	lead?: ComponentChildren;
	children: ComponentChildren;
}) {
	const heading = useRef<HTMLHeadingElement>(null);
	const mayChange = useContext(MayChange);
	useEffect(() => {
		document.title = `${title} · Tenantry`;
	}, [title]);
	useEffect(() => {
		// Don't move the focus if the user is already elsewhere, such as in a search field or an open
		// menu.
		const { activeElement } = document;
		if (activeElement === document.body || activeElement?.matches("nav a[aria-current=page]"))
			heading.current?.focus({ preventScroll: true });
	}, []);
	return (
		<>
			{above.length > 0 && (
				<nav class="above" aria-label="Breadcrumb">
					{above.map(([path, words]) => (
						<span key={path}>
							<a href={path}>{words}</a>
						</span>
					))}
				</nav>
			)}
			<header class="page-header">
				<div class="page-title">
					<h1 ref={heading} tabIndex={-1} title={title}>
						{title}
					</h1>
					{state}
				</div>
				{actions && (mayChange || isReading) && <div class="actions">{actions}</div>}
			</header>
			{lead && <p class="lead">{lead}</p>}
			{children}
		</>
	);
}

/** A page about an object. Until it is loaded, the page has the name of its kind as title. */
export const LoadedPage = <T,>({
	of,
	title,
	above,
	children,
}: {
	of: Loaded<T>;
	title: string;
	above: Above;
	children: (data: T) => ComponentChildren;
}) =>
	of.data === undefined ? (
		<PageView title={title} above={above}>
			<Show of={of}>{() => null}</Show>
		</PageView>
	) : (
		<Show of={of}>{children}</Show>
	);

export const Section = ({
	title,
	id: anchor,
	actions,
	isReading = false,
	children,
}: {
	title: string;
	/** For links to the section. */
	id?: string;
	/** As in `PageView`. */
	actions?: ComponentChildren;
	isReading?: boolean;
	children: ComponentChildren;
}) => {
	const id = useId();
	const mayChange = useContext(MayChange);
	return (
		<section id={anchor} aria-labelledby={id}>
			<header class="section-header">
				<h2 id={id}>{title}</h2>
				{actions && (mayChange || isReading) && <div class="actions">{actions}</div>}
			</header>
			{children}
		</section>
	);
};

/**
 * The last section of a settings page, with a `Danger` for each action that can't be undone or
 * affects others.
 */
export const DangerZone = ({ children }: { children: ComponentChildren }) =>
	useContext(MayChange) ? (
		<Section title="Danger zone">
			<div class="panel dangers">{children}</div>
		</Section>
	) : null;

/** A dangerous action: title, consequences and button. */
export const Danger = ({
	title,
	text,
	action,
	look = "danger",
	onPress,
}: {
	title: string;
	text: string;
	/** The label of the button; false if the action isn't possible now. */
	action: string | false;
	look?: "danger" | "secondary";
	onPress: () => Promise<unknown>;
}) => {
	const mayChange = useContext(MayChange);
	return (
		<div>
			<p>
				<strong>{title}</strong>
				<small class="below">{text}</small>
			</p>
			{action && mayChange && (
				<Button class={look} onPress={onPress}>
					{action}
				</Button>
			)}
		</div>
	);
};

/** Links between views of the same object. */
export const Tabs = ({
	label,
	tabs,
	current,
}: {
	label: string;
	tabs: readonly (readonly [path: string, words: string])[];
	current: string;
}) => (
	<nav class="tabs" aria-label={label}>
		{tabs.map(([path, words]) => (
			<a
				key={path}
				href={path}
				aria-current={path === current ? "page" : undefined}
				data-words={words}
			>
				{words}
			</a>
		))}
	</nav>
);
