import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as clients from "./queries.ts";
import { create, OauthClient, update } from "./shape.ts";

const URI = "`redirect_uris` has one to which no browser may be sent. `attr` has its position.";

/** docs/oauth.md#registered-apps */
export default router({
	name: "Registered apps",
	description:
		"Apps that an organization has registered, for its members. They get access to a member's account with OAuth 2.1, if the member allows it. All operations require level 8.",
	parameters: { id: z.guid().describe("The app's id.") },
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(OauthClient, {
			id: "listOauthClients",
			summary: "List the registered apps",
			description: "Lists the apps that the organization has registered, newest first.",
		}),
		async (c) => c.json(await clients.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		created(OauthClient, {
			id: "createOauthClient",
			summary: "Register an app",
			description:
				"Registers an app for the members of the organization. The `id` in the response is its `client_id`. It has no secret.",
			errors: { invalid_input: URI },
		}),
		body(create),
		async (c) => c.json(await clients.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(OauthClient, {
			id: "getOauthClient",
			summary: "Retrieve a registered app",
			description: "Returns the app.",
		}),
		async (c) => c.json(await clients.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(OauthClient, {
			id: "updateOauthClient",
			summary: "Change a registered app",
			description:
				"Fields that aren't in the body don't change. From the next request on, the app can't continue at a redirect URI that was removed. What members have allowed stays.",
			errors: { invalid_input: URI },
		}),
		body(update, clients.find),
		async (c) => c.json(await clients.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteOauthClient",
			summary: "Delete a registered app",
			description: "Also ends all access that members have given the app.",
		}),
		async (c) => {
			await clients.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	);
