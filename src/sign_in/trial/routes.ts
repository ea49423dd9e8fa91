import type { Context } from "hono";
import { atLeast } from "../../access/middleware.ts";
import { body } from "../../access/valid.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { created, ok, router } from "../../http/router.ts";
import * as tests from "./queries.ts";
import { complete, PlannedTest, plan, SignInTestResult } from "./shape.ts";

const domain = (c: Context<App>) => c.req.param("domain_id") ?? "";

/** docs/sign-on.md#testing-a-connection */
export default router()
	.post("/", created(PlannedTest), atLeast(ADMIN), body(plan, tests.find), async (c) => {
		const path = await tests.plan(c.var.tenant, domain(c), c.req.valid("json"));
		return c.json({ url: new URL(path, c.req.url).href }, 201);
	})
	.post("/complete", ok(SignInTestResult), atLeast(ADMIN), body(complete, tests.find), async (c) =>
		c.json(await tests.complete(c.var.tenant, domain(c), c.req.valid("json").token)),
	);
