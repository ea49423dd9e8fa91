import { and, eq, type SQL, sql } from "drizzle-orm";
import { type Database, inList } from "../../db/client.ts";
import { isActivePerson, members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { identities } from "../../db/schema/sign_in.ts";
import { endKeys } from "../../keys/rows.ts";
import { connectionOf, domainOfSql } from "../../people/connections.ts";

/* Enforcing single sign-on for the addresses of a domain (docs/sign-on.md#enforcement). */

/** The id and the name of a domain. */
type Domain = { id: string; domain: string | SQL };

/** WHERE clause: an identity with which the user has signed in as this enforcement asks. */
export const isTested = (user_id: number, { id, domain }: Domain, sso: string) =>
	and(
		eq(identities.user_id, user_id),
		eq(identities.connection, connectionOf(id, sso)),
		sql`${domainOfSql(identities.email)} = ${domain}`,
	);

/** The members who can be named to sign in without the provider, among these UUIDs. */
export const selectBreakGlass = (
	db: Database,
	organization: number | SQL,
	domain: string | SQL,
	uuids: string[],
) =>
	db
		.select({ id: users.id, uuid: users.uuid, is_2fa_enabled: users.is_2fa_enabled })
		.from(users)
		.innerJoin(
			members,
			and(eq(members.user_id, users.id), eq(members.organization_id, organization)),
		)
		.where(
			and(inList(users.uuid, uuids), isActivePerson, sql`${domainOfSql(users.email)} = ${domain}`),
		);

/**
 * Returns the statement that ends the sessions of everyone with an address of the domain who signed
 * in in another way, except those who may (`domains.break_glass`, so it comes after its change).
 */
export const endSessions = (db: Database, { id, domain }: Domain, sso: string) => {
	const theirs = sql`select ${users.id} from ${users} where ${domainOfSql(users.email)} = ${domain}
		and ${users.id} not in (select value from domains, json_each(domains.break_glass) where domains.domain = ${domain})`;
	return endKeys(
		db,
		and(
			sql`${personalApiKeys.session} ->> 'connection' is not ${connectionOf(id, sso)}`,
			sql`${personalApiKeys.session} is not null`,
			sql`${personalApiKeys.user_id} in (${theirs})`,
		),
	);
};
