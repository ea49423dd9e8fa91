import type { ComponentChildren } from "preact";
import type { Plugin } from "tenantry-client";
import { Badge } from "../../ui/values.tsx";

export const FAMILIES = [
	["pipeline_destinations", "Destinations"],
	["pipeline_import_apps", "Import apps"],
	["pipeline_frontend_apps", "Frontend apps"],
] as const;

export type Family = (typeof FAMILIES)[number][0];

/** What a plugin of each family does. */
export const FAMILY_WORDS: Record<Family, string> = {
	pipeline_destinations: "Send events elsewhere.",
	pipeline_import_apps: "Bring events in.",
	pipeline_frontend_apps: "Run in the browser.",
};

export const familyName = (family: string) =>
	FAMILIES.find(([value]) => value === family)?.[1] ?? family;

export const isFamily = (value: string | undefined): value is Family =>
	FAMILIES.some(([family]) => family === value);

type Versioned = Pick<Plugin, "tag" | "latest_tag">;

/** Whether a newer version was seen when the plugin was last checked. */
export const hasUpdate = ({ tag, latest_tag }: Versioned) =>
	latest_tag !== null && latest_tag !== tag;

/** What an upgrade to the newest version asks for: an address of npm that names a version has to name that one. */
export const newest = ({ url, latest_tag }: Plugin) =>
	url !== null && latest_tag !== null
		? { url: url.replace(/(npmjs\.com\/package\/.+\/v\/).+$/, (_, page) => page + latest_tag) }
		: {};

/** A version as people compare it: a commit by its first letters. */
export const versionName = (tag: string) => (/^[\da-f]{40}$/.test(tag) ? tag.slice(0, 7) : tag);

/** The version that is installed, and that there is another one. */
export const Version = ({ plugin }: { plugin: Versioned }) => (
	<span class="row">
		{plugin.tag ? <span title={plugin.tag}>{versionName(plugin.tag)}</span> : "–"}
		{hasUpdate(plugin) && plugin.latest_tag && (
			<Badge mood="warn">{`${versionName(plugin.latest_tag)} available`}</Badge>
		)}
	</span>
);

/** A plugin may have no name. */
export const nameOf = ({ name, id }: { name: string; id: number }) => name || `Plugin ${id}`;

/** Where a plugin came from, without what every address has. */
export const originOf = (url: string) =>
	url.replace(/^https:\/\/(?:www\.)?/, "").replace(/^npmjs\.com\/package\//, "npm: ");

/** A text of a plugin's author, of which addresses in the form of Markdown become links. */
export function Hint({ text }: { text: string }) {
	const parts: ComponentChildren[] = [];
	let end = 0;
	for (const match of text.matchAll(/\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)/g)) {
		const [all, words, address = ""] = match;
		parts.push(
			text.slice(end, match.index),
			<a href={address} rel="noreferrer" target="_blank">
				{words}
			</a>,
		);
		end = match.index + all.length;
	}
	return (
		<>
			{parts}
			{text.slice(end)}
		</>
	);
}
