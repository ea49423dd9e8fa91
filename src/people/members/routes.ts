import * as z from "zod";
import { body, query } from "../../access/input.ts";
import { atLeast, needs } from "../../access/middleware.ts";
import { revokes } from "../../access/receipts.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { download } from "../../http/download.ts";
import { page } from "../../http/page.ts";
import { accepted, noContent, ok, paginated, router } from "../../http/router.ts";
import * as review from "./access_review.ts";
import * as details from "./details.ts";
import * as access from "./end_access.ts";
import { list } from "./list.ts";
import * as members from "./queries.ts";
import * as secondFactor from "./second_factor.ts";
import {
	AccessReview,
	filters,
	Member,
	MemberDetails,
	reviewFilters,
	ToldMembers,
	update,
} from "./shape.ts";

/** docs/organizations.md#members */
export default router({
	name: "Members",
	description:
		"The users who belong to an organization, each with a level: 1 is a member, 8 an admin, 15 an owner. To add someone, create an invite.",
	parameters: { id: z.guid().describe("The key's id.") },
})
	.get(
		"/",
		paginated(Member, {
			id: "listMembers",
			summary: "List the active members",
			description: "Lists the members whose users are active, newest first. Any member may do so.",
		}),
		query(filters),
		async (c) => c.json(await list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.get(
		"/access_review",
		paginated(AccessReview, {
			id: "reviewMembers",
			summary: "Review who has access",
			description:
				"Lists the active members and the service accounts, the oldest member first: the level, the roles, the second factor, the last sign-in and activity, and the keys and apps that can access the organization. Requires level 8. With `Accept: text/csv` or `application/x-ndjson` the response is a file with all of them. `limit` and `offset` are ignored.",
			download: true,
		}),
		atLeast(ADMIN),
		query(reviewFilters),
		async (c) => {
			const [{ tenant }, filter, asked] = [c.var, c.req.valid("query"), page(c)];
			const file = await download(c, () => ({
				name: "access_review",
				columns: review.cells,
				toJson: (row) => row,
				pages: review.readAll(tenant, asked, filter),
			}));
			return file ?? c.json(await review.list(tenant, asked, filter));
		},
	)
	.get(
		"/:user__uuid/details",
		ok(MemberDetails, {
			id: "getMemberDetails",
			summary: "Retrieve a member with what belongs to them",
			description:
				"Returns a person with their projects, roles, accounts at providers, sessions, keys and apps, and the service accounts, exports and webhooks that they have created: at most 100 of each, and never the value of a key. Leaves out projects, exports and webhooks if the key of the request has no scope to read them. Also finds somebody who isn't a member any more, if one of the newest 5,000 entries of the activity log is by or about them. Requires level 8.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await details.find(c.var.tenant, c.req.param("user__uuid"))),
	)
	.delete(
		"/:user__uuid/keys/:id",
		revokes({
			id: "revokeMemberKey",
			summary: "Revoke a member's key",
			description:
				"The next request with the key is rejected, also one to another organization of the member, who gets a mail. Only keys that can access the organization are found. Requires level 8 and at least the member's level, in each organization of the member that the key can access: otherwise it is a 403. For your own keys, use `revokePersonalApiKey`.",
		}),
		atLeast(ADMIN),
		async (c) => {
			const { user__uuid, id } = c.req.param();
			await access.removeKey(c.var.tenant, user__uuid, id);
			return c.body(null, 204);
		},
	)
	.delete(
		"/:user__uuid/sessions",
		noContent({
			id: "endMemberSessions",
			summary: "End all sessions of a member",
			description:
				"The member has to sign in again, and gets a mail. Keys and apps keep their access. Requires level 8 and at least the member's level, in each organization of the member: otherwise it is a 403. For your own sessions, use `endOtherSessions`.",
		}),
		atLeast(ADMIN),
		async (c) => {
			await access.removeSessions(c.var.tenant, c.req.param("user__uuid"));
			return c.body(null, 204);
		},
	)
	.post(
		"/remind_two_factor",
		accepted(ToldMembers, {
			id: "remindMembers",
			summary: "Ask members to set up a second factor",
			description:
				"Mails the active members who have no second factor and have proved their address, at most 500, the oldest first. Requires level 8. The service sends such mails at most once a day: before that, the response is a 429.",
		}),
		atLeast(ADMIN),
		async (c) => c.json(await secondFactor.remind(c.var.tenant), 202),
	)
	.patch(
		"/:user__uuid",
		ok(Member, {
			id: "updateMember",
			summary: "Change a member's level",
			description:
				"Requires level 8. You can't change your own level, change a member whose level is above yours, or grant a level above yours: each is a 403. Returns the member.",
		}),
		body(update, members.findEditable),
		async (c) =>
			c.json(await members.update(c.var.tenant, c.req.param("user__uuid"), c.req.valid("json"))),
	)
	.delete(
		"/:user__uuid",
		revokes({
			id: "removeMember",
			summary: "Remove a member, or leave the organization",
			description:
				"Removing others requires level 8, and at least their level. To leave the organization, use `@me`; owners can't. The member immediately loses access, and is also removed from the organization's projects. Removing others also unlinks their accounts at the providers of the organization's domains (see `deleteMemberIdentity`).",
			errors: { invalid_input: "The member is an owner: lower the level first." },
		}),
		// Everyone may leave. The level decides about others.
		needs("none"),
		async (c) => {
			await members.remove(c.var.tenant, c.req.param("user__uuid"));
			return c.body(null, 204);
		},
	);
