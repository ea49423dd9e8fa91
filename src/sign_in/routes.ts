import { accepted, ok, router } from "../http/router.ts";
import { body } from "../http/valid.ts";
import { TwoFactorSetup } from "../two_factor/shape.ts";
import { complete } from "./complete.ts";
import { limitByAddress, requestLink } from "./request.ts";
import { setUp } from "./set_up.ts";
import * as shape from "./shape.ts";

/** Whoever signs in has no key yet, so nothing comes before an error in the body. */
const nothing = async () => {};

/** docs/keys.md#signing-in */
export default router()
	.post("/", accepted(shape.SignInRequested), limitByAddress, body(shape.request, nothing), (c) =>
		c.json(requestLink(c, c.req.valid("json").email), 202),
	)
	.post("/two_factor", ok(TwoFactorSetup), body(shape.setUp, nothing), async (c) =>
		c.json(await setUp(c, c.req.valid("json").token)),
	)
	.post("/complete", ok(shape.SignedIn), body(shape.complete, nothing), async (c) =>
		c.json(await complete(c, c.req.valid("json"))),
	);
