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
	order: z
		.string()
		.optional()
		.catch(undefined)
		.describe("`joined_at` lists the oldest member first; anything else the newest."),
});
