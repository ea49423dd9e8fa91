import type { Context } from "hono";
import { validate } from "uuid";
import type { App } from "../../env.ts";
import { notFound } from "../../http/errors.ts";
import { inIsolate } from "./client.ts";
import { hostOf } from "./connection.ts";

/**
 * Returns what a domain's provider needs to know of the service. It depends only on the id, so that
 * the provider can be set up before the domain.
 */
export async function metadata(c: Context<App>, domain_id: string) {
	if (!validate(domain_id) || !c.env.APP_URL) throw notFound();
	const unknown = { saml_entity_id: "", saml_acs_url: "", saml_x509_cert: "" };
	const parties = { ...hostOf(c.env, domain_id), ...unknown };
	const xml = await inIsolate(c.env, (saml) => saml.metadata(parties, `_${domain_id}`));
	return c.body(xml, 200, { "Content-Type": "text/xml" });
}
