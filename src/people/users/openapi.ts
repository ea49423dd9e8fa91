import { describe, type OpenApi } from "../../http/openapi.ts";
import type users from "./routes.ts";
import { Me, Membership, User, update } from "./shape.ts";

export default {
	tag: {
		name: "Users",
		description:
			"Your profile, and your current organization and project, which `@current` stands for in paths.",
	},
	operations: {
		"GET /:uuid": {
			id: "getUser",
			summary: "Retrieve yourself",
			description:
				"Returns your user, your organizations, and your current organization and project. Other users are a 404.",
		},
		"PATCH /:uuid": {
			id: "updateUser",
			summary: "Change yourself",
			description:
				"Changes your names, or your current organization and project, for all your keys. For service accounts, this is a 403. A project also sets its organization. An organization alone also sets the oldest project in it that you can see. Returns the same as `getUser`.",
			errors: {
				does_not_exist:
					"You or your key can't see the organization or the project, or the project belongs to another organization than the one in the body.",
			},
		},
	},
} satisfies OpenApi<typeof users>;

describe(User, {
	id: "A number that identifies the user. In paths and bodies, use the `uuid`.",
	uuid: "Identifies the user, in paths too.",
	distinct_id: "A random id for the user's own events in analytics. It never changes.",
	first_name: "At most 150 characters; may be empty.",
	last_name: "At most 150 characters; may be empty.",
	email: "In lower case, unique among all users. It can't be changed.",
	is_email_verified:
		"Whether the user has proved that the email address is theirs, by accepting an invite that was mailed to it, or by signing in with a link. Users that the operator creates count as verified.",
	mascot_config: "How the product draws the user's mascot; `{}` by default. Read-only.",
});

describe(Membership, {
	id: "Identifies the organization.",
	name: "The organization's name.",
	slug: "The organization's unique name for URLs.",
	membership_level: "The user's level: 1 for a member, 8 for an admin, 15 for an owner.",
});

describe(
	Me,
	{
		is_service_account:
			"Whether the key is one of a service account. Then `uuid` is the account's id, `first_name` its name, and no mail can be sent to `email`.",
		organization:
			"Your current organization: the one you chose, else the oldest of your memberships. Null if there is none, or your key can't access it.",
		project:
			"Your current project: the one you chose, else the oldest that you can see in your current organization. Null if there is none, or your key can't access it.",
		team: "The same as `project`, under another name.",
		organizations:
			"The organizations that you belong to and that your key can access. The one you joined last is first.",
	},
	User,
);

describe(update, {
	first_name: "At most 150 characters; may be empty.",
	last_name: "At most 150 characters; may be empty.",
	organization: "The id of the new current organization.",
	project: "The id of the new current project. Also sets its organization.",
});
