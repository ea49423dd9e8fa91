import { and, eq, isNotNull } from "drizzle-orm";
import type { Context } from "hono";
import { connect } from "../../db/bookmark.ts";
import { domains } from "../../db/schema/organizations.ts";
import type { App } from "../../env.ts";
import { unseal } from "../../organizations/domains/connections.ts";
import { connectionOf } from "../../people/connections.ts";
import { SignInError } from "../provider/problems.ts";
import type { Started } from "../provider/shape.ts";

/** A provider that speaks OpenID Connect, or GitHub. */
export type Connection = Omit<Started, "is_own" | "test"> & {
	issuer: string;
	client_id: string;
	client_secret: string;
};

/** The operator's providers, by their names in `sso_enforcement` (docs/sign-on.md). */
const PROVIDERS = {
	"google-oauth2": (env: Env) => ({
		issuer: env.SSO_GOOGLE_ISSUER,
		client_id: env.SSO_GOOGLE_CLIENT_ID,
		client_secret: env.SSO_GOOGLE_CLIENT_SECRET ?? "",
	}),
	github: (env: Env) => ({
		issuer: `${env.SSO_GITHUB_URL}/login/oauth`,
		client_id: env.SSO_GITHUB_CLIENT_ID,
		client_secret: env.SSO_GITHUB_CLIENT_SECRET ?? "",
	}),
	gitlab: (env: Env) => ({
		issuer: env.SSO_GITLAB_URL,
		client_id: env.SSO_GITLAB_CLIENT_ID,
		client_secret: env.SSO_GITLAB_CLIENT_SECRET ?? "",
	}),
};

type Provider = keyof typeof PROVIDERS;

const isProvider = (name: string): name is Provider => Object.hasOwn(PROVIDERS, name);

/** Returns the names of the operator's providers that are set up. */
export const configured = (env: Env) =>
	Object.entries(PROVIDERS).flatMap(([name, settingsOf]) => {
		const { client_id, client_secret } = settingsOf(env);
		return client_id && client_secret ? [name] : [];
	});

const notConfigured = () => new SignInError("not_configured", "The provider isn't set up.");

/** Returns one of the operator's providers. Throws SignInError if it isn't set up. */
export function providerOf(env: Env, name: string): Connection {
	if (!isProvider(name) || !configured(env).includes(name)) throw notConfigured();
	return { connection: name, domain_id: null, organization_id: null, ...PROVIDERS[name](env) };
}

/** Returns the OpenID Connect provider of a verified domain. Throws SignInError if it has none. */
export async function ofDomain(c: Context<App>, domain_id: string): Promise<Connection> {
	const { db } = connect(c, "first-primary");
	const [[row]] = await db.batch([
		db
			.select({
				organization_id: domains.organization_id,
				issuer: domains.oidc_issuer,
				client_id: domains.oidc_client_id,
				sealed: domains.oidc_client_secret,
			})
			.from(domains)
			.where(and(eq(domains.id, domain_id), isNotNull(domains.verified_at))),
	]);
	const { organization_id, issuer, client_id, sealed } = row ?? {};
	if (!organization_id || !issuer || !client_id || !sealed) throw notConfigured();
	const connection = connectionOf(domain_id, "oidc");
	const client_secret = await unseal(c.env, domain_id, sealed).catch(() => {
		throw new SignInError(
			"not_configured",
			"The client secret can't be decrypted. Enter it again.",
		);
	});
	return { connection, domain_id, organization_id, issuer, client_id, client_secret };
}
