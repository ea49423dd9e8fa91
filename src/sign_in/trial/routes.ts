import type { Context } from "hono";
import { body } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import type { App } from "../../env.ts";
import { created, ok, router } from "../../http/router.ts";
import * as tests from "./queries.ts";
import { complete, PlannedTest, plan, SignInTestResult } from "./shape.ts";

const domain = (c: Context<App>) => c.req.param("domain_id") ?? "";

/** docs/sign-on.md#testing-a-connection */
export default router({
	name: "Sign-in tests",
	description:
		"Testing how a domain signs people in, before they depend on it. A test is a sign-in of an admin that signs nobody in, but shows what the provider said.",
})
	.post(
		"/",
		created(PlannedTest, {
			id: "createSignInTest",
			summary: "Start to test a connection",
			description:
				"Returns the URL where your browser starts the test, once, within ten minutes. At the end, it is at the console's page of the domain, with `#tested=` and the token for `completeSignInTest`. Requires level 8.",
			errors: { verification_required: "The domain isn't verified." },
		}),
		atLeast(ADMIN),
		body(plan, tests.find),
		async (c) => {
			const path = await tests.plan(c.var.tenant, domain(c), c.req.valid("json"));
			return c.json({ url: new URL(path, c.req.url).href }, 201);
		},
	)
	.post(
		"/complete",
		ok(SignInTestResult, {
			id: "completeSignInTest",
			summary: "Get the result of a test",
			description:
				"Returns each check up to the first that failed, and what the provider said about you. If the address is your own, this links the account at the provider to your user, so that you can enforce the connection. Only for the admin who started the test.",
			errors: {
				expired: "The token is unknown or older than ten minutes, or the test is another user's.",
			},
		}),
		atLeast(ADMIN),
		body(complete, tests.find),
		async (c) => c.json(await tests.complete(c.var.tenant, domain(c), c.req.valid("json").token)),
	);
