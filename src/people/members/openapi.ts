import { describe, type OpenApi } from "../../http/openapi.ts";
import type members from "./routes.ts";
import { filters, Member, update } from "./shape.ts";

export default {
	tag: {
		name: "Members",
		description:
			"The users who belong to an organization, each with a level: 1 is a member, 8 an admin, 15 an owner. To add someone, create an invite.",
	},
	operations: {
		"GET /": {
			id: "listMembers",
			summary: "List the active members",
			description: "Lists the members whose users are active, newest first. Any member may do so.",
		},
		"PATCH /:user__uuid": {
			id: "updateMember",
			summary: "Change a member's level",
			description:
				"Requires level 8. You can't change your own level, change a member whose level is above yours, or grant a level above yours: each is a 403. Returns the member.",
		},
		"DELETE /:user__uuid": {
			id: "removeMember",
			summary: "Remove a member, or leave the organization",
			description:
				"Removing others requires level 8, and at least their level. To leave the organization, use `@me`; owners can't. The member immediately loses access, and is also removed from the organization's projects. Removing others also unlinks their accounts at the providers of the organization's domains (see `deleteMemberIdentity`).",
			errors: { invalid_input: "The member is an owner: lower the level first." },
		},
	},
} satisfies OpenApi<typeof members>;

describe(Member, {
	id: "Identifies the membership. In paths, use the `uuid` of the `user`.",
	user: "The user who is the member.",
	level:
		"1 for a member, 8 for an admin, 15 for an owner. An organization may have several owners.",
	joined_at: "When the user joined the organization.",
	updated_at: "When the level was last changed; the same as `joined_at` if it never was.",
	is_2fa_enabled: "Whether signing in requires a second factor.",
	has_social_auth:
		"Whether an account at a provider is linked to the user, so that the user can sign in through it.",
});

describe(update, {
	level:
		"The new level: 1 for a member, 8 for an admin, 15 for an owner. At most your own. If missing, nothing changes.",
});

describe(filters, {
	email: "Only the member with exactly this email address, in any case.",
	search:
		"Only members whose name or email address contains this text, in any case: `da lov` finds Ada Lovelace. At most 200 characters.",
	level: "Only members with this level.",
	is_2fa_enabled: "Only members for whom signing in requires a second factor, or doesn't.",
	updated_after: "Only members who joined, or whose level was changed, after this time.",
	order: "`joined_at` lists the oldest member first; anything else the newest.",
});
