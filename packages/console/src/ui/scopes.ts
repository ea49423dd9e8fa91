/** Scopes and their descriptions (docs/keys.md#personal-api-keys). */
import type { PersonalApiKey } from "tenantry-client";

export type Scope = PersonalApiKey["scopes"][number];

export const LEVELS = ["none", "read", "run", "write"] as const;
export type Level = (typeof LEVELS)[number];

/** The objects of scopes. `read`, `run` and `write` describe what a key with the scope can do. */
export const OBJECTS = [
	{
		object: "organization",
		title: "Organization",
		read: "See names, domains and settings",
		write: "Rename and delete organizations, claim domains, change single sign-on",
	},
	{
		object: "organization_member",
		title: "Members",
		read: "See members, invites and service accounts",
		write: "Invite and remove people, change their levels, create service accounts",
	},
	{
		object: "project",
		title: "Projects",
		read: "See projects and their members",
		write: "Send events, change projects, delete projects with everything in them",
	},
	{
		object: "batch_export",
		title: "Batch exports",
		read: "See exports, their runs and logs",
		run: "Also start backfills, retry and cancel runs, pause and resume",
		write: "Send all events and persons to any server",
	},
	{
		object: "plugin",
		title: "Plugins",
		read: "See plugins, their settings and logs",
		write: "Install plugins and run code with their secrets",
	},
	{
		object: "webhook",
		title: "Webhooks",
		read: "See webhooks and their deliveries",
		write: "Send the events of an organization to any server",
	},
	{
		object: "activity_log",
		title: "Activity",
		read: "See who did what, with names and email addresses",
		write: "Nothing more: the log can't be changed",
	},
	{
		object: "audit_stream",
		title: "Audit streams",
		read: "See where the activity log is copied to",
		write: "Copy the activity log of an organization to any server, and stop copying it",
	},
	{
		object: "personal_api_key",
		title: "API keys",
		read: "See the owner's keys and their use",
		write: "Create keys with the same or fewer permissions, revoke all keys of the owner",
	},
	{
		object: "user",
		title: "Profile",
		read: "See the owner's name, email address and organizations",
		write: "Change the owner's name and settings",
	},
] as const;

type ObjectName = (typeof OBJECTS)[number]["object"];

/** The levels of an object, from the lowest. Few objects can be run. */
export const levelsOf = (object: (typeof OBJECTS)[number]) =>
	LEVELS.filter((level) => level !== "run" || "run" in object);

/** Returns what a level of an object allows; undefined if there is no such level. */
export const effectOf = (name: ObjectName, level: Level) => {
	const found = OBJECTS.find(({ object }) => object === name);
	return found && Object.entries(found).find(([key]) => key === level)?.[1];
};

/** Returns the scope of a level, in a list; empty if there is none. */
const scopesOf = (object: ObjectName, level: Level): Scope[] =>
	level === "none"
		? []
		: level !== "run"
			? [`${object}:${level}`]
			: object === "batch_export"
				? [`${object}:${level}`]
				: [];

export const levelOf = (scopes: readonly Scope[], object: ObjectName): Level =>
	scopes.includes("*")
		? "write"
		: (LEVELS.findLast((level) => scopesOf(object, level).some((one) => scopes.includes(one))) ??
			"none");

/** Returns the scopes with another level for an object. `*` becomes a list. */
export const withLevel = (scopes: readonly Scope[], object: ObjectName, level: Level): Scope[] =>
	OBJECTS.flatMap((other) => {
		const wanted = other.object === object ? level : levelOf(scopes, other.object);
		return scopesOf(other.object, wanted);
	});

const READS: Scope[] = OBJECTS.flatMap(({ object }) => scopesOf(object, "read"));

const DANGEROUS: readonly (readonly [scope: Scope, words: string | undefined])[] = [
	["*", "Everything, including scopes that are added later"],
	["organization:write", effectOf("organization", "write")],
	["personal_api_key:read", effectOf("personal_api_key", "read")],
	["personal_api_key:write", effectOf("personal_api_key", "write")],
];

/** The scopes that an app asks for and that give away the account, with what they allow. */
export const dangerousIn = (scopes: readonly Scope[]) =>
	DANGEROUS.filter(([scope]) => includes(scopes, scope));

/** The other scopes that an app asks for, of which the highest of an object counts. */
export const harmlessIn = (scopes: readonly Scope[]): Scope[] =>
	OBJECTS.flatMap(({ object }) => {
		const level = levelOf(scopes, object);
		if (level === "none" || object === "personal_api_key") return [];
		return scopesOf(object, object === "organization" ? "read" : level);
	});

/** The scopes for reading the same objects. */
export const readingIn = (scopes: readonly Scope[]): Scope[] =>
	OBJECTS.flatMap(({ object }) =>
		levelOf(scopes, object) === "none" ? [] : scopesOf(object, "read"),
	);

/** Common choices. */
export const PRESETS: readonly (readonly [words: string, scopes: readonly Scope[]])[] = [
	["Full access", ["*"]],
	["Read only", READS],
	["Send events", ["project:write"]],
	["Run exports", ["project:read", "batch_export:run"]],
	["Manage people", ["organization:read", "organization_member:write"]],
];

export const isSame = (a: readonly Scope[], b: readonly Scope[]) =>
	new Set(a).symmetricDifference(new Set(b)).size === 0;

/** Whether `granted` includes a scope, by the same rule as in the API. */
export const includes = (granted: readonly Scope[], scope: Scope) =>
	granted.includes("*") ||
	granted.includes(scope) ||
	OBJECTS.some(({ object }) => {
		const wanted = LEVELS.findIndex((level) =>
			scopesOf(object, level).some((one) => one === scope),
		);
		return wanted > 0 && LEVELS.indexOf(levelOf(granted, object)) >= wanted;
	});

/** The number of objects that a summary names. */
const FEW = 3;

const listed = (verb: string, titles: string[]) => {
	if (titles.length === 0) return [];
	if (titles.length === OBJECTS.length) return [`${verb} everything`];
	const shown = titles.slice(0, titles.length > FEW + 1 ? FEW : titles.length);
	const rest = titles.length - shown.length;
	const words = shown.map((title) => (title.startsWith("API") ? title : title.toLowerCase()));
	return [`${verb} ${words.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`];
};

/** Returns a summary of scopes, such as "Changes batch exports · reads projects". */
export function summaryOf(scopes: readonly Scope[]) {
	if (scopes.includes("*")) return "Full access";
	const titles = (level: Level) =>
		OBJECTS.filter(({ object }) => levelOf(scopes, object) === level).map(({ title }) => title);
	const words = [
		...listed("changes", titles("write")),
		...listed("runs", titles("run")),
		...listed("reads", titles("read")),
	];
	const text = words.join(" · ");
	return text.charAt(0).toUpperCase() + text.slice(1);
}
