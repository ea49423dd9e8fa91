/** All lists of the API, with their filters. */
import { ACCESS_CONTROL, ACCOUNT, ACCOUNT_KEY, DOMAIN, KEY, LIMITS, WEBHOOK } from "./bounded.ts";
import { EXPORT, FIRST_EVENT, OWNERS, type OwnerName, PLUGIN, ROLE, RUN } from "./rows.ts";
import { FIRST_PERSON, uuid } from "./seed.ts";

/** A list: its owner, and the query strings of its filters. */
type List = {
	owner: OwnerName;
	/** Filters that match five rows. */
	few?: string[];
	/**
	 * The same, without an index of their own: a page reads the rows of the list, at most a constant
	 * number of them.
	 */
	inside?: string[];
	/** Filters that match nearly all rows. */
	most?: string[];
	/** The constant number of rows, if the list has a limit. */
	limit?: number;
	/** Ids in the path that differ from `IDS`. */
	ids?: Record<string, string>;
};

const LOG: List = {
	owner: "runs",
	most: ["search=row", "level=INFO", "after=2001-01-01", "before=2099-01-01"],
};

const ACTIVITY: List = {
	owner: "activity",
	few: ["item_id=special", "scope=Domain&item_id=special", "after=2099-01-01", "before=2000-01-01"],
	inside: [
		"address=203.0.113.7",
		"person=person-0@",
		"name=Lovelace 1",
		"scope=Domain",
		"activity=deleted",
		`user=${uuid("user", FIRST_PERSON)}`,
		"email=person-0@example.com",
	],
	most: [
		"scope=Member",
		"activity=updated",
		`user=${uuid("user", OWNERS.activity)}`,
		"after=2001-01-01",
		"before=2099-01-01",
	],
};

/** Lists of deleted objects, by their own index. */
const DELETED = ["deleted=true"];

const PROJECTS: List = { owner: "projects", most: ["search=row"] };

const OF_MOST_PLUGINS = [
	"activity=updated",
	`user=${uuid("user", OWNERS.plugins)}`,
	`email=owner-${OWNERS.plugins}@example.com`,
	"address=203.0.113.8",
	"person=owner-",
	"name=Row",
	"after=2001-01-01",
	"before=2099-01-01",
];

/** The plugin list of the family with most plugins, and of a family with few. */
const OF_FAMILY = {
	large: { owner: "plugins" },
	small: { owner: "plugins", limit: 5 },
} as const satisfies Record<string, List>;

const ACTIVITY_OF_FAMILY: Record<keyof typeof OF_FAMILY, List> = {
	large: {
		owner: "plugins",
		few: [
			"activity=deleted",
			`user=${uuid("user", FIRST_PERSON)}`,
			"email=person-0@example.com",
			"after=2099-01-01",
			"before=2000-01-01",
		],
		most: OF_MOST_PLUGINS,
	},
	small: { owner: "plugins", limit: 5, few: OF_MOST_PLUGINS },
};

/** Returns the lists of a plugin family, by operation id. */
const family = (one: string, many: string, size: keyof typeof OF_FAMILY): Record<string, List> => ({
	[`list${many}`]: OF_FAMILY[size],
	[`list${one}Activity`]: ACTIVITY_OF_FAMILY[size],
	[`list${one}ExportConfigs`]: { owner: "configs" },
	[`list${one}Repository`]: { owner: "plugins" },
	[`listUnused${many}`]: OF_FAMILY[size],
});

/** All lists, by the operation ids of public/openapi.json. */
export const LISTS: Record<string, List> = {
	listOrganizations: { owner: "organizations" },
	listBatchExports: {
		owner: "exports",
		few: [...DELETED, "one_off=true"],
		limit: LIMITS.exports,
	},
	listBatchExportLogs: { ...LOG, few: ["before=2000-01-01"] },
	listBatchExportMetrics: { owner: "runs", limit: LIMITS.exportDays },
	listBatchExportRuns: {
		owner: "runs",
		few: [
			"status=Failed",
			"status=Failed&after=2001-01-01",
			"status=Failed&starts_before=2199-01-01",
			"after=2099-01-01",
			"before=2000-01-01",
		],
		inside: ["starts_before=2000-01-01", "kind=backfill"],
		most: [
			"kind=scheduled",
			"status=Completed",
			"after=2001-01-01",
			"before=2099-01-01",
			"starts_before=2099-01-01",
		],
	},
	listBatchExportRanges: {
		owner: "runs",
		few: ["after=2099-01-01", "starts_before=2000-01-01"],
		most: ["after=2001-01-01", "starts_before=2099-01-01"],
		limit: LIMITS.ranges,
	},
	listBatchExportRunLogs: LOG,
	// Each run has one.
	listBatchExportRunFiles: { owner: "runs", limit: 1 },
	listBatchExportBackfills: {
		owner: "runs",
		few: ["after=2099-01-01", "before=2000-01-01"],
		most: ["status=Completed", "after=2001-01-01", "before=2099-01-01"],
	},
	listCredentials: {
		owner: "accounts",
		few: [`owner=${uuid("user", OWNERS.accounts)}`, "expires_before=2200-01-01"],
		most: ["kind=trusted_issuer", "search=row", "unused_since=2099-01-01"],
		limit: LIMITS.accounts + LIMITS.trustedIssuers,
	},
	listDomains: { owner: "domains", most: ["search=host"] },
	listInvites: { owner: "invites", most: ["search=invited"] },
	listMembers: {
		owner: "members",
		inside: ["email=person-7@example.com", "updated_after=2099-01-01", "level=15"],
		most: [
			"is_2fa_enabled=false",
			"search=person",
			"updated_after=2001-01-01",
			"order=joined_at",
			"inactive_since=2099-01-01",
			"include_last_active=true",
		],
	},
	reviewMembers: { owner: "members", most: ["inactive_since=2099-01-01"] },
	listRoles: { owner: "members", limit: LIMITS.roles },
	listRoleMembers: { owner: "members", limit: LIMITS.roles, ids: { id: ROLE } },
	listAccessControls: {
		owner: "members",
		few: [
			`role=${ROLE}`,
			`member=${uuid("user", OWNERS.members)}`,
			`resource_id=${ACCESS_CONTROL}`,
		],
		most: ["resource=batch_export"],
		limit: LIMITS.accessControls,
	},
	explainAccess: {
		owner: "members",
		few: [
			"member=@me&resource=project",
			`member=@me&resource=project&resource_id=${OWNERS.members}`,
		],
		most: ["resource=project"],
	},
	listServiceAccounts: { owner: "accounts", limit: LIMITS.accounts },
	listOauthClients: { owner: "accounts", limit: LIMITS.clients },
	listServiceAccountKeys: { owner: "accounts", limit: LIMITS.keys },
	listTrustedIssuers: { owner: "accounts", limit: LIMITS.trustedIssuers },
	listServiceAccountKeyUsage: { owner: "accounts", limit: LIMITS.days, ids: { id: ACCOUNT_KEY } },
	listOrganizationProjects: { ...PROJECTS, few: DELETED },
	listActivity: ACTIVITY,
	listFeedEvents: {
		owner: "activity",
		inside: ["types=domain.deleted", "types=domain.*"],
		most: ["types=member.updated", "types=member.*", `after=${FIRST_EVENT}`],
	},
	listAuditStreams: { owner: "streams", limit: LIMITS.streams },
	listWebhooks: { owner: "webhooks", few: DELETED, limit: LIMITS.webhooks },
	listWebhookDeliveries: {
		owner: "webhooks",
		few: ["status=failed", "type=domain.deleted"],
		limit: LIMITS.deliveries,
		ids: { id: WEBHOOK },
	},
	listPlugins: {
		owner: "plugins",
		few: ["family=pipeline_import_apps", ...DELETED],
		most: ["search=row", "family=pipeline_destinations"],
	},
	...family("Destination", "Destinations", "large"),
	...family("FrontendApp", "FrontendApps", "small"),
	...family("ImportApp", "ImportApps", "small"),
	listImportAppExportConfigs: { owner: "configs", limit: 5 },
	listProjects: PROJECTS,
	listProjectBatchExports: { owner: "exports", limit: LIMITS.exports },
	// The queries are the same as below an organization, where filters are measured.
	listProjectBatchExportLogs: { owner: "runs" },
	listProjectBatchExportMetrics: { owner: "runs", limit: LIMITS.exportDays },
	listProjectBatchExportRanges: { owner: "runs", limit: LIMITS.ranges },
	listProjectBatchExportRuns: { owner: "runs" },
	listProjectBatchExportRunLogs: { owner: "runs" },
	listProjectBatchExportRunFiles: { owner: "runs", limit: 1 },
	listProjectBatchExportBackfills: { owner: "runs" },
	listPluginConfigs: { owner: "configs", few: DELETED },
	listOrganizationPluginConfigs: { owner: "configs", few: ["plugin=10000001"] },
	listPluginConfigLogs: {
		owner: "logs",
		few: ["before=2000-01-01"],
		most: ["search=row", "type_filter=LOG", "after=2001-01-01", "before=2099-01-01"],
	},
	listProjectMembers: { owner: "projectMembers" },
	listProjectActivity: ACTIVITY,
	listPersonalApiKeys: { owner: "keys", limit: LIMITS.keys },
	listPasskeys: { owner: "signOn", limit: LIMITS.passkeys },
	listIdentities: { owner: "signOn", limit: LIMITS.identities },
	listMemberIdentities: { owner: "signOn", limit: LIMITS.identities },
	listOauthGrants: { owner: "signOn", limit: LIMITS.grants },
	listOrganizationOauthGrants: { owner: "signOn", limit: LIMITS.grants },
	listSessions: { owner: "signOn", limit: LIMITS.sessions },
	listScimTokens: { owner: "signOn", limit: LIMITS.scimTokens },
	listScimGroups: { owner: "signOn", limit: LIMITS.scimGroups },
	listScimRequests: { owner: "signOn", limit: LIMITS.scimRequests },
	listPersonalApiKeyUsage: { owner: "keys", limit: LIMITS.days, ids: { id: KEY } },
};

/** The ids in paths, except the owner's. */
export const IDS: Record<string, string> = {
	id: EXPORT,
	domain_id: DOMAIN,
	uuid: "@me",
	user__uuid: "@me",
	service_account_id: ACCOUNT,
	run_id: RUN,
	plugin_config_id: String(PLUGIN),
};
