import { type SQL, sql } from "drizzle-orm";
import { domains } from "../db/schema/domains.ts";
import { HOUR_MS, MINUTE_MS } from "../http/durations.ts";

/** How long a sign-in link is valid. */
export const LIFETIME_MS = 15 * MINUTE_MS;

/** How long a sign-in link counts against the limit of mails. */
export const MAIL_WINDOW_MS = HOUR_MS;

/**
 * SQL for the single sign-on that users with this email address must use, if its domain is verified
 * and enforces one; else null (docs/organizations.md#domains).
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

/** Returns the name of the provider in `sso_enforcement`. */
export const providerOf = (sso: string) => PROVIDERS[sso] ?? sso;
