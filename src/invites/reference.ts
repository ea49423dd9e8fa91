import type { Reference } from "../http/reference.ts";
import type page from "./page.ts";
import type invites from "./routes.ts";
import type { acceptance } from "./routes.ts";

const reference: Reference<typeof invites> = {
	tag: {
		name: "Invites",
		description:
			"An invite lets the person with an email address join an organization. It works once, for three days, and only as long as its inviter may still give what it offers.",
	},
	operations: {
		"/": {
			get: {
				id: "listInvites",
				summary: "List the invites",
				description:
					"Lists the invites that nobody has accepted yet, expired ones too, newest first.",
			},
			post: {
				id: "createInvite",
				summary: "Invite a person",
				description:
					"You may invite up to your own level. The invite is sent by mail, unless `send_email` is false or no mail is configured: then the answer has the link as `accept_url`. Replaces older invites for the address.",
			},
		},
		"/bulk": {
			post: {
				id: "createInvites",
				summary: "Invite several people",
				description:
					"Takes a list of at most 20 invites, all or none. The answer has the fields of the first invite, and all of them as `results`.",
			},
		},
		"/:id": {
			delete: {
				id: "deleteInvite",
				summary: "Delete an invite",
				description: "Its link stops working. Only admins and the inviter may do so.",
			},
		},
	},
};
export default reference;

const ACCEPTANCE = {
	name: "Accepting invites",
	description: "For the holder of an invite's link, with or without a key.",
};

export const acceptanceReference: Reference<typeof acceptance> = {
	tag: ACCEPTANCE,
	operations: {
		"/:token": {
			get: {
				id: "previewInvite",
				summary: "Preview an invite",
				description: "Says which organization invites, who, and for whom. Changes nothing.",
			},
		},
		"/:token/accept": {
			post: {
				id: "acceptInvite",
				summary: "Accept an invite",
				description:
					"The person becomes a member. Somebody new becomes a user, and gets a key whose value only this answer shows. A key in the request says who accepts; it needs no scope.",
				errors: {
					expired: "The invite is older than three days.",
					inviter_lost_access: "Its inviter may no longer invite.",
					invalid_recipient: "The invite is for another user, or the request needs the user's key.",
					user_already_member: "The user is a member already.",
				},
			},
		},
	},
};

export const pageReference: Reference<typeof page> = {
	tag: ACCEPTANCE,
	operations: {
		"/:token": {
			get: {
				id: "showInvitePage",
				summary: "Show an invite as a web page",
				description: "The page that the link in an invite's mail leads to.",
			},
			post: {
				id: "acceptInviteOnPage",
				summary: "Accept an invite on its web page",
				description:
					"What the form on the invite's page sends. The answer is a page that shows a new user its key.",
			},
		},
	},
};
