import { createMiddleware } from "hono/factory";
import { asCaller } from "../../access/middleware.ts";
import { anyKey } from "../../access/scopes.ts";
import type { App } from "../../env.ts";
import { accepted, noContent, ok, router } from "../../http/router.ts";
import { body, query } from "../../http/valid.ts";
import { authenticateKey } from "../../keys/authenticate.ts";
import { limitNetwork } from "../../keys/network_limits.ts";
import { TwoFactorSetup } from "../totp/shape.ts";
import { PasskeyRequest } from "../webauthn/webauthn.ts";
import { sameOrigin } from "./cookie.ts";
import * as shape from "./shape.ts";

/** Returns 429 after too many requests for links from an IP address, or a /64 of IPv6 addresses. */
const limitByAddress = createMiddleware<App>(async (c, next) => {
	await limitNetwork(c, "links", 10);
	await next();
});

/** There is no key when signing in, so no other errors take precedence over those of the body. */
const nothing = async () => {};

/** docs/keys.md#signing-in */
export default router()
	.get("/methods", ok(shape.SignInMethods), query(shape.methods, nothing), async (c) => {
		await limitNetwork(c, "methods", 60);
		const { methodsOf } = await import("./methods.ts");
		return c.json(await methodsOf(c, c.req.valid("query").email));
	})
	.post(
		"/",
		accepted(shape.SignInRequested),
		limitByAddress,
		body(shape.request, nothing),
		async (c) => {
			const { requestLink } = await import("./request.ts");
			return c.json(requestLink(c, c.req.valid("json").email), 202);
		},
	)
	.post("/preview", ok(shape.SignInPreview), body(shape.link, nothing), async (c) => {
		const { preview } = await import("./preview.ts");
		return c.json(await preview(c, c.req.valid("json").token));
	})
	.post("/two_factor", ok(TwoFactorSetup), body(shape.link, nothing), async (c) => {
		const { setUp } = await import("./set_up.ts");
		return c.json(await setUp(c, c.req.valid("json").token));
	})
	.post(
		"/passkey/options",
		ok(PasskeyRequest),
		limitByAddress,
		body(shape.passkeyOptions, nothing),
		async (c) => {
			const { options } = await import("./passkey.ts");
			return c.json(await options(c, c.req.valid("json").token));
		},
	)
	.post("/passkey", ok(shape.SignInToken), body(shape.passkey, nothing), async (c) => {
		const { enter } = await import("./passkey.ts");
		return c.json(await enter(c, c.req.valid("json").passkey));
	})
	.post("/complete", ok(shape.SignedIn), sameOrigin, body(shape.complete, nothing), async (c) => {
		const { complete } = await import("./complete.ts");
		return c.json(await complete(c, c.req.valid("json")));
	})
	.post("/key", noContent(), sameOrigin, authenticateKey, anyKey, asCaller, async (c) => {
		const { useKey } = await import("./key.ts");
		await useKey(c);
		return c.body(null, 204);
	})
	.post("/end", noContent(), sameOrigin, async (c) => {
		const { end } = await import("./end.ts");
		await end(c);
		return c.body(null, 204);
	});
