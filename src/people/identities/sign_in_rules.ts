import { type Column, type SQL, sql } from "drizzle-orm";
import { domains, organizations } from "../../db/schema/organizations.ts";
import { members, users } from "../../db/schema/people.ts";
import { domainOfSql } from "../connections.ts";

/** SQL for the connection that a domain enforces, as in `identities`. */
const enforced = sql`iif(${domains.sso_enforcement} in ('saml', 'oidc'),
	${domains.sso_enforcement} || ':' || ${domains.id}, ${domains.sso_enforcement})`;

/** SQL condition: an organization of the user requires a second factor. */
export const isEnforced = (user_id: SQL | number | typeof users.id) => sql`exists (
	select 1 from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
	where ${members.user_id} = ${user_id} and ${organizations.enforce_2fa})`;

type Connection = SQL | Column | string | null;

/**
 * SQL condition on `domains`: the domain of an address, if it enforces another way to sign in.
 * @param connection the connection that was used, as in `identities`; null for a mail
 */
const enforcesAnother = (email: SQL, connection: Connection) => sql`(
	${domains.domain} = ${domainOfSql(email)}
		and ${domains.verified_at} is not null and ${domains.sso_enforcement} <> ''
		and ${enforced} is not ${connection})`;

/**
 * SQL condition on `domains`: the user with this address has a second factor, and may sign in
 * without the provider (docs/sign-on.md#break-glass).
 */
const breaksGlass = (email: SQL, connection: Connection) => sql`(${connection} is null and exists (
	select 1 from json_each(${domains.break_glass}) as chosen join users as chosen_user on chosen_user.id = chosen.value
	where chosen_user.email = ${email} and chosen_user.is_2fa_enabled))`;

/**
 * SQL for the single sign-on that the domain of an address enforces; null if there is none, if it is
 * what was used, or if the user may sign in without it.
 * @param connection the connection that was used, as in `identities`; null for a mail
 */
export const ssoOf = (email: SQL, connection: Connection = null) => sql<string | null>`(
	select ${domains.sso_enforcement} from ${domains}
	where ${enforcesAnother(email, connection)} and not ${breaksGlass(email, connection)})`;

/** SQL for the id of the domain whose enforcement doesn't apply to this sign-in; null if none. */
export const brokenGlassOf = (email: SQL, connection: Connection) => sql<string | null>`(
	select ${domains.id} from ${domains}
	where ${enforcesAnother(email, connection)} and ${breaksGlass(email, connection)})`;

/** The columns of a link about the provider that signed in. */
type Provider = Record<
	"method" | "connection" | "has_factor",
	SQL | Column | string | boolean | null
>;

/**
 * SQL condition on `users`: signing in requires our second factor. A provider's counts in the
 * organization of its domain only: it must not open other organizations of the user. A passkey whose
 * device has verified the user counts everywhere.
 */
export const needsFactor = ({ method, connection, has_factor }: Provider) => sql`(
	(${users.is_2fa_enabled} or ${isEnforced(users.id)}) and ${method} <> 'passkey' and (not ${has_factor} or exists (
		select 1 from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
		where ${members.user_id} = ${users.id} and (${users.is_2fa_enabled} or ${organizations.enforce_2fa})
			and ${members.organization_id} is not (select ${domains.organization_id} from ${domains}
				where ${domains.id} = substr(${connection}, instr(${connection}, ':') + 1)))))`;

/** SQL condition: signing in with this address takes a second factor or single sign-on. */
export const needsMoreThanMail = (email: SQL) => sql`(${ssoOf(email)} is not null or exists (
	select 1 from ${users} where ${users.email} = ${email} and (${users.is_2fa_enabled} or ${isEnforced(users.id)})))`;
