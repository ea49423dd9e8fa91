/** Names of event types (docs/events.md#types). */
import type { FeedEvent } from "tenantry-client";

export const TYPES: Record<FeedEvent["type"], string> = {
	"organization.created": "Organization created",
	"organization.updated": "Organization settings changed",
	"organization.deleted": "Organization deleted",
	"project.created": "Project created",
	"project.updated": "Project changed",
	"project.deleted": "Project deleted",
	"project_member.created": "Project access granted",
	"project_member.deleted": "Project access removed",
	"member.created": "Member added",
	"member.updated": "Member level changed",
	"member.deleted": "Member removed",
	"invite.created": "Invite sent",
	"invite.accepted": "Invite accepted",
	"invite.deleted": "Invite revoked",
	"domain.created": "Domain added",
	"domain.updated": "Domain settings changed",
	"domain.verified": "Domain verified",
	"domain.enforcement_lifted": "Enforcement of single sign-on lifted",
	"domain.unverified": "TXT record of domain missing",
	"domain.deleted": "Domain deleted",
	"scim_token.created": "SCIM token created",
	"scim_token.deleted": "SCIM token revoked",
	"scim_group.created": "Group of a provider created",
	"scim_group.updated": "Group of a provider changed",
	"scim_group.deleted": "Group of a provider deleted",
	"user.created": "User created",
	"user.updated": "Profile changed",
	"user.deactivated": "User deactivated",
	"personal_api_key.created": "API key created",
	"personal_api_key.updated": "API key changed",
	"personal_api_key.rolled": "API key rolled",
	"personal_api_key.deleted": "API key revoked",
	"session.created": "Signed in",
	"session.deleted": "Session ended",
	"key.expiring": "Key about to expire",
	"oauth_client.created": "App registered",
	"oauth_client.updated": "Registered app changed",
	"oauth_client.deleted": "Registered app deleted",
	"oauth_grant.created": "App allowed",
	"oauth_grant.revoked": "Access of an app ended",
	"identity.created": "Account at a provider linked",
	"identity.deleted": "Account at a provider removed",
	"sign_in.failed": "Sign-in failed",
	"sign_in.break_glass_used": "Signed in without the required provider",
	"service_account.created": "Service account created",
	"service_account.updated": "Service account changed",
	"service_account.deleted": "Service account deleted",
	"service_account_key.created": "Service account key created",
	"service_account_key.updated": "Service account key changed",
	"service_account_key.rolled": "Service account key rolled",
	"service_account_key.deleted": "Service account key revoked",
	"trusted_issuer.created": "Issuer trusted",
	"trusted_issuer.updated": "Trusted issuer changed",
	"trusted_issuer.exchanged": "Key given for a token",
	"trusted_issuer.deleted": "Issuer no longer trusted",
	"plugin.created": "Plugin installed",
	"plugin.updated": "Plugin settings changed",
	"plugin.source_updated": "Plugin source changed",
	"plugin.upgraded": "Plugin upgraded",
	"plugin.deleted": "Plugin deleted",
	"plugin_config.created": "Plugin config created",
	"plugin_config.updated": "Plugin config changed",
	"plugin_config.job_triggered": "Plugin job started",
	"plugin_config.deleted": "Plugin config deleted",
	"plugin_config_order.rearranged": "Plugin configs reordered",
	"plugin_job.failed": "Plugin job failed",
	"batch_export.created": "Export created",
	"batch_export.updated": "Export changed",
	"batch_export.paused": "Export paused",
	"batch_export.unpaused": "Export resumed",
	"batch_export.tested": "Export tested",
	"batch_export.backfilled": "Backfill started",
	"batch_export.backfill_cancelled": "Backfill cancelled",
	"batch_export.run_cancelled": "Run cancelled",
	"batch_export.run_retried": "Run retried",
	"batch_export.deleted": "Export deleted",
	"webhook.created": "Webhook added",
	"webhook.updated": "Webhook changed",
	"webhook.rolled": "Webhook secret rolled",
	"webhook.tested": "Webhook tested",
	"webhook.delivery_replayed": "Event replayed",
	"webhook.replayed": "Webhook replayed",
	"webhook.disabled": "Webhook disabled",
	"webhook.deleted": "Webhook deleted",
	"audit_stream.created": "Audit stream added",
	"audit_stream.updated": "Audit stream changed",
	"audit_stream.tested": "Audit stream tested",
	"audit_stream.failed": "Audit stream failing",
	"audit_stream.deleted": "Audit stream deleted",
	"passkey.created": "Passkey added",
	"passkey.updated": "Passkey renamed",
	"passkey.deleted": "Passkey removed",
	"two_factor.begun": "Second factor setup started",
	"two_factor.enabled": "Second factor enabled",
	"two_factor.disabled": "Second factor disabled",
	"two_factor.recovery_code_used": "Recovery code used",
	"two_factor.recovery_codes_replaced": "Recovery codes replaced",
	"batch_export_destination.tested": "Destination tested",
	"batch_export_run.completed": "Run completed",
	"batch_export_run.failed": "Run failed",
	"batch_export_run.skipped": "Runs skipped",
};

type Beginning<T extends string> = T extends `${infer B}.${string}` ? B : never;

/** The kinds of objects, by the prefixes of event types. */
const SUBJECTS: Record<Beginning<FeedEvent["type"]>, string> = {
	organization: "Organization",
	project: "Projects",
	project_member: "Project access",
	member: "Members",
	invite: "Invites",
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
};

const words = new Map(Object.entries<string>(TYPES));

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
