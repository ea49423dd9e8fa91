import type { Context } from "hono";
import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as groups from "./groups.ts";
import * as requests from "./requests.ts";
import { ScimGroup, ScimRequest, ScimToken, update } from "./shape.ts";
import * as tokens from "./tokens.ts";

const domain = (c: Context<App>) => c.req.param("domain_id") ?? "";

/** docs/sign-on.md#scim */
export default router({
	name: "SCIM",
	description:
		"Lets the identity provider of a verified domain manage members and their access. The provider uses the SCIM endpoint at `/scim/v2/:domain_id`, which describes itself as SCIM 2.0 requires. These operations are for admins who set it up.",
	parameters: {
		token_id: z.guid().describe("The token's id."),
		group_id: z.guid().describe("The group's id."),
	},
})
	.use("*", atLeast(ADMIN))
	.get(
		"/tokens",
		paginated(ScimToken, {
			id: "listScimTokens",
			summary: "List the SCIM tokens of a domain",
			description: "Lists the tokens that work, newest first. Requires level 8.",
		}),
		async (c) => c.json(await tokens.list(c.var.tenant, domain(c), page(c))),
	)
	.post(
		"/tokens",
		created(ScimToken, {
			id: "createScimToken",
			summary: "Create or replace a SCIM token",
			description:
				"Requires level 8. Only this response shows the value. If the domain has a token already, it works for another 24 hours, so that you can replace it at the provider.",
			errors: {
				verification_required: "The domain isn't verified.",
				invalid_input: "The domain has two tokens that work. Revoke one of them.",
			},
		}),
		async (c) => c.json(await tokens.insert(c.var.tenant, domain(c)), 201),
	)
	.delete(
		"/tokens/:token_id",
		noContent({
			id: "deleteScimToken",
			summary: "Revoke a SCIM token",
			description: "Requires level 8. The next request with the token is rejected.",
		}),
		async (c) => {
			await tokens.remove(c.var.tenant, domain(c), c.req.param("token_id"));
			return c.body(null, 204);
		},
	)
	.get(
		"/groups",
		paginated(ScimGroup, {
			id: "listScimGroups",
			summary: "List the groups of a domain's provider",
			description:
				"Lists the groups that the provider has sent, newest first, with what they grant. Requires level 8.",
		}),
		async (c) => c.json(await groups.list(c.var.tenant, domain(c), page(c))),
	)
	.patch(
		"/groups/:group_id",
		ok(ScimGroup, {
			id: "updateScimGroup",
			summary: "Set what a group grants",
			description:
				"Requires level 8. The members of the group get the level, the memberships of projects and the roles at once, and lose what only the group gave them. Access that people gave them stays.",
			errors: {
				does_not_exist:
					"The organization has no such project or role, or you can't see it. `attr` has its position.",
			},
		}),
		body(update, (tenant, id, c) => groups.find(tenant, domain(c), id)),
		async (c) =>
			c.json(
				await groups.update(c.var.tenant, domain(c), c.req.param("group_id"), c.req.valid("json")),
			),
	)
	.get(
		"/requests",
		paginated(ScimRequest, {
			id: "listScimRequests",
			summary: "List the last requests of a domain's provider",
			description:
				"Lists the last 200 requests to the SCIM endpoint with their responses, newest first. Requires level 8.",
		}),
		async (c) => c.json(await requests.list(c.var.tenant, domain(c), page(c))),
	);
