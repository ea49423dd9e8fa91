import { describe, type OpenApi } from "../../http/openapi.ts";
import type organizations from "./routes.ts";
import { create, Organization, update } from "./shape.ts";

export default {
	tag: {
		name: "Organizations",
		description:
			"An organization has members, projects, domains, plugins and exports. `@current` stands for your current one.",
	},
	operations: {
		"GET /": {
			id: "listOrganizations",
			summary: "List your organizations",
			description:
				"Lists the organizations that you are a member of and that your key can access, newest first.",
		},
		"POST /": {
			id: "createOrganization",
			summary: "Create an organization",
			description:
				"You become its owner. A project `Default project` is created with it, and both become your current ones. A user can create 50 in a day, unless the operator has set another limit; more are a 429 with `Retry-After`. A key restricted to organizations or projects can't create one.",
		},
		"GET /:id": {
			id: "getOrganization",
			summary: "Retrieve an organization",
			description:
				"Returns the organization, with your level and the projects that you can see. An organization that you don't belong to is a 404.",
		},
		"PATCH /:id": {
			id: "updateOrganization",
			summary: "Change an organization",
			description:
				"Requires level 8. Fields that aren't in the body don't change. Returns the organization.",
		},
		"DELETE /:id": {
			id: "deleteOrganization",
			summary: "Delete an organization",
			description:
				"Requires level 15. Deletes its memberships, invites, domains and projects with everything in them, and cancels running exports. Users aren't deleted; if it was their current organization, another of theirs becomes the current one. This can't be undone.",
		},
	},
} satisfies OpenApi<typeof organizations>;

const NAME = "What people call the organization, at most 64 characters. Doesn't have to be unique.";
const LOGO =
	"The UUID of the image that serves as logo; null for none. The service doesn't check that the image exists.";
const JOIN_MAIL = "Whether the other admins and owners get a mail when someone accepts an invite.";
const ENFORCE_2FA =
	"Whether members need a second factor to sign in; null if never set. API keys work without one.";
const KEYS_MUST_EXPIRE =
	"Whether API keys that can access the organization must have an `expires_at`. If so, keys without one can't be created, rolled or changed; existing ones continue to work.";
const ALLOWED_APPS =
	"The `client_id`s of the apps that can access the organization, at most 50 of at most 500 characters; null for all apps. Others are rejected from the next request on.";

const SESSION_IDLE =
	"After how many minutes without use a member's session ends: 15 minutes to 30 days. If organizations differ, the shortest applies.";
const SESSION_MAX =
	"After how many minutes a member's session ends in any case: 60 minutes to 90 days. If organizations differ, the shortest applies.";

describe(create, {
	name: NAME,
	logo_media_id: LOGO,
	is_member_join_email_enabled: `${JOIN_MAIL} True by default.`,
	enforce_2fa: ENFORCE_2FA,
	keys_must_expire: `${KEYS_MUST_EXPIRE} False by default.`,
	allowed_apps: `${ALLOWED_APPS} Null by default.`,
	session_idle_minutes: `${SESSION_IDLE} 720 (12 hours) by default.`,
	session_max_minutes: `${SESSION_MAX} 10080 (7 days) by default.`,
});

describe(
	update,
	{
		is_member_join_email_enabled: JOIN_MAIL,
		keys_must_expire: KEYS_MUST_EXPIRE,
		allowed_apps: ALLOWED_APPS,
		session_idle_minutes: SESSION_IDLE,
		session_max_minutes: SESSION_MAX,
	},
	create.pick({ name: true, logo_media_id: true, enforce_2fa: true }),
);

describe(Organization, {
	id: "Identifies the organization, in paths too. A UUID of version 7, so ids sort by creation time.",
	name: NAME,
	slug: "A unique name for URLs, made from the first `name`: at most 48 lower-case letters, digits, `_` and `-`. Renaming keeps it.",
	logo_media_id: LOGO,
	created_at: "When the organization was created.",
	updated_at: "When the organization was last changed.",
	membership_level: "Your level: 1 for a member, 8 for an admin, 15 for an owner.",
	plugins_access_level:
		"What the organization may do with plugins: 0 nothing, 3 configure, 6 install, 9 also make them global. Set by the operator.",
	teams: "The organization's projects that you can see, oldest first.",
	available_product_features: [
		"What the operator has enabled for the organization; an empty list by default.",
		{
			key: "Identifies the feature.",
			name: "The display name of the feature.",
			description: "What the feature offers; missing if the operator hasn't said.",
			limit: "How much of it the organization may use; missing if there is no limit.",
		},
	],
	is_member_join_email_enabled: JOIN_MAIL,
	metadata: "The text of a JSON object, `{}` by default. Read-only.",
	customer_id: "The operator's own id for the organization; null for none. Set by the operator.",
	enforce_2fa: ENFORCE_2FA,
	keys_must_expire: KEYS_MUST_EXPIRE,
	allowed_apps: ALLOWED_APPS,
	session_idle_minutes: SESSION_IDLE,
	session_max_minutes: SESSION_MAX,
	member_count: "The number of active members, as decimal text such as `3`.",
});
