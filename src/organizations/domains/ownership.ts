import { and, eq, isNull, lte, ne, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { assertExists } from "../../db/client.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { domains } from "../../db/schema/organizations.ts";
import { isAdminLevel, members } from "../../db/schema/people.ts";
import { DAY_MS, iso } from "../../lib/time.ts";
import { resolve } from "../../outbound/resolve.ts";
import { takeRoles } from "../../people/scim/people.ts";

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
		values: { domain },
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
		changes: [
			...takeRoles({ db: tenant.db, organization: sql`${organization_id}`, domain_id: id }),
			tenant.db.delete(domains).where(lapsed),
		],
		entries: [entry],
	};
}

/** Whether a record is the challenge, with or without white space and quotes around it. */
const isChallenge = (text: string, challenge: string) =>
	text.includes(challenge) && !/[^\s"'\u201c\u201d]/.test(text.replace(challenge, ""));

/**
 * Looks up the challenge in the TXT records of `_tenantry-challenge.<domain>`.
 * @returns null if it was found; otherwise a sentence for the domain's owner, and whether the DNS
 * answered (`isAnswer`) or the resolver failed
 */
export async function lookUpChallenge(
	env: Env,
	domain: string,
	challenge: string,
): Promise<{ error: string; isAnswer: boolean } | null> {
	const name = `_tenantry-challenge.${domain}`;
	const records = await resolve(env, name, "TXT");
	if ("error" in records) return { error: records.error, isAnswer: false };
	const texts = records.flatMap((record) =>
		record.type === "TXT" ? [[record.data].flat().join("")] : [],
	);
	if (texts.some((text) => isChallenge(text, challenge))) return null;
	const missing = (error: string) => ({ error, isAnswer: true });
	if (texts.length === 0) return missing(`There is no TXT record at ${name}.`);
	const seen = texts.slice(0, 5).map((text) => JSON.stringify(text.slice(0, 100)));
	return missing(`No TXT record at ${name} is the challenge. Found: ${seen.join(", ")}.`);
}
