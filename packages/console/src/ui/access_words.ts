/** Resources and levels of access, in words (docs/access.md). */
import type { AccessControl, MemberAccess } from "tenantry-client";

export type Resource = AccessControl["resource"];
export type AccessLevel = AccessControl["access_level"];

/** What access controls are about: the words, and the path of the page of one object. */
export const RESOURCES: Record<Resource, { words: string; one: string; path: string | undefined }> =
	{
		project: { words: "Projects", one: "project", path: "projects" },
		batch_export: { words: "Exports", one: "export", path: "batch_exports" },
		plugin: { words: "Plugins", one: "plugin", path: "plugins" },
		webhook: { words: "Webhooks", one: "webhook", path: "webhooks" },
		domain: { words: "Domains", one: "domain", path: "domains" },
		organization_member: { words: "Members", one: "member", path: undefined },
		activity_log: { words: "Activity and audit streams", one: "entry", path: undefined },
	};

/** The resources in the order in which they are offered. */
export const RESOURCE_NAMES = Object.keys(RESOURCES).filter(isResource);

export function isResource(text: string): text is Resource {
	return text in RESOURCES;
}

/** What each level allows. */
export const LEVELS: readonly (readonly [level: AccessLevel, words: string, allows: string])[] = [
	["none", "None", "Can't see it."],
	["viewer", "Viewer", "Can only look."],
	["editor", "Editor", "Can also change it, but not delete it."],
	["manager", "Manager", "Can do everything with it."],
];

export const levelWords = (level: AccessLevel) =>
	LEVELS.find(([name]) => name === level)?.[1] ?? level;

/** Says why somebody has this access. */
export function reasonOf({ decided_by, access_controls, level }: MemberAccess) {
	const deciding = access_controls.find(({ decides }) => decides);
	switch (decided_by) {
		case "level":
			return level >= 15 ? "Owner" : "Admin";
		case "auditor":
			return "The role Auditor";
		case "private_project":
			return "The project is private, and they aren't in it";
		case "project":
			return "Their access to the project";
		case "default":
			return "Nobody has limited it";
		default:
			if (deciding?.given_to === "role") return `The role ${deciding.role ?? ""}`;
			return deciding?.given_to === "everyone" ? "Given to everyone" : "Given to this member";
	}
}
