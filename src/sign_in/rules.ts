import { type SQL, sql } from "drizzle-orm";
import { domains } from "../db/schema/domains.ts";
import { HOUR_MS, MINUTE_MS } from "../http/durations.ts";

/** How long a link works. */
export const LIFETIME_MS = 15 * MINUTE_MS;

/** How long a link counts against the limit of mails. */
export const MAIL_WINDOW_MS = HOUR_MS;

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
