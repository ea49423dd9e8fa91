import * as z from "zod";
import { LEVELS, level } from "../../db/schema/levels.ts";
import {
	boolean,
	integerChoice,
	queryMoment,
	rawText,
	text,
	timestamp,
} from "../../http/fields.ts";
import { Identity } from "../identities/shape.ts";
import { Session } from "../sessions/shape.ts";
import { User } from "../users/shape.ts";

const lastActiveAt = () =>
	timestamp()
		.nullable()
		.describe(
			"When the user last signed in, or last used a key, session or app that still exists and can access the organization; to the hour. Null if never.",
		);

/** A member (docs/organizations.md#members). */
export const Member = z
	.object({
		id: z.guid().describe("Identifies the membership. In paths, use the `uuid` of the `user`."),
		user: User.describe("The user who is the member."),
		level: level().describe(
			"1 for a member, 8 for an admin, 15 for an owner. An organization may have several owners.",
		),
		joined_at: timestamp().describe("When the user joined the organization."),
		updated_at: timestamp().describe(
			"When the level was last changed; the same as `joined_at` if it never was.",
		),
		is_2fa_enabled: z.boolean().describe("Whether signing in requires a second factor."),
		has_social_auth: z
			.boolean()
			.describe(
				"Whether an account at a provider is linked to the user, so that the user can sign in through it.",
			),
		last_active_at: lastActiveAt().optional(),
	})
	.meta({ id: "Member" });

const roles = () =>
	z
		.array(
			z.object({
				id: z.guid().describe("The role's id."),
				name: z.string().describe("The role's name."),
			}),
		)
		.describe("The roles, also those that SCIM groups give.");

/** A member in an access review (docs/audit.md#what-your-auditor-will-ask). */
export const AccessReview = z
	.object({
		id: Member.shape.id,
		uuid: User.shape.uuid.describe("Identifies the user, or the service account."),
		first_name: z.string().describe("The user's first name, or the service account's name."),
		last_name: User.shape.last_name,
		email: z.email().nullable().describe("The user's email address; null for a service account."),
		is_service_account: z.boolean().describe("Whether it is a service account."),
		level: Member.shape.level,
		roles: roles(),
		joined_at: Member.shape.joined_at,
		is_2fa_enabled: Member.shape.is_2fa_enabled,
		has_social_auth: Member.shape.has_social_auth,
		last_sign_in_at: timestamp()
			.nullable()
			.describe("When the user last signed in; null if never, or before this was noted."),
		last_active_at: lastActiveAt(),
		keys: z
			.array(
				z.object({
					id: z.guid().describe("The key's id."),
					label: z.string().describe("The key's label."),
					scopes: z.array(z.string()).describe("What the key may do; `*` for everything."),
					last_used_at: timestamp().nullable().describe("When it was last used; null if never."),
					expires_at: timestamp().nullable().describe("When it expires; null for never."),
				}),
			)
			.describe("The API keys that can access the organization and haven't expired."),
		apps: z
			.array(
				z.object({
					id: z.guid().describe("Identifies the access, as in `oauth_grants`."),
					name: z.string().describe("The app's name."),
					scopes: z.array(z.string()).describe("What the app may do."),
					last_used_at: timestamp().nullable().describe("When it was last used; null if never."),
				}),
			)
			.describe("The apps with access to the organization."),
	})
	.meta({ id: "AccessReview" });

const PROJECT_ID = "The id of the project.";

/** docs/organizations.md#the-page-of-a-member */
export const MemberDetails = z
	.object({
		id: z
			.guid()
			.nullable()
			.describe("Identifies the membership; null for somebody who isn't a member."),
		uuid: User.shape.uuid,
		first_name: User.shape.first_name,
		last_name: User.shape.last_name,
		email: User.shape.email,
		is_member: z.boolean().describe("Whether the person is a member now."),
		level: level()
			.nullable()
			.describe("1 for a member, 8 for an admin, 15 for an owner; null without a membership."),
		joined_at: timestamp().nullable().describe("When the person joined; null if not a member."),
		left_at: timestamp()
			.nullable()
			.describe("When the person was last removed, or left; null for a member, or if unknown."),
		is_2fa_enabled: z
			.boolean()
			.nullable()
			.describe("Whether signing in requires a second factor; null without a membership."),
		has_social_auth: z
			.boolean()
			.nullable()
			.describe("Whether an account at a provider is linked; null without a membership."),
		last_sign_in_at: AccessReview.shape.last_sign_in_at,
		last_active_at: AccessReview.shape.last_active_at,
		projects: z
			.array(
				z.object({
					id: z.int().describe(PROJECT_ID),
					name: z.string().describe("Its name."),
					access_control: z.boolean().describe("Whether it is private."),
					level: z.int().describe("The person's level in the project: 1 or 8."),
				}),
			)
			.describe("The projects that the person is a member of. Admins can access all."),
		roles: roles(),
		identities: z
			.array(Identity)
			.describe("The accounts at the providers of the organization's domains that are linked."),
		sessions: z
			.array(
				z.object({
					id: Session.shape.id,
					method: Session.shape.method.describe(
						"How the person signed in: `mail`, `passkey`, or the kind of provider, such as `saml`.",
					),
					created_at: timestamp().describe("When the person signed in."),
					last_used_at: Session.shape.last_used_at,
					user_agent: Session.shape.user_agent.describe(
						"The browser, as it names itself; null if it doesn't.",
					),
				}),
			)
			.describe("Where the person is signed in to the console, newest first."),
		keys: AccessReview.shape.keys,
		apps: AccessReview.shape.apps,
		service_accounts: z
			.array(
				z.object({
					id: z.guid().describe("The account's id."),
					name: z.string().describe("The account's name."),
					keys: z.int().describe("How many keys it has."),
				}),
			)
			.describe("The service accounts that the person has created."),
		batch_exports: z
			.array(
				z.object({
					id: z.guid().describe("The export's id."),
					name: z.string().describe("The export's name."),
					project_id: z.int().describe(PROJECT_ID),
					paused: z.boolean().describe("Whether it is paused."),
				}),
			)
			.describe(
				"The exports that the person has created, as far as the activity log goes back and the caller can view them.",
			),
		webhooks: z
			.array(
				z.object({
					id: z.guid().describe("The webhook's id."),
					name: z.string().describe("Its description, or the host of its URL."),
					enabled: z.boolean().describe("Whether it is enabled."),
				}),
			)
			.describe(
				"The webhooks that the person has created, as far as the activity log goes back and the caller can view them.",
			),
	})
	.meta({ id: "MemberDetails" });

/** Whom a request has told to set up a second factor. */
export const ToldMembers = z
	.object({ mails: z.int().describe("How many members are mailed.") })
	.meta({ id: "ToldMembers" });

export const reviewFilters = z.object({
	inactive_since: queryMoment()
		.optional()
		.describe(
			"Only members who haven't signed in nor used a key since this time, and joined before it; in ISO 8601.",
		),
});

export const update = z.object({
	level: integerChoice(LEVELS)
		.optional()
		.describe(
			"The new level: 1 for a member, 8 for an admin, 15 for an owner. At most your own. If missing, nothing changes.",
		),
});

export const filters = z.object({
	email: text()
		.optional()
		.describe("Only the member with exactly this email address, in any case."),
	search: rawText(200)
		.optional()
		.describe(
			"Only members whose name or email address contains this text, in any case: `da lov` finds Ada Lovelace. At most 200 characters.",
		),
	level: integerChoice(LEVELS).optional().describe("Only members with this level."),
	is_2fa_enabled: boolean()
		.optional()
		.describe("Only members for whom signing in requires a second factor, or doesn't."),
	updated_after: queryMoment()
		.optional()
		.describe("Only members who joined, or whose level was changed, after this time."),
	...reviewFilters.shape,
	include_last_active: boolean()
		.optional()
		.describe("Whether each member has `last_active_at`. Requires level 8."),
	order: z
		.string()
		.optional()
		.catch(undefined)
		.describe("`joined_at` lists the oldest member first; anything else the newest."),
});
