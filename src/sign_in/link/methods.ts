import { and, eq, getTableColumns, isNotNull } from "drizzle-orm";
import type { Context } from "hono";
import type * as z from "zod";
import { connect } from "../../db/bookmark.ts";
import { domains } from "../../db/schema/organizations.ts";
import type { App } from "../../env.ts";
import { hasOidc, hasSaml } from "../../organizations/domains/connections.ts";
import { configured as hasMail } from "../../outbound/mail.ts";
import { connectionOf, domainOf, pathOf } from "../../people/connections.ts";
import { configured as providers } from "../oidc/connections.ts";
import type { SignInMethods } from "./shape.ts";

async function settingsOf(c: Context<App>, email: string) {
	const { db } = connect(c);
	const [[row]] = await db.batch([
		db
			.select(getTableColumns(domains))
			.from(domains)
			.where(and(eq(domains.domain, domainOf(email)), isNotNull(domains.verified_at))),
	]);
	return row;
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
	const query = email ? `?email=${encodeURIComponent(email)}` : "";
	const way = (method: string) => ({
		method,
		path: `${pathOf(connectionOf(domain?.id ?? "", method))}/start${query}`,
	});
	const mail = hasMail(c.env) ? [{ method: "mail", path: null }] : [];
	if (domain?.sso_enforcement) {
		const { sso_enforcement, break_glass } = domain;
		const methods = [way(sso_enforcement), ...(break_glass.length > 0 ? mail : [])];
		return { is_enforced: true, methods };
	}
	const methods = [
		...(domain && hasOidc(domain) ? [way("oidc")] : []),
		...(domain && hasSaml(domain) ? [way("saml")] : []),
		...mail,
		...providers(c.env).map(way),
	];
	return { is_enforced: false, methods };
}
