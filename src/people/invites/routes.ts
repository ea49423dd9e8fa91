import type { Context } from "hono";
import * as z from "zod";
import { safeRetries } from "../../access/idempotency.ts";
import { body, query } from "../../access/input.ts";
import { needs } from "../../access/middleware.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as valid from "../../http/valid.ts";
import { authenticate } from "../../keys/authenticate.ts";
import { inCookie } from "../../keys/cookie.ts";
import { accept } from "./accept.ts";
import { preview } from "./invitation.ts";
import { deliver } from "./mails.ts";
import * as invites from "./queries.ts";
import {
	Accepted,
	bulk,
	create,
	filters,
	Invitation,
	Invite,
	accept as Names,
	NewInvite,
	NewInvites,
	OF_LINK,
} from "./shape.ts";

const NOT_INVITABLE =
	"the address already belongs to a member; `private_project_access` has a project that you can't see, or a level above yours; or the organization would have more than 1,000 open invites.";
/** docs/organizations.md#invites */
export default router({
	name: "Invites",
	description:
		"An invite lets the person with an email address join an organization. It works once, expires after three days, and is valid only while its inviter can grant its level.",
	parameters: { id: z.guid().describe("The invite's id.") },
})
	.get(
		"/",
		paginated(Invite, {
			id: "listInvites",
			summary: "List the invites",
			description:
				"Lists the invites that haven't been accepted, including expired ones, newest first. Any member may do so.",
		}),
		query(filters),
		async (c) => c.json(await invites.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post(
		"/",
		created(NewInvite, {
			id: "createInvite",
			summary: "Invite a person",
			description:
				"Any member may invite, up to their own level; a higher one is a 403. The invite is mailed after the response, unless `send_email` is false or the operator hasn't set up mail: then the response has the link as `accept_url`. Replaces the organization's older invites for the address. An organization may send 200 invites by mail in any 60 minutes, and so may a user in all organizations, unless the operator has set another limit. An address gets at most 10 a day from people who share no organization with it. More are a 429 with `Retry-After`.",
			errors: { invalid_input: `The invite breaks a rule: ${NOT_INVITABLE}` },
		}),
		body(create),
		async (c) => {
			const [invite] = await invites.insert(c.var.tenant, [c.req.valid("json")], () => "");
			return c.json(deliver(c, orNotFound(invite)), 201);
		},
	)
	.post(
		"/bulk",
		ok(NewInvites, {
			id: "createInvites",
			summary: "Invite several people",
			description:
				"Accepts a list of at most 20 invites and creates all or none, by the rules of `createInvite`. The response has the fields of the first invite, and all of them as `results`.",
			errors: {
				invalid_input: `An address is in the list twice. Or, for one of the invites: ${NOT_INVITABLE}`,
			},
		}),
		body(bulk),
		async (c) => {
			const newInvites = await invites.insert(c.var.tenant, c.req.valid("json"), (i) => `${i}__`);
			const results = newInvites.map((invite) => deliver(c, invite));
			return c.json({ ...orNotFound(results[0]), count: results.length, results });
		},
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteInvite",
			summary: "Delete an invite",
			description: "Its link stops working. Requires level 8, or that you are the inviter.",
		}),
		// Whoever may invite may take the invite back.
		needs("editor"),
		async (c) => {
			await invites.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	);

const hasKey = (c: Context<App>) =>
	c.req.header("authorization") !== undefined || inCookie(c) !== undefined;

const UNKNOWN =
	"A token that is unknown, used, deleted or replaced is a 404, and counts as a failed authentication of your IP address.";

/** Routes for the holder of an invite's link, with or without a key. */
export const acceptance = router(OF_LINK)
	.use("*", (c, next) => (hasKey(c) ? authenticate(c, next) : next()))
	.use("*", safeRetries)
	.get(
		"/:token",
		ok(Invitation, {
			id: "previewInvite",
			summary: "Preview an invite",
			description: `Returns the organization, the inviter and the invited email address. Changes nothing. ${UNKNOWN}`,
		}),
		async (c) => c.json(await preview(c, c.req.param("token"))),
	)
	.post(
		"/:token/accept",
		ok(Accepted, {
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
		}),
		valid.body(Names, (c) => preview(c, c.req.param("token") ?? "")),
		async (c) => c.json(await accept(c, c.req.param("token"), c.req.valid("json"))),
	);
