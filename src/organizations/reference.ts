import { describe, type Reference } from "../http/reference.ts";
import type organizations from "./routes.ts";
import { create, Organization, update } from "./shape.ts";

const reference: Reference<typeof organizations> = {
	tag: {
		name: "Organizations",
		description:
			"An organization has members, projects, domains, plugins and exports. `@current` stands for the one you work in.",
	},
	operations: {
		"/": {
			get: {
				id: "listOrganizations",
				summary: "List your organizations",
				description:
					"Lists the organizations that you are a member of and that your key may reach, newest first.",
			},
			post: {
				id: "createOrganization",
				summary: "Create an organization",
				description:
					"You become its owner. A project `Default project` is made, and both become the ones you work in. A key restricted to organizations or projects can't create one.",
			},
		},
		"/:id": {
			get: {
				id: "getOrganization",
				summary: "Retrieve an organization",
				description: "Answers with the organization as you see it: your level, and your projects.",
			},
			patch: {
				id: "updateOrganization",
				summary: "Change an organization",
				description:
					"Requires level 8. Fields that aren't in the body stay as they are. Answers with the organization.",
			},
			delete: {
				id: "deleteOrganization",
				summary: "Delete an organization",
				description:
					"Requires level 15. Deletes its memberships, invites, domains and projects with everything in them, and cancels running exports. Users stay.",
			},
		},
	},
};
export default reference;

describe(create, {
	name: "The organization's name.",
	logo_media_id: "The id of an uploaded image that serves as logo; null for none.",
	is_member_join_email_enabled: "Whether admins get a mail when somebody joins; true by default.",
	enforce_2fa: "Whether members need a second factor to sign in; null if it was never decided.",
});

describe(update, {}, create);

describe(Organization, {
	id: "Identifies the organization.",
	name: "The organization's name.",
	slug: "A unique name for URLs, made from the first name. Renaming keeps it.",
	logo_media_id: "The id of the uploaded image that serves as logo; null for none.",
	created_at: "When the organization was created.",
	updated_at: "When the organization was last changed.",
	membership_level: "Your level: 1 for a member, 8 for an admin, 15 for an owner.",
	plugins_access_level:
		"What the organization may do with plugins: 0 nothing, 3 configure, 6 install, 9 also make them global. Set by the operator.",
	teams: [
		"The organization's projects that you can see.",
		{
			id: "Identifies the project, in paths too.",
			uuid: "The project's UUID.",
			organization: "The id of the project's organization.",
			name: "The project's name.",
			timezone: "The project's time zone, a name in the IANA database.",
			access_control: "Whether only admins and members of the project can see it.",
		},
	],
	available_product_features: [
		"What the operator has enabled for the organization.",
		{
			key: "Identifies the feature.",
			name: "The feature's name.",
			description: "What the feature offers.",
			limit: "How much of it the organization may use.",
		},
	],
	is_member_join_email_enabled: "Whether admins get a mail when somebody joins.",
	metadata: "A JSON object as text; `{}` if there is nothing to say.",
	customer_id: "The operator's own id for the organization; null for none.",
	enforce_2fa: "Whether members need a second factor to sign in; null if it was never decided.",
	member_count: "The number of active members, as decimal text.",
});
