import { sql } from "drizzle-orm";
import {
	type AnySQLiteColumn,
	check,
	foreignKey,
	index,
	integer,
	primaryKey,
	real,
	sqliteTable,
	text,
	uniqueIndex,
} from "drizzle-orm/sqlite-core";
import { v7 } from "uuid";
import { CURRENT_VERSION, FIRST_VERSION } from "../http/versions.ts";
import { MEMBER } from "./levels.ts";
import type { QuerySchema } from "./query_schema.ts";

/** The current time as `YYYY-MM-DDTHH:MM:SS.sssZ`, which sorts as text. */
export const now = () => new Date().toISOString();

const id = () => text().primaryKey().$defaultFn(v7);
const created_at = () => text().notNull().$defaultFn(now);
const updated_at = () => text().notNull().$defaultFn(now).$onUpdateFn(now);
const boolean = () => integer({ mode: "boolean" });
/** A number of rows that triggers maintain, so that a page need not count them. */
const counter = () => integer().notNull().default(0);
const list = <T>() => text({ mode: "json" }).$type<T[]>().notNull().default([]);

export const users = sqliteTable(
	"users",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		uuid: text().notNull().unique().$defaultFn(v7),
		distinct_id: text()
			.notNull()
			.$defaultFn(() => crypto.randomUUID()),
		first_name: text().notNull().default(""),
		last_name: text().notNull().default(""),
		/** Lower case. */
		email: text().notNull().unique(),
		is_email_verified: boolean().notNull().default(false),
		mascot_config: text({ mode: "json" }).$type<Record<string, unknown>>().notNull().default({}),
		is_active: boolean().notNull().default(true),
		/** The number of memberships and of keys; maintained by triggers. */
		organizations: counter(),
		personal_api_keys: counter(),
		/** Whether signing in takes a second factor; `two_factors` has it. */
		is_2fa_enabled: boolean().notNull().default(false),
		/** Written by the service that signs people in through other providers, outside this code. */
		has_social_auth: boolean().notNull().default(false),
		/**
		 * Not a person, but a row of `service_accounts`, whose id is this row's `uuid`. The row stays when
		 * the account is deleted, inactive, since entries of the activity log refer to it.
		 */
		is_service_account: boolean().notNull().default(false),
		current_organization_id: text().references((): AnySQLiteColumn => organizations.id, {
			onDelete: "set null",
		}),
		current_project_id: integer().references((): AnySQLiteColumn => projects.id, {
			onDelete: "set null",
		}),
		created_at: created_at(),
	},
	(t) => [
		index("users_current_organization").on(t.current_organization_id),
		index("users_current_project").on(t.current_project_id),
	],
);

/** One entry of Organization.available_product_features. */
export type Feature = {
	key: string;
	name: string;
	description?: string;
	limit?: number;
};

export const organizations = sqliteTable("organizations", {
	id: id(),
	name: text().notNull(),
	slug: text().notNull().unique(),
	logo_media_id: text(),
	plugins_access_level: integer().notNull(),
	available_product_features: list<Feature>(),
	is_member_join_email_enabled: boolean().notNull().default(true),
	metadata: text().notNull().default("{}"),
	customer_id: text(),
	enforce_2fa: boolean(),
	/** Whether keys that can reach the organization need an `expires_at`. */
	keys_must_expire: boolean().notNull().default(false),
	active_members: counter(),
	invites: counter(),
	domains: counter(),
	/** All projects, and those that are not private. */
	projects: counter(),
	open_projects: counter(),
	/** The exports that are not deleted: of all projects, and of those that are not private. */
	batch_exports: counter(),
	open_batch_exports: counter(),
	created_at: created_at(),
	updated_at: updated_at(),
});

export const members = sqliteTable(
	"members",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
		/** `users.is_active`, and false for service accounts; maintained by triggers, so that an index of members knows it. */
		is_active: boolean().notNull().default(true),
	},
	(t) => [
		uniqueIndex("members_organization_user").on(t.organization_id, t.user_id),
		index("members_organization").on(t.organization_id, t.is_active, t.joined_at, t.id),
		// With what the list is sorted by.
		index("members_updated").on(t.organization_id, t.is_active, t.updated_at, t.joined_at, t.id),
		index("members_level").on(t.organization_id, t.level),
		uniqueIndex("members_user").on(t.user_id, t.organization_id),
	],
);

export const projects = sqliteTable(
	"projects",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		uuid: text().notNull().unique().$defaultFn(v7),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		name: text().notNull(),
		timezone: text().notNull().default("UTC"),
		/**
		 * Whether the project is private: visible to admins of the organization and project members
		 * only.
		 */
		access_control: boolean().notNull().default(false),
		/** The members whose user is active, and what is not deleted; maintained by triggers. */
		active_members: counter(),
		batch_exports: counter(),
		plugin_configs: counter(),
		created_at: created_at(),
	},
	(t) => [
		index("projects_organization").on(t.organization_id),
		index("projects_access").on(t.organization_id, t.access_control, t.id),
	],
);

/** References the membership of the organization, so that it is deleted with it. */
export const projectMembers = sqliteTable(
	"project_members",
	{
		id: id(),
		project_id: integer()
			.notNull()
			.references(() => projects.id, { onDelete: "cascade" }),
		organization_id: text().notNull(),
		user_id: integer().notNull(),
		level: integer().notNull(),
		joined_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("project_members_project_user").on(t.project_id, t.user_id),
		index("project_members_project").on(t.project_id, t.id),
		index("project_members_organization_user").on(t.organization_id, t.user_id),
		foreignKey({
			columns: [t.organization_id, t.user_id],
			foreignColumns: [members.organization_id, members.user_id],
		}).onDelete("cascade"),
	],
);

export const personalApiKeys = sqliteTable(
	"personal_api_keys",
	{
		id: id(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		label: text().notNull(),
		/** SHA-256 of the value, hex. The value itself is stored nowhere. */
		hash: text().notNull().unique(),
		mask_value: text().notNull(),
		scopes: list<string>(),
		scoped_organizations: list<string>(),
		scoped_projects: list<number>(),
		/** IP addresses and CIDR ranges that the key may be used from, normalized by `src/auth/ranges.ts`. Empty: from any. */
		allowed_ips: list<string>(),
		expires_at: text(),
		created_at: created_at(),
		last_used_at: text(),
		last_rolled_at: text(),
		/** The version of the API that requests get which don't choose one (docs/api.md#versions). */
		version: text()
			.notNull()
			.default(FIRST_VERSION)
			.$defaultFn(() => CURRENT_VERSION),
		/** The `expires_at` that the event `key.expiring` was last written for. */
		announced_expiry: text(),
		/** Whether it was made by signing in (docs/keys.md#signing-in). */
		is_session: boolean().notNull().default(false),
	},
	(t) => [
		index("personal_api_keys_user").on(t.user_id, t.id),
		// For the keys that the event is due for.
		index("personal_api_keys_expiring")
			.on(t.expires_at)
			.where(sql`expires_at is not null and announced_expiry is not expires_at`),
	],
);

/** How often a key was used on a day. Days without use have no row. */
export const personalApiKeyDays = sqliteTable(
	"personal_api_key_days",
	{
		key_id: text()
			.notNull()
			.references(() => personalApiKeys.id, { onDelete: "cascade" }),
		/** YYYY-MM-DD, in UTC. */
		day: text().notNull(),
		/** Includes the refused ones. */
		requests: integer().notNull(),
		/** Responses with the status 401, 403 or 429. */
		refusals: integer().notNull(),
		last_address: text(),
	},
	(t) => [primaryKey({ columns: [t.key_id, t.day] }), index("personal_api_key_days_day").on(t.day)],
);

/** Mailed links to sign in with (docs/keys.md#signing-in). Rows are deleted after an hour. */
export const signIns = sqliteTable(
	"sign_ins",
	{
		id: id(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		/** SHA-256 of the token in the link, hex. The token itself is stored nowhere. */
		token_hash: text().notNull().unique(),
		created_at: created_at(),
		/** The same as `created_at` if the mail had no link. */
		expires_at: text().notNull(),
		/** The codes of a second factor that were tried with the link. */
		attempts: integer().notNull().default(0),
		/** The key that was made with the link; null: it wasn't used. */
		key_id: text(),
	},
	(t) => [
		index("sign_ins_user").on(t.user_id, t.created_at),
		index("sign_ins_created").on(t.created_at),
	],
);

/** The second factor of a user: time-based codes (RFC 6238). */
export const twoFactors = sqliteTable("two_factors", {
	user_id: integer()
		.primaryKey()
		.references(() => users.id, { onDelete: "cascade" }),
	/** Encrypted. */
	secret: text().notNull(),
	/** null: the user hasn't shown yet that it has the secret. */
	confirmed_at: text(),
	/** The time step of the latest code that was used. An earlier one, or the same, isn't accepted. */
	last_step: integer().notNull().default(0),
	/** The wrong codes since `attempts_since`, and those that are being checked. */
	attempts: integer().notNull().default(0),
	attempts_since: text().notNull().$defaultFn(now),
});

/** Codes for those who lost their device. A code's row is deleted when it is used. */
export const recoveryCodes = sqliteTable(
	"recovery_codes",
	{
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		/** HMAC of the code (`digests` in src/auth/secrets.ts). */
		digest: text().notNull(),
	},
	(t) => [primaryKey({ columns: [t.user_id, t.digest] })],
);

/**
 * An account's access is that of a user: its row of `users` has the keys, that of `members` the
 * level, and those of `project_members` its private projects. A trigger ends all of it when the
 * account is deleted.
 */
export const serviceAccounts = sqliteTable(
	"service_accounts",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		user_id: integer()
			.notNull()
			.unique()
			.references(() => users.id),
		name: text().notNull(),
		created_by: integer()
			.notNull()
			.references(() => users.id),
		created_at: created_at(),
	},
	(t) => [index("service_accounts_organization").on(t.organization_id, t.id)],
);

/** One entry of Invite.private_project_access, as the client sent it. */
export type ProjectAccess = { id: number; level: number | string };

export const invites = sqliteTable(
	"invites",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** Lower case. */
		target_email: text().notNull(),
		first_name: text().notNull().default(""),
		level: integer().notNull().default(MEMBER),
		message: text(),
		private_project_access: list<ProjectAccess>(),
		created_by: integer()
			.notNull()
			.references(() => users.id),
		emailing_attempt_made: boolean().notNull(),
		/** SHA-256 of the token in the link, hex. The token itself is stored nowhere. */
		token_hash: text().notNull().unique(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("invites_organization_email").on(t.organization_id, t.target_email),
		index("invites_organization").on(t.organization_id, t.id),
		index("invites_open").on(t.organization_id, t.created_at),
	],
);

/**
 * Invite mails of the last hour, for the limit of mails. Rows stay when the invite is deleted or
 * replaced.
 */
export const inviteMails = sqliteTable(
	"invite_mails",
	{
		invite_id: text().primaryKey(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		sent_at: text().notNull(),
	},
	(t) => [index("invite_mails_organization").on(t.organization_id, t.sent_at)],
);

export const domains = sqliteTable(
	"domains",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		domain: text().notNull().unique(),
		/** When the organization added the domain, or renamed another one to it. */
		claimed_at: text().$defaultFn(now),
		/** null: not verified. */
		verified_at: text(),
		verification_challenge: text().notNull(),
		jit_provisioning_enabled: boolean().notNull().default(false),
		sso_enforcement: text().notNull().default(""),
		saml_entity_id: text(),
		saml_acs_url: text(),
		saml_x509_cert: text(),
		/** When the challenge of a verified domain is looked up again; empty: at once. */
		recheck_at: text().notNull().default(""),
		/** How many of these look-ups in a row didn't find it, and when the first of them was. */
		failed_rechecks: integer().notNull().default(0),
		missing_since: text(),
	},
	(t) => [
		index("domains_organization").on(t.organization_id, t.domain),
		index("domains_recheck").on(t.recheck_at).where(sql`verified_at is not null`),
	],
);

/** What a plugin's code exports. Empty lists are left out. */
export type Capabilities = {
	methods?: string[] | undefined;
	jobs?: string[] | undefined;
	scheduled_tasks?: string[] | undefined;
};

/** Whether the JSON list of a plugin's methods has one of these. */
const hasMethod = (...names: string[]) =>
	names
		.map((name) => `instr(coalesce(capabilities ->> '$.methods', ''), '"${name}"')`)
		.join(" or ");

/** SQL for the families of a plugin, by its `capabilities` (docs/plugins.md#families). */
const FAMILY_BITS = `iif(${hasMethod("onEvent", "exportEvents", "composeWebhook")}, 1, 0)
  + iif(capabilities ->> '$.methods' is null and capabilities ->> '$.scheduled_tasks' is null, 2, 0)
  + iif(json_array_length(coalesce(capabilities -> '$.scheduled_tasks', '[]')) > 0
    or (capabilities ->> '$.methods' is not null
      and not (${hasMethod("onEvent", "exportEvents", "composeWebhook", "processEvent")})), 4, 0)`;

const map = <T>() => text({ mode: "json" }).$type<T>().notNull();

export const plugins = sqliteTable(
	"plugins",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		plugin_type: text().notNull(),
		name: text().notNull().default(""),
		description: text().notNull().default(""),
		/** Without its query string, which may hold a token. */
		url: text(),
		/** The access token of a private repository, encrypted. */
		private_token: text(),
		icon: text(),
		config_schema: map<unknown[] | Record<string, unknown>>().default([]),
		tag: text(),
		latest_tag: text(),
		is_global: boolean().notNull().default(false),
		capabilities: map<Capabilities>(),
		metrics: map<Record<string, "sum" | "min" | "max">>().default({}),
		public_jobs: map<Record<string, unknown>>().default({}),
		/** The families it belongs to: the sum of 1, 2 and 4 (plugins/families.ts). */
		families: integer().generatedAlwaysAs(sql.raw(`(${FAMILY_BITS})`), { mode: "virtual" }),
		/** Whether its own organization has an enabled config of it; maintained by triggers. */
		is_used: boolean().notNull().default(false),
		/** The entries about it in its organization's activity log; maintained by triggers. */
		activity_entries: counter(),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("plugins_organization_url").on(t.organization_id, t.url),
		index("plugins_organization").on(t.organization_id, t.id),
		index("plugins_global").on(t.id).where(sql`is_global`),
		// Indexes for each family: a list must not read the plugins of the others.
		...[
			{ name: "destinations", holds: "families & 1" },
			{ name: "frontend_apps", holds: "families & 2" },
			{ name: "import_apps", holds: "families & 4" },
		].flatMap(({ name, holds }) => [
			index(`plugins_${name}`).on(t.organization_id, t.id).where(sql.raw(holds)),
			index(`plugins_unused_${name}`)
				.on(t.organization_id, t.id)
				.where(sql.raw(`${holds} and not is_used`)),
			index(`plugins_global_${name}`)
				.on(t.id)
				.where(sql.raw(`${holds} and is_global`)),
		]),
	],
);

export const pluginSourceFiles = sqliteTable(
	"plugin_source_files",
	{
		plugin_id: integer()
			.notNull()
			.references(() => plugins.id, { onDelete: "cascade" }),
		filename: text().notNull(),
		source: text().notNull(),
		/**
		 * JavaScript: of a main file the script that jobs run, of site.ts and frontend.tsx the module for
		 * browsers. If a main file has neither this nor an error, its jobs compile it.
		 */
		compiled: text(),
		/** Why compiling failed; null if it didn't. */
		error: text(),
		updated_at: updated_at(),
	},
	(t) => [primaryKey({ columns: [t.plugin_id, t.filename] })],
);

export const pluginConfigs = sqliteTable(
	"plugin_configs",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		/**
		 * The row id that secrets are sealed for. Unlike `id`, it is known before the row is inserted.
		 */
		uuid: text().notNull().$defaultFn(v7),
		project_id: integer()
			.notNull()
			.references(() => projects.id, { onDelete: "cascade" }),
		organization_id: text().notNull(),
		plugin_id: integer()
			.notNull()
			.references(() => plugins.id, { onDelete: "cascade" }),
		enabled: boolean().notNull().default(false),
		/** When it was last enabled. */
		enabled_at: text(),
		order: integer().notNull(),
		/** Secret fields are encrypted one by one. */
		config: map<Record<string, unknown>>().default({}),
		/** The latest error's message. */
		error: text(),
		/** null: the plugin's name. */
		name: text(),
		description: text(),
		deleted: boolean().notNull().default(false),
		/** `families` of the plugin; maintained by triggers. */
		families: integer().notNull().default(0),
		/** The number of log entries, in all and of each type; maintained by triggers. */
		log_entries: counter(),
		debug_entries: counter(),
		log_type_entries: counter(),
		info_entries: counter(),
		warn_entries: counter(),
		error_entries: counter(),
		/** The size of its storage; maintained by triggers. */
		storage_keys: integer().notNull().default(0),
		storage_bytes: integer().notNull().default(0),
		created_at: created_at(),
		updated_at: updated_at(),
	},
	(t) => [
		uniqueIndex("plugin_configs_uuid").on(t.uuid),
		index("plugin_configs_project").on(t.project_id, t.deleted, t.order, t.id),
		index("plugin_configs_organization").on(t.organization_id, t.plugin_id),
		index("plugin_configs_exports")
			.on(t.organization_id, t.families, t.id)
			.where(sql`enabled and not deleted`),
		index("plugin_configs_plugin").on(t.plugin_id),
		// For the search for scheduled tasks, which runs every minute.
		index("plugin_configs_enabled").on(t.plugin_id).where(sql`enabled and not deleted`),
	],
);

export const pluginLogEntries = sqliteTable(
	"plugin_log_entries",
	{
		/** The number of its document in the full-text index. */
		position: integer().primaryKey(),
		id: text().notNull().unique().$defaultFn(v7),
		team_id: integer().notNull(),
		plugin_id: integer().notNull(),
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		timestamp: created_at(),
		source: text({ enum: ["SYSTEM", "PLUGIN", "CONSOLE"] }).notNull(),
		type: text({ enum: ["DEBUG", "LOG", "INFO", "WARN", "ERROR"] }).notNull(),
		message: text().notNull(),
		instance_id: text().notNull(),
	},
	(t) => [
		// A page of all types merges one range of this index for each.
		index("plugin_log_entries_config").on(t.plugin_config_id, t.type, t.timestamp, t.id),
		index("plugin_log_entries_timestamp").on(t.timestamp),
	],
);

/** The queue of plugin jobs and scheduled tasks, with the state of each. */
export const pluginJobs = sqliteTable(
	"plugin_jobs",
	{
		id: integer().primaryKey({ autoIncrement: true }),
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		/** The config's organization; set by a trigger. */
		organization_id: text().notNull().default(""),
		/** The position in the queue; set by a trigger (jobs/queue.ts). */
		turn: integer().notNull().default(0),
		kind: text({ enum: ["job", "task"] }).notNull(),
		name: text().notNull(),
		payload: text({ mode: "json" }).$type<unknown>(),
		/** For a task, the minute that it runs for. A task runs once for each. */
		scheduled_for: text(),
		status: text({ enum: ["queued", "running", "done", "failed"] })
			.notNull()
			.default("queued"),
		/** For a task, the minute in which it was queued. */
		created_at: created_at(),
		started_at: text(),
		finished_at: text(),
	},
	(t) => [
		uniqueIndex("plugin_jobs_task").on(t.plugin_config_id, t.name, t.scheduled_for),
		index("plugin_jobs_config").on(t.plugin_config_id, t.finished_at),
		index("plugin_jobs_turn").on(t.turn).where(sql`status = 'queued'`),
		index("plugin_jobs_organization").on(t.organization_id, t.turn).where(sql`status = 'queued'`),
		index("plugin_jobs_running").on(t.started_at).where(sql`status = 'running'`),
		// For the limits on how many tasks an organization has queued, in total and in a minute.
		index("plugin_jobs_tasks")
			.on(t.organization_id, t.status, t.created_at)
			.where(sql`kind = 'task'`),
		index("plugin_jobs_finished").on(t.finished_at),
	],
);

/** The key-value storage of plugins, separate for each config. */
export const pluginStorage = sqliteTable(
	"plugin_storage",
	{
		plugin_config_id: integer()
			.notNull()
			.references(() => pluginConfigs.id, { onDelete: "cascade" }),
		key: text().notNull(),
		/** JSON, encrypted. */
		value: text().notNull(),
		/** The size of the key and the JSON, in bytes. */
		bytes: integer().notNull().default(0),
	},
	(t) => [primaryKey({ columns: [t.plugin_config_id, t.key] })],
);

export const MODELS = ["events", "persons"] as const;

/** The lengths that the windows of an export can have. */
export const INTERVALS = ["hour", "day", "week", "every 5 minutes", "every 15 minutes"] as const;

export const RUN_STATUSES = [
	"Starting",
	"Running",
	"Completed",
	"Failed",
	"FailedRetryable",
	"Cancelled",
] as const;

/** Runs with these statuses are few, so that an index of them alone costs little. */
export const UNSUCCESSFUL: string[] = ["Failed", "FailedRetryable", "Cancelled"];

/** The condition of that index, literally, as queries need it. */
export const isUnsuccessful = sql.raw(`status in ('${UNSUCCESSFUL.join("', '")}')`);

export const BACKFILL_STATUSES = ["Running", "Completed", "Cancelled"] as const;

export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;

/** Where an export's rows go (docs/exports.md#destinations). */
export type Destination = { type: string; config: Record<string, unknown> };

/**
 * No foreign key to the project: after the project is deleted, running exports still have to be
 * cleaned up.
 */
export const batchExports = sqliteTable(
	"batch_exports",
	{
		id: id(),
		organization_id: text().notNull(),
		project_id: integer().notNull(),
		name: text().notNull(),
		model: text({ enum: MODELS }).notNull().default("events"),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		interval: text({ enum: INTERVALS }).notNull(),
		paused: boolean().notNull().default(false),
		created_at: created_at(),
		last_updated_at: updated_at(),
		last_paused_at: text(),
		start_at: text(),
		end_at: text(),
		xql_query: text(),
		schema: text({ mode: "json" }).$type<QuerySchema>(),
		deleted: boolean().notNull().default(false),
		/** The end of the next scheduled window, and when its run is due. */
		next_end_at: text().notNull(),
		due_at: text().notNull(),
		/** The number of runs, in all and by status; maintained by triggers. */
		runs: counter(),
		starting_runs: counter(),
		running_runs: counter(),
		completed_runs: counter(),
		failed_runs: counter(),
		failed_retryable_runs: counter(),
		cancelled_runs: counter(),
		/** The number of log entries, in all and by level; maintained by triggers. */
		log_entries: counter(),
		debug_entries: counter(),
		info_entries: counter(),
		warning_entries: counter(),
		error_entries: counter(),
		/** The number of backfills, and of days with runs that ended; maintained by triggers. */
		backfills: counter(),
		days: counter(),
	},
	(t) => [
		index("batch_exports_organization").on(t.organization_id, t.deleted, t.id),
		index("batch_exports_project").on(t.project_id, t.deleted, t.id),
		index("batch_exports_due").on(t.due_at).where(sql`not paused and not deleted`),
		index("batch_exports_deleted").on(t.id).where(sql`deleted`),
	],
);

export const batchExportBackfills = sqliteTable(
	"batch_export_backfills",
	{
		id: id(),
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		project_id: integer().notNull(),
		start_at: text().notNull(),
		end_at: text().notNull(),
		/** The export's interval when the backfill began. */
		interval: text({ enum: INTERVALS }).notNull(),
		status: text({ enum: BACKFILL_STATUSES }).notNull().default("Running"),
		total_runs: integer().notNull(),
		/** The number of runs that have ended, and how many of them failed; maintained by triggers. */
		finished_runs: integer().notNull().default(0),
		failed_runs: integer().notNull().default(0),
		created_at: created_at(),
		finished_at: text(),
		last_updated_at: updated_at(),
	},
	(t) => [
		index("batch_export_backfills_export").on(t.batch_export_id, t.id),
		index("batch_export_backfills_status").on(t.batch_export_id, t.status, t.id),
		index("batch_export_backfills_range").on(t.batch_export_id, t.end_at, t.id),
		index("batch_export_backfills_status_range").on(t.batch_export_id, t.status, t.end_at, t.id),
		index("batch_export_backfills_running")
			.on(t.project_id, t.last_updated_at)
			.where(sql`status = 'Running'`),
	],
);

export const batchExportRuns = sqliteTable(
	"batch_export_runs",
	{
		id: id(),
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		/** null: a scheduled run. */
		backfill_id: text().references(() => batchExportBackfills.id, {
			onDelete: "cascade",
		}),
		status: text({
			enum: RUN_STATUSES,
		})
			.notNull()
			.default("Starting"),
		records_completed: integer().notNull().default(0),
		records_total_count: integer(),
		latest_error: text(),
		data_interval_start: text().notNull(),
		data_interval_end: text().notNull(),
		/** JSON: the cursor of the last row that was exported; null: none was. */
		cursor: text(),
		/** What the destination needs to continue at the cursor, or to clean up; null: nothing. */
		state: text({ mode: "json" }).$type<unknown>(),
		/**
		 * A digest of query and destination. A run that finds another one starts over. null: it has not
		 * started.
		 */
		fingerprint: text(),
		/**
		 * After the run has ended: the state that a retry continues with at the cursor; null: a retry
		 * starts over.
		 */
		resume_state: text({ mode: "json" }).$type<unknown>(),
		/** Whether a workflow instance was started for the current attempt. */
		launched: boolean().notNull().default(false),
		/** How many workflow instances were started; only the latest may write to this row. */
		attempt: integer().notNull().default(0),
		/**
		 * How many tries in a row failed without progress, and when the next one is due; null: none is.
		 */
		tries: integer().notNull().default(0),
		next_try_at: text(),
		/** The size of the completed records as text. */
		bytes: integer().notNull().default(0),
		/** Values that were written as null because their column can't hold them. */
		unfit_values: integer().notNull().default(0),
		created_at: created_at(),
		/** When it started; a retry sets it to its own start. */
		started_at: text(),
		finished_at: text(),
		last_updated_at: updated_at(),
		/** The number of its log entries; maintained by triggers. */
		log_entries: counter(),
	},
	(t) => [
		uniqueIndex("batch_export_runs_scheduled")
			.on(t.batch_export_id, t.data_interval_end)
			.where(sql`backfill_id is null`),
		uniqueIndex("batch_export_runs_backfill").on(t.backfill_id, t.data_interval_end),
		index("batch_export_runs_export").on(t.batch_export_id, t.id),
		index("batch_export_runs_status").on(t.batch_export_id, t.status, t.id),
		index("batch_export_runs_window").on(t.batch_export_id, t.data_interval_end, t.id),
		index("batch_export_runs_unsuccessful")
			.on(t.batch_export_id, t.status, t.data_interval_end, t.id)
			.where(isUnsuccessful),
		index("batch_export_runs_open").on(t.batch_export_id, t.id).where(sql`finished_at is null`),
		index("batch_export_runs_driven").on(t.last_updated_at).where(sql`finished_at is null`),
		index("batch_export_runs_unclean")
			.on(t.last_updated_at)
			.where(sql`finished_at is not null and state is not null`),
	],
);

/** Statistics of an export's runs, by the day on which they ended (UTC). */
export const batchExportDays = sqliteTable(
	"batch_export_days",
	{
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		/** YYYY-MM-DD. */
		day: text().notNull(),
		/** The number of completed runs, with their rows and bytes. */
		runs: integer().notNull().default(0),
		rows: integer().notNull().default(0),
		bytes: integer().notNull().default(0),
		/** The number of failed runs. */
		failures: integer().notNull().default(0),
		/** The total duration of completed and failed runs. */
		seconds: real().notNull().default(0),
	},
	(t) => [primaryKey({ columns: [t.batch_export_id, t.day] })],
);

export const batchExportLogEntries = sqliteTable(
	"batch_export_log_entries",
	{
		/** The number of its document in the full-text index. */
		position: integer().primaryKey(),
		id: text().notNull().unique().$defaultFn(v7),
		batch_export_id: text()
			.notNull()
			.references(() => batchExports.id, { onDelete: "cascade" }),
		/** null: about the export itself. */
		run_id: text(),
		timestamp: created_at(),
		level: text({ enum: LEVELS }).notNull(),
		message: text().notNull(),
	},
	(t) => [
		// A page of all levels merges one range of this index for each.
		index("batch_export_log_entries_export").on(t.batch_export_id, t.level, t.timestamp, t.id),
		index("batch_export_log_entries_run").on(t.run_id, t.level, t.timestamp, t.id),
		index("batch_export_log_entries_timestamp").on(t.timestamp),
	],
);

/**
 * The events of projects: the built-in source of exports. No foreign keys, which would make
 * deleting a project slow.
 */
export const events = sqliteTable(
	"events",
	{
		team_id: integer().notNull(),
		uuid: text().notNull(),
		event: text().notNull(),
		distinct_id: text().notNull(),
		person_id: text(),
		/** JSON. */
		properties: text().notNull(),
		person_properties: text(),
		elements_chain: text().notNull().default(""),
		/** When it happened. */
		timestamp: text().notNull(),
		created_at: text().notNull(),
		/** When this service received it. */
		_inserted_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.team_id, t.uuid] }),
		index("events_inserted").on(t.team_id, t._inserted_at, t.uuid),
		index("events_happened").on(t.team_id, t.timestamp, t.uuid),
	],
);

/** The properties of persons: one row for each of their distinct ids. */
export const persons = sqliteTable(
	"persons",
	{
		team_id: integer().notNull(),
		distinct_id: text().notNull(),
		person_id: text().notNull(),
		/** JSON. */
		properties: text().notNull(),
		/** How often the row was written. */
		person_version: integer().notNull().default(1),
		created_at: text().notNull(),
		/** When it was last written. */
		_inserted_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.team_id, t.distinct_id] }),
		index("persons_inserted").on(t.team_id, t._inserted_at, t.distinct_id),
		index("persons_made").on(t.team_id, t.created_at, t.distinct_id),
	],
);

/** One changed field in an entry of the activity log. */
export type Change = {
	field: string;
	action: "created" | "changed" | "deleted";
	before: unknown;
	after: unknown;
};

/**
 * The activity log, which is also the feed of events. The only foreign key is the user's: an entry
 * outlives the item that it is about.
 */
export const activityLog = sqliteTable(
	"activity_log",
	{
		/**
		 * The place in the feed. D1 runs one write at a time and assigns the position in it, so positions
		 * are in the order in which the writes became visible, and none is used twice.
		 */
		position: integer().primaryKey({ autoIncrement: true }),
		id: text().notNull().unique().$defaultFn(v7),
		organization_id: text(),
		project_id: integer(),
		/** null: the operator did it, or nobody did (`is_system`). */
		user_id: integer().references(() => users.id),
		activity: text().notNull(),
		scope: text().notNull(),
		item_id: text().notNull(),
		name: text(),
		changes: list<Change>(),
		trigger: text({ mode: "json" }).$type<Record<string, unknown>>(),
		/** Whether it happened without a caller. The feed of events has these entries, the pages of the log don't. */
		is_system: boolean().notNull().default(false),
		created_at: created_at(),
	},
	(t) => [
		index("activity_log_organization")
			.on(t.organization_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_project").on(t.project_id, t.created_at, t.id).where(sql`not is_system`),
		index("activity_log_item")
			.on(t.organization_id, t.item_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_scope")
			.on(t.organization_id, t.scope, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_activity")
			.on(t.organization_id, t.activity, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_user")
			.on(t.organization_id, t.user_id, t.created_at, t.id)
			.where(sql`not is_system`),
		index("activity_log_created").on(t.created_at),
		index("activity_log_feed").on(t.organization_id, t.position),
		index("activity_log_project_feed").on(t.organization_id, t.project_id, t.position),
		index("activity_log_type").on(t.organization_id, t.scope, t.activity, t.position),
	],
);

/** The next file of an audit stream. It is stored before the file is written, so that each try writes the same bytes. */
export type AuditFile = {
	sequence: number;
	/** The position after which the file's entries begin, that of its last entry, and how many there are. */
	after: number;
	to: number;
	count: number;
	/** The `created_at` of its first entry. */
	first_at: string;
	/** `missing_events` of the stream. */
	missing: number;
	/** The users as they were when the file was planned, by id. */
	users: Record<
		string,
		{ uuid: string; first_name: string; email: string; is_service_account: boolean }
	>;
	/** The digest of its last line. */
	digest: string;
};

/**
 * Streams of the activity log to a bucket (docs/audit.md). No foreign key to the organization: what
 * led to its deletion is still delivered.
 */
export const auditStreams = sqliteTable(
	"audit_streams",
	{
		id: id(),
		organization_id: text().notNull(),
		name: text().notNull(),
		/** Secrets are encrypted one by one. */
		destination: map<Destination>(),
		enabled: boolean().notNull().default(true),
		/** The position of the last entry that was delivered. */
		position: integer().notNull().default(0),
		/** The number of the last file, from 1; 0: there is none. */
		sequence: integer().notNull().default(0),
		/** The digest of the last line of that file. */
		digest: text().notNull(),
		delivered_events: integer().notNull().default(0),
		/** How many entries were deleted before they were delivered. */
		missing_events: integer().notNull().default(0),
		last_file: text(),
		last_delivered_at: text(),
		/** The end of the last hour of which everything is delivered. */
		delivered_until: text(),
		/** The file that is being written. */
		file: text({ mode: "json" }).$type<AuditFile>(),
		/** How many tries in a row failed, since when, why the last one did, and when an event last told of it. */
		tries: integer().notNull().default(0),
		failing_since: text(),
		latest_error: text(),
		told_at: text(),
		/** null: the stream is paused. */
		next_attempt_at: text(),
		/** Counts the claims. Only the latest may write to this row, and until then nobody else claims it. */
		claim: integer().notNull().default(0),
		claimed_until: text(),
		/** When the organization was deleted; set by a trigger. */
		organization_deleted_at: text(),
		created_at: created_at(),
	},
	(t) => [
		index("audit_streams_organization").on(t.organization_id, t.id),
		index("audit_streams_due").on(t.next_attempt_at).where(sql`next_attempt_at is not null`),
	],
);

/**
 * What an organization has mailed of one type of events, where that isn't the default
 * (docs/notifications.md).
 */
export const notifications = sqliteTable(
	"notifications",
	{
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		/** The type, as the activity log has it. */
		scope: text().notNull(),
		activity: text().notNull(),
		/** A word or a list of uuids; null: the default. A trigger reads it, too. */
		recipients: text({ mode: "json" }).$type<Recipients>(),
		/** The earliest time of the next mail of this type. */
		next_mail_at: text().notNull().default(""),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.scope, t.activity] })],
);

/** Who gets the mails of a type: admins, the owner of what it is about, or these users. */
export type Recipients = "admins" | "owner" | string[];

/**
 * Which items have events that weren't mailed yet. A trigger on `activity_log` writes here in the
 * transaction of the event.
 */
export const alerts = sqliteTable(
	"alerts",
	{
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		scope: text().notNull(),
		activity: text().notNull(),
		/** The export, plugin config, key or domain. */
		subject: text().notNull(),
		/** The first of its events that wasn't mailed; null: all were. */
		position: integer(),
		/** The earliest time of the next mail because of it. */
		due_at: text().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.scope, t.activity, t.subject] }),
		index("alerts_due").on(t.due_at),
	],
);

/** How a delivery of a webhook came about. */
export const DELIVERY_REASONS = ["event", "replay", "test"] as const;

export const DELIVERY_STATUSES = ["delivered", "failed"] as const;

/**
 * Endpoints that get an organization's events (docs/webhooks.md). What is due is known from the feed:
 * the events after `position`.
 */
export const webhooks = sqliteTable(
	"webhooks",
	{
		id: id(),
		organization_id: text()
			.notNull()
			.references(() => organizations.id, { onDelete: "cascade" }),
		url: text().notNull(),
		/** Empty: all types. */
		types: list<string>(),
		/** The types as a trigger compares them, see src/webhooks/types.ts. */
		selectors: list<string>(),
		description: text().notNull().default(""),
		enabled: boolean().notNull().default(true),
		/** Why the service disabled it; null if it didn't. */
		disabled_reason: text(),
		/** Encrypted. */
		secret: text().notNull(),
		/** The secret before the last roll, encrypted, and until when it signs, too. */
		previous_secret: text(),
		previous_secret_expires_at: text(),
		/** The place in the feed of the last event that was delivered or passed over. */
		position: integer().notNull(),
		/** How often the next event has failed. */
		failures: integer().notNull().default(0),
		/** When the first delivery failed after the last success. */
		failing_since: text(),
		last_error: text(),
		/** When the next event is due; null if there is none. A trigger sets it when there is one. */
		next_attempt_at: text(),
		/** The worker that delivers, and until when it keeps others from doing so; null: it is about to start. */
		lease: text(),
		leased_until: text(),
		/** Events that were deleted before they were delivered; counted by a trigger. */
		missed_events: integer().notNull().default(0),
		created_at: created_at(),
	},
	(t) => [
		index("webhooks_organization").on(t.organization_id, t.id),
		index("webhooks_due").on(t.next_attempt_at).where(sql`enabled and next_attempt_at is not null`),
	],
);

/** The last attempts to deliver events to a webhook. */
export const webhookDeliveries = sqliteTable(
	"webhook_deliveries",
	{
		webhook_id: text()
			.notNull()
			.references(() => webhooks.id, { onDelete: "cascade" }),
		/** Counts the attempts of the webhook. */
		number: integer().notNull(),
		id: text().notNull().$defaultFn(v7),
		event_id: text().notNull(),
		type: text().notNull(),
		reason: text({ enum: DELIVERY_REASONS }).notNull().default("event"),
		/** Counts the attempts at the event. */
		attempt: integer().notNull().default(1),
		status: text({ enum: DELIVERY_STATUSES }).notNull(),
		/** null: there was no response. */
		response_status: integer(),
		duration_ms: integer().notNull(),
		/** null: it was delivered. */
		error: text(),
		created_at: created_at(),
	},
	(t) => [primaryKey({ columns: [t.webhook_id, t.number] })],
);

/**
 * Always empty. Inserting 0 into a column violates its CHECK, which makes the whole batch fail. Each
 * column has a CHECK of its own, so that the error tells which assertion failed.
 */
export const assertions = sqliteTable(
	"assertions",
	{
		/** The caller still has its access. */
		holds: integer().notNull().default(1),
		/** The object is still as `If-Match` says. */
		is_unchanged: integer().notNull().default(1),
		/** No other request has used the `Idempotency-Key`. */
		is_unused: integer().notNull().default(1),
	},
	(t) => [
		check("still_admitted", sql`${t.holds}`),
		check("still_unchanged", sql`${t.is_unchanged}`),
		check("still_unused", sql`${t.is_unused}`),
	],
);

/** POST requests with an `Idempotency-Key` (docs/api.md#safe-retries). Rows are deleted after a day. */
export const idempotencyKeys = sqliteTable(
	"idempotency_keys",
	{
		id: id(),
		user_id: integer()
			.notNull()
			.references(() => users.id, { onDelete: "cascade" }),
		key: text().notNull(),
		/** SHA-256 of the method, path and body, hex. */
		fingerprint: text().notNull(),
		created_at: created_at(),
		/** Until then, a request without an answer counts as under way; after it, as killed. */
		under_way_until: text().notNull(),
		/** Sealed JSON: what the request had read before it wrote. Written in the batch of the change. */
		journal: text(),
		/** JSON: the rows that the change answered with, see `jsonOf` in src/db/snapshot.ts. */
		rows: text(),
		/** Sealed JSON: the status, headers and body of the response. */
		answer: text(),
	},
	(t) => [
		uniqueIndex("idempotency_keys_user_key").on(t.user_id, t.key),
		index("idempotency_keys_created").on(t.created_at),
	],
);

/**
 * The number of log entries without those of the system; maintained by triggers, so that a page need
 * not count them. `project_id` 0: no project.
 */
export const activityCounts = sqliteTable(
	"activity_counts",
	{
		organization_id: text().notNull(),
		project_id: integer().notNull(),
		entries: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.project_id] }),
		index("activity_counts_project").on(t.project_id),
	],
);

/**
 * The number of plugins of an organization by what lists filter them by; maintained by triggers.
 */
export const pluginCounts = sqliteTable(
	"plugin_counts",
	{
		organization_id: text().notNull(),
		is_global: boolean().notNull(),
		families: integer().notNull(),
		is_used: boolean().notNull(),
		plugins: integer().notNull(),
		/** The sum of their `activity_entries`. */
		activity_entries: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.is_global, t.families, t.is_used] }),
		index("plugin_counts_global").on(t.organization_id).where(sql`is_global`),
	],
);

/**
 * The number of an organization's enabled configs of destinations, by the families of their plugin; maintained by triggers.
 */
export const pluginConfigCounts = sqliteTable(
	"plugin_config_counts",
	{
		organization_id: text().notNull(),
		families: integer().notNull(),
		enabled_configs: integer().notNull(),
	},
	(t) => [primaryKey({ columns: [t.organization_id, t.families] })],
);

/**
 * The plugins that an organization has configs of, without deleted ones; maintained by triggers.
 */
export const pluginUses = sqliteTable(
	"plugin_uses",
	{
		organization_id: text().notNull(),
		plugin_id: integer().notNull(),
		/** Whether the plugin is the organization's own. */
		is_own: boolean().notNull(),
		configs: integer().notNull(),
		enabled_configs: integer().notNull(),
	},
	(t) => [
		primaryKey({ columns: [t.organization_id, t.plugin_id] }),
		index("plugin_uses_foreign").on(t.organization_id, t.plugin_id).where(sql`not is_own`),
	],
);
