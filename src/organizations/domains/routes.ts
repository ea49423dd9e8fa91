import * as z from "zod";
import { body, query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { page } from "../../http/page.ts";
import { created, noContent, ok, paginated, router } from "../../http/router.ts";
import * as domains from "./queries.ts";
import * as settings from "./settings.ts";
import { create, Domain, filters, update, Verified } from "./shape.ts";

const TAKEN =
	"The domain already belongs to your organization, or to another one that has verified it or added it within the last three days.";

/** docs/organizations.md#domains */
export default router({
	name: "Domains",
	description:
		"Email domains of an organization, with their settings for single sign-on. A domain is only a claim until it is verified with a DNS record. Then, people with its email addresses can sign in through the organization's own SAML or OpenID provider, and the organization can require that they sign in in one way only.",
	parameters: { id: z.guid().describe("The domain's id.") },
})
	.get(
		"/",
		paginated(Domain, {
			id: "listDomains",
			summary: "List the domains",
			description: "Lists the organization's domains by name. Any member may do so.",
		}),
		query(filters),
		async (c) => c.json(await domains.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post(
		"/",
		created(Domain, {
			id: "createDomain",
			summary: "Add a domain",
			description:
				"Requires level 8. The response has the `verification_challenge` to publish in the DNS. A domain belongs to one organization only. Adding it replaces another organization's unverified claim that is older than three days.",
			errors: {
				unique: TAKEN,
				invalid_input:
					"`domain` isn't a valid name, or anyone can register names under it, as with `co.uk`. Or the certificate, the metadata or the issuer is invalid, for example because the issuer's discovery names another one.",
			},
		}),
		atLeast(ADMIN),
		body(create),
		async (c) => c.json(await domains.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get(
		"/:id",
		ok(Domain, {
			id: "getDomain",
			summary: "Retrieve a domain",
			description: "Returns the domain. Any member may read it.",
		}),
		async (c) => c.json(await domains.find(c.var.tenant, c.req.param("id"))),
	)
	.patch(
		"/:id",
		ok(Domain, {
			id: "updateDomain",
			summary: "Change a domain",
			description:
				"Requires level 8, and `break_glass` 15. Fields that aren't in the body don't change. `jit_provisioning_enabled` and `sso_enforcement` can be set once the domain is verified. Setting `sso_enforcement` ends the sessions of everyone with an address of the domain who signed in in another way, which may include yours. Another `saml_entity_id` or `oidc_issuer`, or removing a provider, unlinks everyone's accounts at the former provider and ends the sessions that came through it. Renaming an unverified domain makes a new `verification_challenge`. Returns the domain.",
			errors: {
				unique: TAKEN,
				verification_required: "Only a verified domain can have this setting.",
				sign_in_not_tested:
					"You haven't signed in in the way of `sso_enforcement`. Or the provider that is enforced would be replaced: first stop enforcing it.",
				does_not_exist:
					"A user in `break_glass` isn't an active member with an address of the domain.",
				required: "Another `oidc_issuer` needs its `oidc_client_secret`.",
				invalid_input:
					"A verified domain can't be renamed: delete it and add the other one. Or a field of the provider in `sso_enforcement` would be empty. Or the certificate, the metadata or the issuer is invalid, for example because the issuer's discovery names another one.",
			},
		}),
		atLeast(ADMIN),
		body(update, domains.find),
		async (c) =>
			c.json(await settings.update(c.var.tenant, c.req.param("id"), c.req.valid("json"))),
	)
	.delete(
		"/:id",
		noContent({
			id: "deleteDomain",
			summary: "Delete a domain",
			description:
				"Requires level 8. Also deletes its settings, unlinks everyone's accounts at its providers, and ends the sessions that came through them. After that, other organizations can add the domain.",
		}),
		atLeast(ADMIN),
		async (c) => {
			await domains.remove(c.var.tenant, c.req.param("id"));
			return c.body(null, 204);
		},
	)
	.post(
		"/:id/verify",
		ok(Verified, {
			id: "verifyDomain",
			summary: "Verify a domain",
			description:
				"Requires level 8. Looks for the `verification_challenge` in the TXT records of `_tenantry-challenge.<domain>`, ignoring quotes and white space around it. The response is a 200 in either case. If the domain wasn't verified, `verification_error` says what was found. Try again after you have changed the DNS.",
			errors: { already_verified: "The domain is already verified." },
		}),
		atLeast(ADMIN),
		async (c) => c.json(await domains.verify(c.var.tenant, c.req.param("id"))),
	);
