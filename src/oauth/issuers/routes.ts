import type { Context } from "hono";
import * as z from "zod";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import type { Tenant } from "../../access/tenant.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import { idOf } from "../../people/service_accounts/owner.ts";
import { SECTION } from "../../people/service_accounts/shape.ts";
import * as issuers from "./queries.ts";
import { create, TrustedIssuer, update } from "./shape.ts";

const INVALID =
	"The issuer has no https URL on the public internet, or `subject` has a `*` that isn't at its end after two parts.";

const CANT_SEE = "The account can't see a project in the restrictions. `attr` has its position.";

const AT_MOST =
	"You can't trust an issuer with more permissions than the key in use has, or with a key that expires: that is a 403.";

const findAccount = (tenant: Tenant, _: string, c: Context<App>) =>
	issuers.findAccount(tenant, idOf(c));
const find = (tenant: Tenant, id: string, c: Context<App>) => issuers.find(tenant, idOf(c), id);

/** docs/oauth.md#jobs-without-keys */
export default router({
	...SECTION,
	parameters: { id: z.guid().describe("The trusted issuer's id.") },
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(TrustedIssuer, {
			id: "listTrustedIssuers",
			summary: "List the issuers that an account trusts",
			description:
				"Lists the issuers whose tokens are exchanged for keys of the account, newest first. Requires level 8.",
		}),
		async (c) => c.json(await issuers.list(c.var.tenant, idOf(c), page(c))),
	)
	.post(
		"/",
		created(TrustedIssuer, {
			id: "createTrustedIssuer",
			summary: "Trust an issuer",
			description: `A program with a token of this issuer, for example a job of GitHub Actions, then gets a key of the account for 15 minutes from \`/oauth/token\`, with the \`id\` as \`client_id\`. Requires level 8. ${AT_MOST}`,
			errors: { does_not_exist: CANT_SEE, invalid_input: INVALID },
		}),
		body(create, findAccount),
		async (c) => c.json(await issuers.insert(c.var.tenant, idOf(c), c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(TrustedIssuer, {
			id: "getTrustedIssuer",
			summary: "Retrieve a trusted issuer",
			description: "Returns the issuer, and what its tokens are exchanged for. Requires level 8.",
		}),
		async (c) => c.json(await issuers.find(c.var.tenant, idOf(c), c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(TrustedIssuer, {
			id: "updateTrustedIssuer",
			summary: "Change a trusted issuer",
			description: `Requires level 8. A change of anything but the name ends the keys that were given before. ${AT_MOST}`,
			errors: { does_not_exist: CANT_SEE, invalid_input: INVALID },
		}),
		body(update, find),
		async (c) =>
			c.json(
				await issuers.update(
					c.var.tenant,
					{ account: idOf(c), id: c.req.param("id") },
					c.req.valid("json"),
				),
			),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteTrustedIssuer",
			summary: "Stop trusting an issuer",
			description: "Requires level 8. The keys that its tokens were exchanged for stop working.",
		}),
		async (c) => {
			await issuers.remove(c.var.tenant, idOf(c), c.req.param("id"));
			return c.body(null, 204);
		},
	);
