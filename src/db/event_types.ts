/** The activities of each scope (docs/events.md#types); old ones stay as long as their events. */
export const ACTIVITIES = {
	Organization: ["created", "updated", "two_factor_reminded", "deleted", "restored"],
	Project: ["created", "updated", "deleted", "restored"],
	ProjectMember: ["created", "updated", "deleted"],
	Member: ["created", "updated", "removal_rejected", "deleted"],
	Invite: ["created", "accepted", "deleted"],
	Domain: [
		"created",
		"updated",
		"tested",
		"verified",
		"unverified",
		"enforcement_lifted",
		"deleted",
	],
	Role: ["created", "updated", "deleted"],
	RoleMember: ["created", "deleted"],
	AccessControl: ["created", "updated", "deleted"],
	ScimToken: ["created", "deleted"],
	ScimGroup: ["created", "updated", "deleted"],
	User: ["created", "updated", "deactivated"],
	PersonalApiKey: ["created", "updated", "rolled", "deleted"],
	Session: ["created", "deleted"],
	Key: ["expiring"],
	TwoFactor: [
		"begun",
		"enabled",
		"disabled",
		"reset",
		"recovery_codes_replaced",
		"recovery_code_used",
	],
	Passkey: ["created", "updated", "deleted"],
	Identity: ["created", "deleted"],
	SignIn: ["failed", "break_glass_used"],
	OauthClient: ["created", "updated", "deleted"],
	OauthGrant: ["created", "revoked", "rejected"],
	ServiceAccount: ["created", "updated", "deleted"],
	ServiceAccountKey: ["created", "updated", "rolled", "deleted"],
	TrustedIssuer: ["created", "updated", "exchanged", "deleted"],
	Plugin: ["created", "updated", "source_updated", "upgraded", "deleted", "restored"],
	PluginConfig: ["created", "updated", "job_triggered", "deleted", "restored"],
	PluginConfigOrder: ["rearranged"],
	PluginJob: ["failed"],
	BatchExport: [
		"created",
		"updated",
		"paused",
		"unpaused",
		"tested",
		"backfilled",
		"backfill_cancelled",
		"run_cancelled",
		"run_retried",
		"windows_retried",
		"windows_dismissed",
		"deleted",
		"restored",
	],
	Webhook: [
		"created",
		"updated",
		"rolled",
		"tested",
		"delivery_replayed",
		"replayed",
		"disabled",
		"deleted",
		"restored",
	],
	DeletedObject: ["purged"],
	AuditStream: ["created", "updated", "tested", "delivered", "failed", "deleted"],
	BatchExportDestination: ["tested"],
	Request: ["denied", "downloaded"],
	ActivityLog: ["read"],
	BatchExportRun: ["completed", "failed", "skipped"],
} as const;

/** The kind of an object, such as `PluginConfig`. */
type Scope = keyof typeof ACTIVITIES;

/** The activities of a scope. */
export type ActivityOf<S extends Scope> = (typeof ACTIVITIES)[S][number];

/** The scopes that have the activity. */
export type ScopeWith<A extends string> = {
	[S in Scope]: A extends ActivityOf<S> ? S : never;
}[Scope];

/** A scope and one of its activities. */
export type Kind = { [S in Scope]: { scope: S; activity: ActivityOf<S> } }[Scope];

/** Activities that begin or end an object. Their entries have its first or last values. */
export type Life = "created" | "deleted" | "revoked";

/** A scope, and one of its activities that begins or ends an object. */
export type LifeKind = {
	[S in Scope]: { scope: S; activity: Extract<ActivityOf<S>, Life> };
}[Scope];

/** A scope, and one of its other activities. */
export type OtherKind = {
	[S in Scope]: { scope: S; activity: Exclude<ActivityOf<S>, Life> };
}[Scope];

/** `pluginConfig` → `plugin_config` */
type SnakeCase<T extends string> = T extends `${infer C}${infer Rest}`
	? `${C extends Lowercase<C> ? C : `_${Lowercase<C>}`}${SnakeCase<Rest>}`
	: "";

type TypeIn<S extends Scope, A extends ActivityOf<S>> = `${SnakeCase<Uncapitalize<S>>}.${A}`;

/** The type of an event, such as `plugin_config.created`. */
export type EventType = { [S in Scope]: TypeIn<S, ActivityOf<S>> }[Scope];

/** The types of events without a caller that can be mailed. */
const MAILED_SYSTEM_TYPES = [
	"batch_export.paused",
	"batch_export_run.failed",
	"batch_export_run.skipped",
	"batch_export_run.completed",
	"plugin_job.failed",
	"key.expiring",
	"domain.unverified",
	"webhook.disabled",
	"audit_stream.failed",
	"audit_stream.delivered",
] as const satisfies EventType[];

/** The types of events that happen without a caller. */
export const SYSTEM_TYPES = [
	...MAILED_SYSTEM_TYPES,
	"deleted_object.purged",
] as const satisfies EventType[];

/** The types of events that can be mailed (docs/notifications.md#what-is-mailed). */
export const MAILED_TYPES = [
	...MAILED_SYSTEM_TYPES,
	"member.created",
] as const satisfies EventType[];

/** A scope and one of its activities that happen without a caller. */
export type SystemKind = {
	[S in Scope]: {
		[A in ActivityOf<S>]: TypeIn<S, A> extends (typeof SYSTEM_TYPES)[number]
			? { scope: S; activity: A }
			: never;
	}[ActivityOf<S>];
}[Scope];

/** Converts `PluginConfig` to `plugin_config`. */
const toSnakeCase = (text: string) =>
	text.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

/** Returns the type of an event, such as `plugin_config.created`. */
export const typeOf = ({ scope, activity }: { scope: string; activity: string }) =>
	`${toSnakeCase(scope)}.${activity}`;

const KINDS = Object.entries(ACTIVITIES).flatMap(([scope, activities]) =>
	activities.map((activity) => ({ scope, activity, type: typeOf({ scope, activity }) })),
);

/** The types of all events. */
export const EVENT_TYPES: readonly string[] = KINDS.map(({ type }) => type);

/** A filter for types: a type, or `scope.*` for all types of a scope. It doesn't have to exist. */
export const TYPE_FILTER = /^[a-z]+(?:_[a-z]+)*\.(?:[a-z]+(?:_[a-z]+)*|\*)$/;

/**
 * Returns the scopes and activities that match the filters. Types that don't exist match nothing.
 * @param types as in `TYPE_FILTER`
 */
export const kindsOf = (types: string[]) =>
	KINDS.filter(({ type }) => types.some((wanted) => matchesType(wanted, type)));

/** Whether a filter matches the type of an event. */
const matchesType = (wanted: string, type: string) =>
	wanted.endsWith(".*") ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
