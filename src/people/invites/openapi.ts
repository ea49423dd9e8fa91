import { describe, type OpenApi } from "../../http/openapi.ts";
import { Entry } from "./access.ts";
import type page from "./page.ts";
import type invites from "./routes.ts";
import type { acceptance } from "./routes.ts";
import {
	Accepted,
	accept,
	create,
	filters,
	Invitation,
	Invite,
	NewInvite,
	NewInvites,
} from "./shape.ts";

const NOT_INVITABLE =
	"the address already belongs to a member; `private_project_access` has a project that you can't see, or a level above yours; or the organization would have more than 1,000 open invites.";

export default {
	tag: {
		name: "Invites",
		description:
			"An invite lets the person with an email address join an organization. It works once, expires after three days, and is valid only while its inviter can grant its level.",
	},
	operations: {
		"GET /": {
			id: "listInvites",
			summary: "List the invites",
			description:
				"Lists the invites that haven't been accepted, including expired ones, newest first. Any member may do so.",
		},
		"POST /": {
			id: "createInvite",
			summary: "Invite a person",
			description:
				"Any member may invite, up to their own level; a higher one is a 403. The invite is mailed after the response, unless `send_email` is false or the operator hasn't set up mail: then the response has the link as `accept_url`. Replaces the organization's older invites for the address. An organization may send 200 invites by mail in any 60 minutes, and so may a user in all organizations, unless the operator has set another limit. An address gets at most 10 a day from people who share no organization with it. More are a 429 with `Retry-After`.",
			errors: { invalid_input: `The invite breaks a rule: ${NOT_INVITABLE}` },
		},
		"POST /bulk": {
			id: "createInvites",
			summary: "Invite several people",
			description:
				"Accepts a list of at most 20 invites and creates all or none, by the rules of `createInvite`. The response has the fields of the first invite, and all of them as `results`.",
			errors: {
				invalid_input: `An address is in the list twice. Or, for one of the invites: ${NOT_INVITABLE}`,
			},
		},
		"DELETE /:id": {
			id: "deleteInvite",
			summary: "Delete an invite",
			description: "Its link stops working. Requires level 8, or that you are the inviter.",
		},
	},
} satisfies OpenApi<typeof invites>;

const ACCEPTANCE = {
	name: "Accepting invites",
	description: "For the holder of an invite's link, with or without a key.",
};

const UNKNOWN =
	"A token that is unknown, used, deleted or replaced is a 404, and counts as a failed authentication of your IP address.";

export const acceptanceOperations: OpenApi<typeof acceptance> = {
	tag: ACCEPTANCE,
	operations: {
		"GET /:token": {
			id: "previewInvite",
			summary: "Preview an invite",
			description: `Returns the organization, the inviter and the invited email address. Changes nothing. ${UNKNOWN}`,
		},
		"POST /:token/accept": {
			id: "acceptInvite",
			summary: "Accept an invite",
			description: `The person becomes a member, and the organization becomes their current one. A new person becomes a user and gets a key; only this response shows its value. If you have a key, send it: it identifies you, and needs no scope. If the email address of an existing user was never verified, and the link was mailed, accepting without a key revokes the user's keys and creates a new one for you. ${UNKNOWN}`,
			errors: {
				expired: "The invite is older than three days.",
				inviter_lost_access:
					"Its inviter has left, was deactivated, or is now below the invite's level.",
				invalid_recipient:
					"The invite is for another user or a deactivated one. Or its user exists, no mail carried the link, and the request has no key of that user.",
				sign_in_required:
					"The user has a second factor, an organization of theirs requires one, or the address's domain enforces single sign-on: a key of the user is required.",
				user_already_member: "The user is already a member.",
			},
		},
	},
};

export const pageOperations: OpenApi<typeof page> = {
	tag: ACCEPTANCE,
	operations: {
		"GET /:token": {
			id: "showInvitePage",
			summary: "Show an invite as a web page",
			description:
				"The page that the link in an invite's mail leads to, with a form to accept it. Changes nothing. An expired invite is a 410.",
		},
		"POST /:token": {
			id: "acceptInviteOnPage",
			summary: "Accept an invite on its web page",
			description:
				"Sent by the form on the invite's page. Does the same as `acceptInvite` without a key. The response is a page that shows a new user their key, once. An invite that no longer works is a 410.",
		},
	},
};

const ACCESS =
	"The private projects that the person joins, each with a level. Projects that are deleted when the invite is accepted, or whose level the inviter can no longer grant, are ignored.";

describe(Entry, {
	id: "The project's id.",
	level: "1 or `member`: sees the project. 8 or `admin`: may also change it and its members.",
});

const LEVEL = "The level that the person gets: 1 for a member, 8 for an admin, 15 for an owner.";

describe(create, {
	target_email:
		"The person's email address, stored in lower case. The invite replaces older ones of the organization for the same address.",
	first_name:
		"The person's first name, for the mail and as the first name of a new user. At most 30 characters; empty by default.",
	level: `${LEVEL} At most your own; 1 by default.`,
	message:
		"Your message in the mail and on the invite's page; can have line breaks. Null for none.",
	private_project_access: `${ACCESS} At most 100 entries, of projects that you can see, with levels up to your own; empty by default.`,
	send_email: "Whether to mail the link; true by default. If false, the response has `accept_url`.",
});

describe(Invite, {
	id: "Identifies the invite. It isn't the secret part of the link.",
	target_email: "The address of the invited person, in lower case.",
	first_name: "The person's first name, as the inviter entered it; can be empty.",
	emailing_attempt_made:
		"Whether the link was mailed when the invite was created. It doesn't say whether the mail arrived.",
	level: LEVEL,
	is_expired:
		"Whether the invite can no longer be accepted: it is three days old, or its inviter can no longer grant this level.",
	created_by: "The inviter.",
	created_at: "When the invite was created. It works for three days from then.",
	updated_at: "The same as `created_at`: an invite is never changed.",
	message: "The inviter's message; null for none.",
	private_project_access: ACCESS,
});

describe(
	NewInvite,
	{
		accept_url:
			"The link to accept the invite, for you to pass on. Only in this response, and missing if the link was mailed. Null unless your key has the scope `*`, no restrictions and no expiry, as a new user's key has.",
	},
	Invite,
);

describe(
	NewInvites,
	{
		count: "How many invites were created.",
		results: "The new invites, in the order of the request.",
	},
	NewInvite,
);

describe(Invitation, {
	organization_name: "The organization that the person would join.",
	inviter_first_name: "The first name of the inviter; may be empty.",
	target_email: "The address that the invite is for, in lower case.",
	first_name: "The person's first name, as the inviter entered it; can be empty.",
	is_expired:
		"Whether the invite can no longer be accepted, because it is too old or its inviter lost access.",
});

describe(accept, {
	first_name:
		"The first name of a new user; by default the invite's. At most 150 characters. An existing user's name doesn't change.",
	last_name:
		"The last name of a new user; empty by default. At most 150 characters. An existing user's name doesn't change.",
});

describe(Accepted, {
	organization: "The organization that the user has joined.",
	user: "The user who has joined, existing or new.",
	personal_api_key:
		"The new key, with the scope `*` and no expiry date. Only this response shows its `value`. Null if an existing user keeps their keys.",
});

describe(filters, {
	search: "Only invites whose address contains this text, in any case. At most 200 characters.",
});
