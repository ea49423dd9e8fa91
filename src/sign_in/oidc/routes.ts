import { redirects, router } from "../../http/router.ts";
import { finish } from "../provider/finish.ts";
import { callback, domainIn, goToProvider, providerIn } from "./sign_on.ts";

/**
 * Signing in through a provider: pages that only redirect (docs/sign-on.md). They are the only GETs
 * that write, because browsers come to them through redirects.
 */
export default router()
	.get("/oidc/:domain_id/start", redirects(), (c) => goToProvider(c, domainIn(c)))
	.get("/oidc/:domain_id/callback", redirects(), (c) => callback(c, domainIn(c)))
	.get("/:provider/start", redirects(), (c) => goToProvider(c, providerIn(c)))
	.get("/:provider/callback", redirects(), (c) => callback(c, providerIn(c)))
	.get("/finish", redirects(), (c) => finish(c, c.req.query("token") ?? ""));
