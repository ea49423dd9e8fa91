import type { ComponentChildren } from "preact";
import type { Plugin } from "tenantry-client";
import { Badge } from "../../ui/values.tsx";

export const FAMILIES = [
	["pipeline_destinations", "Destinations"],
	["pipeline_import_apps", "Import apps"],
	["pipeline_frontend_apps", "Frontend apps"],
] as const;

export type Family = (typeof FAMILIES)[number][0];

/** The descriptions of families. */
export const FAMILY_WORDS: Record<Family, string> = {
	pipeline_destinations: "Send events elsewhere.",
	pipeline_import_apps: "Import events.",
	pipeline_frontend_apps: "Run in the browser.",
};

export const familyName = (family: string) =>
	FAMILIES.find(([value]) => value === family)?.[1] ?? family;

export const isFamily = (value: string | undefined): value is Family =>
	FAMILIES.some(([family]) => family === value);

type Versioned = Pick<Plugin, "tag" | "latest_tag">;

/** Whether the last check found a newer version. */
export const hasUpdate = ({ tag, latest_tag }: Versioned) =>
	latest_tag !== null && latest_tag !== tag;

/** The URL of a version of an npm package. */
const NPM_VERSION = /^(https?:\/\/(?:www\.)?npmjs\.com\/package\/(?:@[^/]+\/)?[^/]+\/v\/).+$/;

/**
 * Returns the body of an upgrade to the newest version. An npm URL with a version must have the new
 * version.
 */
export const newest = ({ url, latest_tag }: Plugin) =>
	url !== null && latest_tag !== null
		? { url: url.replace(NPM_VERSION, (_, page) => page + latest_tag) }
		: {};

/** Returns the short form of a version. Commits are shortened. */
export const versionName = (tag: string) => (/^[\da-f]{40}$/.test(tag) ? tag.slice(0, 7) : tag);

/** The installed version, and the available one if it differs. */
export const Version = ({ plugin }: { plugin: Versioned }) => (
	<span class="row">
		{plugin.tag ? <span title={plugin.tag}>{versionName(plugin.tag)}</span> : "–"}
		{hasUpdate(plugin) && plugin.latest_tag && (
			<Badge mood="warn">{`${versionName(plugin.latest_tag)} available`}</Badge>
		)}
	</span>
);

/** Returns the name of a plugin, or its id if it has none. */
export const nameOf = ({ name, id }: { name: string; id: number }) => name || `Plugin ${id}`;

export const originOf = (url: string) =>
	url.replace(/^https:\/\/(?:www\.)?/, "").replace(/^npmjs\.com\/package\//, "npm: ");

/** Text of a plugin's author. Markdown links become links. */
export function Hint({ text }: { text: string }) {
	const parts: ComponentChildren[] = [];
	let end = 0;
	for (const match of text.matchAll(/\[([^[\]]+)\]\((https?:\/\/[^[)\s]+)\)/g)) {
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
