import { and, eq, isNotNull, sql } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import { runBatch } from "../../db/client.ts";
import { domains } from "../../db/schema/domains.ts";
import { connect } from "../../db/session.ts";
import type { App } from "../../env.ts";
import { configured as hasMail } from "../../outbound/mail.ts";
import { configured as providers } from "../sso/connections.ts";
import { domainOf } from "../sso/find.ts";
import type { SignInMethods } from "./shape.ts";

/** Returns the path of the page where a sign-in through a provider starts. */
const startOf = (connection: string, email: string | undefined) =>
	`/sso/${connection.replace(":", "/")}/start${email ? `?email=${encodeURIComponent(email)}` : ""}`;

async function settingsOf(c: Context<App>, email: string) {
	const { db } = connect(c);
	const { rows } = await runBatch(db, {
		rows: db
			.select({
				id: domains.id,
				sso_enforcement: domains.sso_enforcement,
				has_oidc:
					sql`(coalesce(${domains.oidc_issuer}, '') <> '' and coalesce(${domains.oidc_client_id}, '') <> '')`
						.mapWith(Boolean)
						.as("has_oidc"),
				has_saml:
					sql`(coalesce(${domains.saml_entity_id}, '') <> '' and coalesce(${domains.saml_acs_url}, '') <> ''
					and coalesce(${domains.saml_x509_cert}, '') <> '')`
						.mapWith(Boolean)
						.as("has_saml"),
			})
			.from(domains)
			.where(and(eq(domains.domain, domainOf(email)), isNotNull(domains.verified_at))),
	});
	return rows[0];
}

/**
 * Returns how people with an address of this domain sign in. This depends on nothing but the
 * settings of the domain and the deployment, so it doesn't reveal whether there is an account.
 */
export async function methodsOf(
	c: Context<App>,
	email: string | undefined,
): Promise<z.infer<typeof SignInMethods>> {
	const domain = email === undefined ? undefined : await settingsOf(c, email);
	const way = (method: string) => {
		const isOwn = method === "oidc" || method === "saml";
		return { method, path: startOf(isOwn ? `${method}:${domain?.id}` : method, email) };
	};
	const enforced = domain?.sso_enforcement ?? "";
	if (enforced) return { is_enforced: true, methods: [way(enforced)] };
	const methods = [
		...(domain?.has_oidc ? [way("oidc")] : []),
		...(domain?.has_saml ? [way("saml")] : []),
		...(hasMail(c.env) ? [{ method: "mail", path: null }] : []),
		...providers(c.env).map(way),
	];
	return { is_enforced: false, methods };
}
