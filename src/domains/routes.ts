import { ADMIN } from "../db/levels.ts";
import { atLeast } from "../tenant/tenant.ts";
import { body } from "../tenant/valid.ts";
import { found } from "../http/errors.ts";
import { page } from "../http/page.ts";
import { answers, creates, lists, removes, router } from "../http/router.ts";
import * as domains from "./queries.ts";
import { create, Domain, update, Verified } from "./shape.ts";

/** Interface 4.3, behaviour 8. */
export default router()
	.get("/", lists(Domain, "List the domains, by name"), async (c) =>
		c.json(await domains.list(c.var.tenant, page(c))),
	)
	.post(
		"/",
		creates(Domain, "Add a domain"),
		atLeast(ADMIN),
		body(create),
		async (c) =>
			c.json(await domains.insert(c.var.tenant, c.req.valid("json")), 201),
	)
	.get("/:id", answers(Domain, "Retrieve a domain"), async (c) =>
		c.json(found(await domains.find(c.var.tenant, c.req.param("id")))),
	)
	.patch(
		"/:id",
		answers(Domain, "Change a domain"),
		atLeast(ADMIN),
		body(update, domains.find),
		async (c) =>
			c.json(
				await domains.update(
					c.var.tenant,
					c.req.param("id"),
					c.req.valid("json"),
				),
			),
	)
	.delete("/:id", removes("Delete a domain"), atLeast(ADMIN), async (c) => {
		await domains.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	})
	.post(
		"/:id/verify",
		answers(Verified, "Look for the domain's challenge in the DNS"),
		atLeast(ADMIN),
		async (c) => c.json(await domains.verify(c.var.tenant, c.req.param("id"))),
	);
