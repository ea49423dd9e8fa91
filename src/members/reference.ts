import { describe, type Reference } from "../http/reference.ts";
import type members from "./routes.ts";
import { filters, Member, update } from "./shape.ts";

const reference: Reference<typeof members> = {
	tag: {
		name: "Members",
		description:
			"The users who belong to an organization, each with a level: 1 is a member, 8 an admin, 15 an owner.",
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
					"Requires level 8. You can neither change your own level, nor a member above you, nor give a level above yours. Answers with the member.",
			},
			delete: {
				id: "removeMember",
				summary: "Remove a member, or leave the organization",
				description:
					"Removing others requires level 8, and at least their level; `@me` leaves the organization. An owner can't be removed: lower the level first. The member also leaves the organization's projects.",
			},
		},
	},
};
export default reference;

describe(Member, {
	id: "Identifies the membership, not the user.",
	user: "The user who is the member.",
	level: "1 for a member, 8 for an admin, 15 for an owner.",
	joined_at: "When the user joined the organization.",
	updated_at: "When the level was last changed.",
	is_2fa_enabled: "Whether the user signs in with a second factor.",
	has_social_auth: "Whether the user signs in through another service.",
});

describe(update, { level: "The new level, at most your own." });

describe(filters, {
	email: "Only the member with this email address, in any case.",
	search: "Only members whose names or email address contain this text, in any case.",
	updated_after: "Only members whose level was changed after this time.",
	order: "`joined_at` lists the oldest member first; anything else the newest.",
});
