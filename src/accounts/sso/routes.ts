import { redirects, router } from "../../http/router.ts";
import { ofDomain, providerOf } from "./connections.ts";
import { finish } from "./finish.ts";
import { callback, start } from "./sign_on.ts";

/**
 * Signing in through a provider: pages that only redirect (docs/sign-on.md). They are the only GETs
 * that write, because browsers come to them through redirects.
 */
export default router()
	.get("/oidc/:domain_id/start", redirects(), (c) =>
		start(c, () => ofDomain(c, c.req.param("domain_id"))),
	)
	.get("/oidc/:domain_id/callback", redirects(), (c) =>
		callback(c, () => ofDomain(c, c.req.param("domain_id"))),
	)
	.get("/:provider/start", redirects(), (c) =>
		start(c, async () => providerOf(c.env, c.req.param("provider"))),
	)
	.get("/:provider/callback", redirects(), (c) =>
		callback(c, async () => providerOf(c.env, c.req.param("provider"))),
	)
	.get("/finish", redirects(), (c) => finish(c, c.req.query("token") ?? ""));
