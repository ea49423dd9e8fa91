import { and, eq, isNotNull } from "drizzle-orm";
import type { Context } from "hono";
import { validate } from "uuid";
import { connect } from "../../db/bookmark.ts";
import { domains } from "../../db/schema/organizations.ts";
import type { App } from "../../env.ts";
import { notFound } from "../../http/errors.ts";
import { type Saml, saml } from "../../isolates/saml/client.ts";
import type { Parties } from "../../isolates/saml/worker.ts";
import { logError } from "../../lib/log.ts";
import { linkTo } from "../../outbound/mail.ts";
import { connectionOf, pathOf } from "../../people/connections.ts";
import { SignInError } from "../provider/problems.ts";

/** Returns the service's side of a domain's connection. It doesn't depend on the request's host. */
function hostOf({ APP_URL }: Env, domain_id: string) {
	const base = linkTo(APP_URL, pathOf(connectionOf(domain_id.toLowerCase(), "saml")));
	return { entity_id: `${base}/metadata`, acs_url: `${base}/acs` };
}

/**
 * Calls the isolate that speaks SAML.
 * @throws SignInError if it fails; the reason is logged
 */
export async function inIsolate<T>(env: Env, call: (saml: Saml) => Promise<T>) {
	try {
		return await saml(env, call);
	} catch (error) {
		logError("saml", error);
		throw new SignInError("unavailable", "The isolate that speaks SAML failed.");
	}
}

/**
 * Returns the metadata of the service for a domain's provider. It depends only on the id, so that
 * the provider can be set up before the domain.
 */
export async function metadata(c: Context<App>, domain_id: string) {
	if (!validate(domain_id) || !c.env.APP_URL) throw notFound();
	const provider = { saml_entity_id: "", saml_acs_url: "", saml_x509_cert: "" };
	const parties = { ...hostOf(c.env, domain_id), ...provider };
	const xml = await inIsolate(c.env, (saml) => saml.metadata(parties, `_${domain_id}`));
	return c.body(xml, 200, { "Content-Type": "text/xml" });
}

const columns = {
	id: domains.id,
	organization_id: domains.organization_id,
	saml_entity_id: domains.saml_entity_id,
	saml_acs_url: domains.saml_acs_url,
	saml_x509_cert: domains.saml_x509_cert,
	saml_idp_initiated: domains.saml_idp_initiated,
};

/**
 * Returns the connection of a verified domain. One round trip.
 * @throws SignInError if there is none
 */
export async function findConnection(c: Context<App>, domain_id: string) {
	const { db } = connect(c, "first-primary");
	const [[row]] = await db.batch([
		db
			.select(columns)
			.from(domains)
			.where(and(eq(domains.id, domain_id.toLowerCase()), isNotNull(domains.verified_at))),
	]);
	const { saml_entity_id, saml_acs_url, saml_x509_cert } = row ?? {};
	if (!row || !saml_entity_id || !saml_acs_url || !saml_x509_cert || !c.env.APP_URL)
		throw new SignInError("not_configured", "SAML isn't set up for the domain.");
	const { id, organization_id } = row;
	const provider = { saml_entity_id, saml_acs_url, saml_x509_cert };
	const parties: Parties = { ...hostOf(c.env, id), ...provider };
	return {
		started: { connection: connectionOf(id, "saml"), domain_id: id, organization_id },
		parties,
		isIdpInitiated: row.saml_idp_initiated,
	};
}

export type Connection = Awaited<ReturnType<typeof findConnection>>;
