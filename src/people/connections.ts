import { type Column, type SQL, sql } from "drizzle-orm";

/** The ways to sign in through a provider: the domain's own, and those of the deployment. */
export const METHODS = ["saml", "oidc", "google-oauth2", "github", "gitlab"] as const;

/** The name of a connection, as in `identities.connection`: one of the domain's or the operator's. */
export const connectionOf = (domain_id: string, sso: string) =>
	sso === "saml" || sso === "oidc" ? `${sso}:${domain_id}` : sso;

/** The path below which a connection starts and ends. */
export const pathOf = (connection: string) => `/sso/${connection.replace(":", "/")}`;

/** The part of an address after the `@`. */
export const domainOf = (email: string) => email.slice(email.lastIndexOf("@") + 1);

/** SQL for the part of an address after the `@`. */
export const domainOfSql = (email: Column | SQL) =>
	sql<string>`substr(${email}, instr(${email}, '@') + 1)`;

const LABELS: Record<string, string> = {
	saml: "SAML",
	oidc: "OpenID Connect",
	"google-oauth2": "Google",
	github: "GitHub",
	gitlab: "GitLab",
};

/** Returns `oidc` for the connection `oidc:<domain id>`. */
export const methodOf = (connection: string) => connection.split(":")[0] ?? connection;

/** Returns the name of the provider in `sso_enforcement`, or of a connection. */
export const providerOf = (sso: string) => LABELS[methodOf(sso)] ?? sso;
