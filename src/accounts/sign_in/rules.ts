import { and, gt, isNull, lt, type SQL, sql } from "drizzle-orm";
import { now } from "../../db/now.ts";
import { domains } from "../../db/schema/domains.ts";
import { signIns } from "../../db/schema/sign_in.ts";
import { users } from "../../db/schema/users.ts";
import { HOUR_MS, MINUTE_MS } from "../../lib/durations.ts";
import { isEnforced } from "../two_factor/enforced.ts";

/** How long a sign-in link is valid. */
export const LIFETIME_MS = 15 * MINUTE_MS;

/** How long a sign-in link counts against the limit of mails. */
export const MAIL_WINDOW_MS = HOUR_MS;

/** The number of codes that can be tried with a link. */
export const MAX_ATTEMPTS = 5;

/** SQL condition on `sign_ins`: the link hasn't expired or been used. */
export const isOpen = () => and(isNull(signIns.key_id), gt(signIns.expires_at, now()));

/** SQL condition on `sign_ins`: the link is open, and a code can be tried with it. */
export const canStillBeUsed = () => and(isOpen(), lt(signIns.attempts, MAX_ATTEMPTS));

/** SQL for the single sign-on that the domain of an address enforces; null if there is none. */
export const ssoOf = (email: SQL) => sql<string | null>`(
	select ${domains.sso_enforcement} from ${domains}
	where ${domains.domain} = substr(${email}, instr(${email}, '@') + 1)
		and ${domains.verified_at} is not null and ${domains.sso_enforcement} <> '')`;

/** SQL condition: signing in with this address takes a second factor or single sign-on. */
export const needsMoreThanMail = (email: SQL) => sql`(${ssoOf(email)} is not null or exists (
	select 1 from ${users} where ${users.email} = ${email} and (${users.is_2fa_enabled} or ${isEnforced(users.id)})))`;

const PROVIDERS: Record<string, string> = {
	saml: "SAML",
	"google-oauth2": "Google",
	github: "GitHub",
	gitlab: "GitLab",
};

/** Returns the name of the provider in `sso_enforcement`. */
export const providerOf = (sso: string) => PROVIDERS[sso] ?? sso;
