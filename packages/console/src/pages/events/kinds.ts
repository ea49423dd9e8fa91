/** Names of event types (docs/events.md#types). */
import type { FeedEvent } from "tenantry-client";
import { TYPE_WORDS } from "tenantry-event-words";

type Beginning<T extends string> = T extends `${infer B}.${string}` ? B : never;

/** The kinds of objects, by the prefixes of event types. */
const SUBJECTS: Record<Beginning<FeedEvent["type"]>, string> = {
	organization: "Organization",
	project: "Projects",
	project_member: "Project access",
	member: "Members",
	invite: "Invites",
	role: "Roles",
	role_member: "Members of roles",
	access_control: "Access",
	domain: "Domains",
	scim_token: "SCIM tokens",
	scim_group: "Groups of providers",
	user: "Users",
	two_factor: "Second factor",
	passkey: "Passkeys",
	identity: "Accounts at providers",
	oauth_client: "Registered apps",
	oauth_grant: "Apps",
	sign_in: "Sign-ins",
	personal_api_key: "API keys",
	session: "Sessions",
	key: "Expiring keys",
	service_account: "Service accounts",
	service_account_key: "Service account keys",
	trusted_issuer: "Trusted issuers",
	plugin: "Plugins",
	plugin_config: "Plugin configs",
	plugin_config_order: "Plugin config order",
	plugin_job: "Plugin jobs",
	batch_export: "Exports",
	batch_export_run: "Export runs",
	batch_export_destination: "Unsaved destinations",
	webhook: "Webhooks",
	audit_stream: "Audit streams",
	request: "Denied requests and downloads",
	activity_log: "Reads of the activity log",
	deleted_object: "Removed for good",
};

const words = new Map(Object.entries<string>(TYPE_WORDS));

/** Returns the name of an event type. An unknown type is returned unchanged. */
export const wordsOfType = (type: string) => words.get(type) ?? type;

/** `plugin_config` → `PluginConfig`, the scope in the activity log. */
const scopeOf = (beginning: string) =>
	beginning.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** `PluginConfig` and `created` → `plugin_config.created`. */
export const typeOf = (scope: string, activity: string) =>
	`${scope.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()}.${activity}`;

/** The event types by kind of object. */
export const GROUPS = Object.entries(SUBJECTS).map(([beginning, title]) => ({
	title,
	/** The wildcard for all types of the group, including types that are added later. */
	all: `${beginning}.*`,
	scope: scopeOf(beginning),
	types: [...words.keys()].filter((type) => type.startsWith(`${beginning}.`)),
}));

/** Returns the names of types and wildcards: `member.*` is "Members". */
export const wordsOfTypes = (types: readonly string[]) =>
	types.map((type) => GROUPS.find(({ all }) => all === type)?.title ?? wordsOfType(type));
