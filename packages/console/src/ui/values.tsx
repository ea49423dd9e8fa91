import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { SmallButton } from "./button.tsx";
import { TIME } from "./zone.ts";

const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const UNITS = [
	["day", 86_400],
	["hour", 3600],
	["minute", 60],
] as const;

function relative(date: Date) {
	const seconds = (date.getTime() - Date.now()) / 1000;
	const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
	// Round the future, so that "in 3 days" is still correct a second later.
	return AGO.format(seconds > 0 ? Math.round(seconds / size) : Math.trunc(seconds / size), unit);
}

/**
 * A time in the zone of the console, with UTC in the tooltip; "–" if there is none.
 * @param isRelative shows "3 hours ago", with both times in the tooltip
 */
export function Time({
	value,
	isRelative = false,
}: {
	value: string | null | undefined;
	isRelative?: boolean;
}) {
	if (!value) return <>–</>;
	const date = new Date(value);
	const utc = `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
	const local = TIME.format(date);
	return (
		<time dateTime={value} title={isRelative ? `${local} (${utc})` : utc}>
			{isRelative ? relative(date) : local}
		</time>
	);
}

const NUMBER = new Intl.NumberFormat();

/** Formats a number, for use in text. Elsewhere, use `<Count>`. */
export const formatNumber = (value: number) => NUMBER.format(value);

/** A number with the user's separators; "–" if there is none. */
export const Count = ({ value }: { value: number | null | undefined }) => (
	<>{value === null || value === undefined ? "–" : formatNumber(value)}</>
);

export type Mood = "good" | "warn" | "bad" | "quiet";

/** The name of a state. The colour has no additional meaning. */
export const Badge = ({
	mood = "quiet",
	children,
}: {
	mood?: Mood;
	children: ComponentChildren;
}) => <span class={`badge ${mood}`}>{children}</span>;

/**
 * A button that copies text.
 * @param what describes the text for screen readers, because buttons on a page should have
 * different names
 */
export function Copy({
	value,
	label = "Copy",
	what,
}: {
	value: string;
	label?: string;
	what?: string;
}) {
	const [isCopied, setCopied] = useState(false);
	return (
		<SmallButton
			onPress={async () => {
				await navigator.clipboard.writeText(value);
				setCopied(true);
				setTimeout(() => setCopied(false), 2000);
			}}
		>
			<span aria-live="polite">{isCopied ? "Copied" : label}</span>
			{what && <span class="unseen"> {what}</span>}
		</SmallButton>
	);
}

/** Text to copy, such as a DNS record or a command. */
export const Snippet = ({ value, label }: { value: string; label?: string }) => (
	<div class="snippet">
		{/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide text scrolls, with the keyboard too */}
		<pre tabIndex={0}>{value}</pre>
		<Copy value={value} {...(label && { label })} />
	</div>
);

export const Facts = ({
	rows,
}: {
	rows: (readonly [name: string, value: ComponentChildren])[];
}) => (
	<dl class="facts">
		{rows.map(([name, value]) => (
			<div key={name}>
				<dt>{name}</dt>
				<dd>{value}</dd>
			</div>
		))}
	</dl>
);

/** The membership levels of an organization (docs/organizations.md). */
export const LEVELS = [
	["1", "Member"],
	["8", "Admin"],
	["15", "Owner"],
] as const;

export const levelName = (level: number) =>
	LEVELS.find(([value]) => value === String(level))?.[1] ?? `Level ${level}`;

type Someone = { first_name: string; last_name: string; email: string };

/** Returns the address of a user; undefined for a service account, whose address doesn't exist. */
const addressOf = ({ email }: Someone) => (email.endsWith(".invalid") ? undefined : email);

/** Returns the name of a user, or the email address if there is no name. */
export const nameOf = ({ first_name, last_name, email }: Someone) =>
	`${first_name} ${last_name}`.trim() || email;

/**
 * A user in a list: the name, with the email address below it.
 * @param href the page of the user
 */
export function Person({
	user,
	href,
	children,
}: {
	user: Someone;
	href?: string | undefined;
	children?: ComponentChildren;
}) {
	const name = nameOf(user);
	const address = addressOf(user);
	const strong = <strong>{name}</strong>;
	return (
		<>
			{href ? <a href={href}>{strong}</a> : strong} {children}
			{address && name !== address && <small class="below">{address}</small>}
		</>
	);
}
