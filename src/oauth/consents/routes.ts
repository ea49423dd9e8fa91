import * as z from "zod";
import { atLeast } from "../../access/middleware.ts";
import { revokes } from "../../access/receipts.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { paginated, router } from "../../http/router.ts";
import * as ofOrganization from "./organization.ts";
import * as consents from "./queries.ts";
import { OauthGrant, OrganizationOauthGrant } from "./shape.ts";

const section = {
	name: "Apps",
	description: "The access that people have given to apps with OAuth 2.1.",
	parameters: { id: z.guid().describe("The id of the access.") },
};

/** docs/oauth.md#your-apps */
export default router(section)
	.get(
		"/",
		paginated(OauthGrant, {
			id: "listOauthGrants",
			summary: "List your apps",
			description: "Lists the apps that you have given access, newest first.",
		}),
		async (c) => c.json(await consents.list(c.var.tenant, c.req.param("uuid") ?? "", page(c))),
	)
	.delete(
		"/:id",
		revokes({
			id: "revokeOauthGrant",
			summary: "End the access of an app",
			description: "The next request of the app is rejected. It can ask you again.",
		}),
		async (c) => {
			await consents.remove(c.var.tenant, c.req.param("uuid") ?? "", c.req.param("id"));
			return c.body(null, 204);
		},
	);

/** docs/oauth.md#apps-of-an-organization */
export const inOrganization = router(section)
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(OrganizationOauthGrant, {
			id: "listOrganizationOauthGrants",
			summary: "List the apps of the members of an organization",
			description:
				"Lists the apps that members have given access to the organization, newest first. Requires level 8.",
		}),
		async (c) => c.json(await ofOrganization.list(c.var.tenant, page(c))),
	)
	.delete(
		"/:id",
		revokes({
			id: "revokeOrganizationOauthGrant",
			summary: "End the access of a member's app",
			description:
				"The next request of the app is rejected, also one to another organization of the member. The member gets a mail. Requires level 8 and at least the member's level, in each organization of the member that the app can access: otherwise it is a 403.",
		}),
		async (c) => {
			await ofOrganization.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	);
