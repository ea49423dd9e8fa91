import { and, eq, gt, isNull, type SQL, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { idOf } from "../../access/visible.ts";
import { assertThat, type Database } from "../../db/client.ts";
import type { Entry } from "../../db/record.ts";
import { domains } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { identities, signIns } from "../../db/schema/sign_in.ts";
import { now } from "../../lib/time.ts";
import { domainOfSql } from "../connections.ts";

/* Ending links between users and their accounts at providers (docs/sign-on.md#unlinking). */

/**
 * SQL condition on `identities`: the link is to the provider of such a domain or, if the user's
 * address is in the domain and it is verified, to a provider of the deployment.
 * @param isDomain a condition on `domains`
 */
export const isThrough = (isDomain: SQL) => sql`exists (
	select 1 from ${domains} join ${users} on ${users.id} = ${identities.user_id}
	where ${isDomain} and (${identities.connection} in ('saml:' || ${domains.id}, 'oidc:' || ${domains.id})
		or (instr(${identities.connection}, ':') = 0 and ${domains.verified_at} is not null
			and ${domains.domain} = ${domainOfSql(users.email)})))`;

/** SQL condition on `identities`: a link of the user in the path through a domain of the organization. */
export const isHere = (tenant: Tenant, uuid: string) =>
	and(
		eq(identities.user_id, idOf(tenant, uuid)),
		isThrough(eq(domains.organization_id, tenant.organization)),
	);

/** Selects links. `where` is about one user. */
export const selectLinks = (db: Database, where: SQL | undefined) =>
	db
		.select({
			connection: identities.connection,
			email: identities.email,
			created_at: identities.created_at,
		})
		.from(identities)
		.where(where)
		.orderBy(identities.connection);

type Links = Awaited<ReturnType<typeof selectLinks>>;

/**
 * Returns the parts of a write that ends all links of a condition. The trigger
 * `identities_delete` ends their sessions. Sign-ins that somebody has begun with them end, too: another
 * link to the same provider, made in the meantime, must not complete these.
 * @param links what was read with this condition: if it isn't the same any more, `is_current` fails
 */
export function unlinking(db: Database, where: SQL | undefined, links: Links) {
	const read = JSON.stringify(links.map(({ connection, created_at }) => [connection, created_at]));
	const current = sql`(select json_group_array(json_array(connection, created_at) order by connection)
		from ${identities} where ${where})`;
	const ofLinks = sql`(${signIns.user_id}, ${signIns.connection}) in (
		select ${identities.user_id}, ${identities.connection} from ${identities} where ${where})`;
	return {
		checks: [assertThat(db, sql`${current} is ${read}`, "is_current")],
		changes:
			links.length === 0
				? []
				: [
						db
							.update(signIns)
							.set({ expires_at: now() })
							.where(and(isNull(signIns.key_id), gt(signIns.expires_at, now()), ofLinks)),
						db.delete(identities).where(where),
					],
		entries: links.map(
			({ connection, email }): Entry => ({
				scope: "Identity",
				activity: "deleted",
				item_id: connection,
				name: email,
				values: { connection, email },
			}),
		),
	};
}

/** WHERE clause: the link of a user to a connection. */
export const isLink = (user_id: number | SQL<number>, connection: string) =>
	and(eq(identities.user_id, user_id), eq(identities.connection, connection));
