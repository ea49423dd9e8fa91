import { describe, type Reference } from "../http/reference.ts";
import type users from "./routes.ts";
import { Me, Membership, User, update } from "./shape.ts";

const reference: Reference<typeof users> = {
	tag: {
		name: "Users",
		description:
			"You: your names, and where you work. The organization and project you work in are what `@current` stands for in paths.",
	},
	operations: {
		"/:uuid": {
			get: {
				id: "getUser",
				summary: "Retrieve yourself",
				description:
					"Answers with your user, your organizations, and the organization and project that you work in. Other users are a 404.",
			},
			patch: {
				id: "updateUser",
				summary: "Change yourself",
				description:
					"Changes your names, or where you work, for all your keys. A service account can't do so: that is a 403. Choosing a project also chooses its organization; if you choose another organization alone, you work in its oldest project that you can see. Answers as `getUser` does.",
				errors: {
					does_not_exist:
						"You or your key can't see the organization or the project, or the project belongs to another organization than the one in the body.",
				},
			},
		},
	},
};
export default reference;

describe(User, {
	id: "A number that identifies the user. Paths and bodies take the `uuid`.",
	uuid: "Identifies the user, in paths too.",
	distinct_id: "A random id for the user's own events in analytics. It never changes.",
	first_name: "At most 150 characters; may be empty.",
	last_name: "At most 150 characters; may be empty.",
	email: "In lower case, unique among all users. It can't be changed.",
	is_email_verified:
		"Whether the user has proved to own the address, by accepting an invite that was mailed to it, or by signing in with a link. Users that the operator creates count as verified.",
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
			"The organization you work in: the one you chose, else the oldest of your memberships. Null if there is none, or if your key may not reach it.",
		project:
			"The project you work in: the one you chose, else the oldest that you can see in your organization. Null if there is none, or if your key may not reach it.",
		team: "The same as `project`, under another name.",
		organizations:
			"The organizations that you belong to and that your key may reach. The one you joined last comes first.",
	},
	User,
);

describe(update, {
	first_name: "At most 150 characters; may be empty.",
	last_name: "At most 150 characters; may be empty.",
	organization: "The id of the organization to work in.",
	project: "The id of the project to work in. Its organization becomes yours, too.",
});
