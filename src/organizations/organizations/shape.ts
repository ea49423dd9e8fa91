import * as z from "zod";
import { level, pluginsAccessLevel } from "../../db/schema/levels.ts";
import { boolean, integer, name, set, text, timestamp, uuid, uuidOr } from "../../http/fields.ts";
import { Project } from "../../people/users/project.ts";

/** In paths. */
export const organizationId = uuidOr("@current").describe(
	"The organization's id, or `@current` for your current one.",
);

const NAME_TEXT =
	"What people call the organization, at most 64 characters. Doesn't have to be unique.";

const LOGO_TEXT =
	"The UUID of the image that serves as logo; null for none. The service doesn't check that the image exists.";

const JOIN_MAIL_TEXT =
	"Whether the other admins and owners are told by mail who has joined, at most once an hour. Who gets these mails instead is a notification, `member.created`.";

const ENFORCE_2FA_TEXT =
	"Whether members need a second factor to sign in; null if never set. API keys work without one.";

const KEYS_MUST_EXPIRE_TEXT =
	"Whether API keys that can access the organization must have an `expires_at`. If so, keys without one can't be created, rolled or changed; existing ones continue to work.";

const ALLOWED_APPS_TEXT =
	"The `client_id`s of the apps that can access the organization, at most 50 of at most 500 characters; null for all apps. Others are rejected from the next request on.";

const LOGS_ADDRESSES_TEXT =
	"Whether the activity log keeps the IP addresses of requests. If not, they aren't stored in new entries.";

const SESSION_IDLE_TEXT =
	"After how many minutes without use a member's session ends: 15 minutes to 30 days. If organizations differ, the shortest applies.";

const SESSION_MAX_TEXT =
	"After how many minutes a member's session ends in any case: 60 minutes to 90 days. If organizations differ, the shortest applies.";

/** In minutes. */
const DAY = 24 * 60;

const Feature = z.object({
	key: z.string().describe("Identifies the feature."),
	name: z.string().describe("The display name of the feature."),
	description: z
		.string()
		.optional()
		.describe("What the feature offers; missing if the operator hasn't said."),
	limit: z
		.number()
		.optional()
		.describe("How much of it the organization may use; missing if there is no limit."),
});

/** A project, embedded in its organization (docs/organizations.md#organizations). */
const Team = Project.omit({ created_at: true });
export type Team = z.infer<typeof Team>;

/** An organization, as the caller sees it (docs/organizations.md#organizations). */
export const Organization = z
	.object({
		id: z
			.guid()
			.describe(
				"Identifies the organization, in paths too. A UUID of version 7, so ids sort by creation time.",
			),
		name: z.string().describe(NAME_TEXT),
		slug: z
			.string()
			.describe(
				"A unique name for URLs, made from the first `name`: at most 48 lower-case letters, digits, `_` and `-`. Renaming keeps it.",
			),
		logo_media_id: z.guid().nullable().describe(LOGO_TEXT),
		created_at: timestamp().describe("When the organization was created."),
		updated_at: timestamp().describe("When the organization was last changed."),
		membership_level: level().describe(
			"Your level: 1 for a member, 8 for an admin, 15 for an owner.",
		),
		plugins_access_level: pluginsAccessLevel().describe(
			"What the organization may do with plugins: 0 nothing, 3 configure, 6 install, 9 also make them global. Set by the operator.",
		),
		teams: z.array(Team).describe("The organization's projects that you can see, oldest first."),
		available_product_features: z
			.array(Feature)
			.describe("What the operator has enabled for the organization; an empty list by default."),
		is_member_join_email_enabled: z.boolean().describe(JOIN_MAIL_TEXT),
		metadata: z.string().describe("The text of a JSON object, `{}` by default. Read-only."),
		customer_id: z
			.string()
			.nullable()
			.describe("The operator's own id for the organization; null for none. Set by the operator."),
		enforce_2fa: z.boolean().nullable().describe(ENFORCE_2FA_TEXT),
		keys_must_expire: z.boolean().describe(KEYS_MUST_EXPIRE_TEXT),
		allowed_apps: z.array(z.string()).nullable().describe(ALLOWED_APPS_TEXT),
		session_idle_minutes: z.int().describe(SESSION_IDLE_TEXT),
		session_max_minutes: z.int().describe(SESSION_MAX_TEXT),
		logs_addresses: z.boolean().describe(LOGS_ADDRESSES_TEXT),
		member_count: z.string().describe("The number of active members, as decimal text such as `3`."),
	})
	.meta({ id: "Organization" });

const fields = z.object({
	name: name(64).describe(NAME_TEXT),
	logo_media_id: uuid().nullable().optional().describe(LOGO_TEXT),
	is_member_join_email_enabled: boolean().optional().describe(JOIN_MAIL_TEXT),
	enforce_2fa: boolean().nullable().optional().describe(ENFORCE_2FA_TEXT),
	keys_must_expire: boolean().optional().describe(KEYS_MUST_EXPIRE_TEXT),
	allowed_apps: set(text(500).min(1), 50).nullable().optional().describe(ALLOWED_APPS_TEXT),
	session_idle_minutes: integer(15, 30 * DAY)
		.optional()
		.describe(SESSION_IDLE_TEXT),
	session_max_minutes: integer(60, 90 * DAY)
		.optional()
		.describe(SESSION_MAX_TEXT),
	logs_addresses: boolean().optional().describe(LOGS_ADDRESSES_TEXT),
});

const { shape } = fields;

export const create = fields.extend({
	is_member_join_email_enabled: shape.is_member_join_email_enabled.describe(
		`${JOIN_MAIL_TEXT} True by default.`,
	),
	keys_must_expire: shape.keys_must_expire.describe(`${KEYS_MUST_EXPIRE_TEXT} False by default.`),
	allowed_apps: shape.allowed_apps.describe(`${ALLOWED_APPS_TEXT} Null by default.`),
	session_idle_minutes: shape.session_idle_minutes.describe(
		`${SESSION_IDLE_TEXT} 720 (12 hours) by default.`,
	),
	session_max_minutes: shape.session_max_minutes.describe(
		`${SESSION_MAX_TEXT} 10080 (7 days) by default.`,
	),
	logs_addresses: shape.logs_addresses.describe(`${LOGS_ADDRESSES_TEXT} True by default.`),
});

export const update = fields.partial();
