import { and, eq, isNull, lte, ne, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { assertExists } from "../../db/client.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { domains } from "../../db/schema/organizations.ts";
import { isAdminLevel, members } from "../../db/schema/people.ts";
import { DAY_MS, iso } from "../../lib/time.ts";

/** When others may take over an unverified domain (docs/organizations.md#domains). */
const CLAIM_MS = 3 * DAY_MS;

/** WHERE clause: another organization's lapsed claim on the name. */
function hasLapsed(tenant: Tenant, name: string) {
	const cutoff = iso(Date.now() - CLAIM_MS);
	return and(
		eq(domains.domain, name),
		ne(domains.organization_id, tenant.organization),
		isNull(domains.verified_at),
		lte(domains.claimed_at, cutoff),
	);
}

type Claim = Pick<typeof domains.$inferSelect, "id" | "domain" | "organization_id">;

/** The query for another organization's lapsed claim on the name. */
export const lapsedClaim = (tenant: Tenant, name: string) =>
	tenant.db
		.select({
			id: domains.id,
			domain: domains.domain,
			organization_id: domains.organization_id,
		})
		.from(domains)
		.where(hasLapsed(tenant, name));

/**
 * Returns the parts of a write that delete a lapsed claim, and log this for the organization that
 * loses it. The entry names an owner of that organization, because its members must not learn who
 * else wants the domain.
 * @param claim undefined if there is nothing to delete
 */
export function release(tenant: Tenant, claim: Claim | undefined) {
	if (!claim) return { checks: [], changes: [], entries: [] };
	const { id, domain, organization_id } = claim;
	const owner = sql<number>`(select ${members.user_id} from ${members}
    where ${members.organization_id} = ${organization_id} and ${isAdminLevel} and ${members.level} = ${OWNER} order by ${members.id} limit 1)`;
	const lapsed = and(eq(domains.id, id), hasLapsed(tenant, domain));
	const entry = {
		activity: "deleted" as const,
		scope: "Domain" as const,
		item_id: id,
		name: domain,
		trigger: {
			reason: "claim_lapsed",
			detail:
				"The domain was not verified within three days, and another organization has added it.",
		},
		user_id: owner,
		organization: organization_id,
		project: null,
	};
	return {
		checks: [assertExists(tenant.db, domains, lapsed)],
		changes: [tenant.db.delete(domains).where(lapsed)],
		entries: [entry],
	};
}
