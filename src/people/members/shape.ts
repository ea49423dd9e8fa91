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
import { User } from "../users/shape.ts";

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
	})
	.meta({ id: "Member" });

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
		joined_at: Member.shape.joined_at,
		is_2fa_enabled: Member.shape.is_2fa_enabled,
		has_social_auth: Member.shape.has_social_auth,
		last_sign_in_at: timestamp()
			.nullable()
			.describe("When the user last signed in; null if never, or before this was noted."),
		last_active_at: timestamp()
			.nullable()
			.describe(
				"When the user last signed in, or last used a key, session or app that still exists and can access the organization; to the hour. Null if never.",
			),
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
	order: z
		.string()
		.optional()
		.catch(undefined)
		.describe("`joined_at` lists the oldest member first; anything else the newest."),
});
