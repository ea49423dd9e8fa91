import { redirects, router, samlMetadata } from "../../http/router.ts";
import { SamlResponse } from "./shape.ts";

/** Signing in through a domain's SAML provider (docs/sign-on.md#saml). */
export default router()
	.get("/:domain_id/metadata", samlMetadata(), async (c) => {
		const { metadata } = await import("./metadata.ts");
		return metadata(c, c.req.param("domain_id"));
	})
	.get("/:domain_id/start", redirects(), async (c) => {
		const { request } = await import("./start.ts");
		return request(c, c.req.param("domain_id"));
	})
	.post("/:domain_id/acs", redirects({ form: SamlResponse }), async (c) => {
		const { accept } = await import("./accept.ts");
		return accept(c, c.req.param("domain_id"));
	});
