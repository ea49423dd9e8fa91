import type { Context } from "hono";
import { safeRetries } from "../../access/idempotency.ts";
import { body, query } from "../../access/input.ts";
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
} from "./shape.ts";

/** docs/organizations.md#invites */
export default router()
	.get("/", paginated(Invite), query(filters), async (c) =>
		c.json(await invites.list(c.var.tenant, page(c), c.req.valid("query"))),
	)
	.post("/", created(NewInvite), body(create), async (c) => {
		const [invite] = await invites.insert(c.var.tenant, [c.req.valid("json")], () => "");
		return c.json(deliver(c, orNotFound(invite)), 201);
	})
	.post("/bulk", ok(NewInvites), body(bulk), async (c) => {
		const newInvites = await invites.insert(c.var.tenant, c.req.valid("json"), (i) => `${i}__`);
		const results = newInvites.map((invite) => deliver(c, invite));
		return c.json({ ...orNotFound(results[0]), count: results.length, results });
	})
	.delete("/:id", noContent(), async (c) => {
		await invites.remove(c.var.tenant, c.req.param("id"));
		return c.body(null, 204);
	});

const hasKey = (c: Context<App>) =>
	c.req.header("authorization") !== undefined || inCookie(c) !== undefined;

/** Routes for the holder of an invite's link, with or without a key. */
export const acceptance = router()
	.use("*", (c, next) => (hasKey(c) ? authenticate(c, next) : next()))
	.use("*", safeRetries)
	.get("/:token", ok(Invitation), async (c) => c.json(await preview(c, c.req.param("token"))))
	.post(
		"/:token/accept",
		ok(Accepted),
		valid.body(Names, (c) => preview(c, c.req.param("token") ?? "")),
		async (c) => c.json(await accept(c, c.req.param("token"), c.req.valid("json"))),
	);
