import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { noContent, paginated, router } from "../../http/router.ts";
import * as ofOrganization from "./organization.ts";
import * as grants from "./queries.ts";
import { OauthGrant, OrganizationOauthGrant } from "./shape.ts";

/** docs/oauth.md#your-apps */
export default router()
	.get("/", paginated(OauthGrant), async (c) =>
		c.json(await grants.list(c.var.tenant, c.req.param("uuid") ?? "", page(c))),
	)
	.delete("/:id", noContent(), async (c) => {
		await grants.remove(c.var.tenant, c.req.param("uuid") ?? "", c.req.param("id"));
		return c.body(null, 204);
	});

/** docs/oauth.md#apps-of-an-organization */
export const inOrganization = router()
	.use("*", atLeast(ADMIN))
	.get("/", paginated(OrganizationOauthGrant), async (c) =>
		c.json(await ofOrganization.list(c.var.tenant, page(c))),
	)
	.delete("/:id", noContent(), async (c) => {
		await ofOrganization.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	});
