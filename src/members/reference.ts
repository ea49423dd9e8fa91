import { describe, type Reference } from "../http/reference.ts";
import type members from "./routes.ts";
import { filters, Member, update } from "./shape.ts";

const reference: Reference<typeof members> = {
	tag: {
		name: "Members",
		description:
			"The users who belong to an organization, each with a level: 1 is a member, 8 an admin, 15 an owner. To add somebody, create an invite.",
	},
	operations: {
		"/": {
			get: {
				id: "listMembers",
				summary: "List the active members",
				description:
					"Lists the members whose users are active, newest first. Any member may do so.",
			},
		},
		"/:user__uuid": {
			patch: {
				id: "updateMember",
				summary: "Change a member's level",
				description:
					"Requires level 8. You can neither change your own level, nor that of a member above you, nor give a level above yours: each is a 403. Answers with the member.",
			},
			delete: {
				id: "removeMember",
				summary: "Remove a member, or leave the organization",
				description:
					"Removing others requires level 8, and at least their level; `@me` leaves the organization, at any level but 15. The member loses access at once and also leaves the organization's projects.",
				errors: { invalid_input: "The member is an owner: lower the level first." },
			},
		},
	},
};
export default reference;

describe(Member, {
	id: "Identifies the membership. In paths, members go by the `uuid` of their `user`.",
	user: "The user who is the member.",
	level:
		"1 for a member, 8 for an admin, 15 for an owner. An organization may have several owners.",
	joined_at: "When the user joined the organization.",
	updated_at: "When the level was last changed; the same as `joined_at` if it never was.",
	is_2fa_enabled: "Whether signing in takes a second factor.",
	has_social_auth:
		"Whether the user signs in through another provider, as the service that signs people in has recorded it; false by default.",
});

describe(update, {
	level:
		"The new level: 1 for a member, 8 for an admin, 15 for an owner. At most your own. Without it, nothing changes.",
});

describe(filters, {
	email: "Only the member with this whole email address, in any case.",
	search:
		"Only members whose name or email address contains this text, in any case: `da lov` finds Ada Lovelace. At most 200 characters.",
	updated_after: "Only members who joined, or whose level was changed, after this time.",
	order: "`joined_at` lists the oldest member first; anything else the newest.",
});
