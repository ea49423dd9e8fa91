import { type SQL, sql } from "drizzle-orm";
import { domains } from "../db/schema/domains.ts";

/** How long a link works. */
export const LIFETIME_MS = 15 * 60_000;

/** For how long a link counts against the limit of mails. */
export const HOUR_MS = 3_600_000;

/**
 * SQL for how people with the address have to sign in, if its domain is verified and enforces
 * something; else null (docs/organizations.md#domains).
 */
export const ssoOf = (email: SQL) => sql<string | null>`(
	select ${domains.sso_enforcement} from ${domains}
	where ${domains.domain} = substr(${email}, instr(${email}, '@') + 1)
		and ${domains.verified_at} is not null and ${domains.sso_enforcement} <> '')`;

const PROVIDERS: Record<string, string> = {
	saml: "SAML",
	"google-oauth2": "Google",
	github: "GitHub",
	gitlab: "GitLab",
};

/** The name of what `sso_enforcement` stands for. */
export const providerOf = (sso: string) => PROVIDERS[sso] ?? sso;
