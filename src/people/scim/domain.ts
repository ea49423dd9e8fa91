import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Tenant } from "../../access/tenant.ts";
import { domains } from "../../db/schema/organizations.ts";
import { scimTokens } from "../../db/schema/scim.ts";
import { invalid } from "../../http/errors.ts";

/** The beginning of a token, which tells it from an API key (docs/sign-on.md#tokens). */
export const TOKEN_PREFIX = "tnt_scim_";

/** Selects the domain in the path, if it is the organization's. */
export const selectDomain = ({ db, organization }: Tenant, domain_id: string) =>
	db
		.select({ id: domains.id, domain: domains.domain, verified_at: domains.verified_at })
		.from(domains)
		.where(and(eq(domains.organization_id, organization), eq(domains.id, domain_id.toLowerCase())));

type Domain = Awaited<ReturnType<typeof selectDomain>>[number];

/** @throws 400 if the domain isn't verified */
export function verified(domain: Domain) {
	if (domain.verified_at === null)
		throw invalid(null, "SCIM needs a verified domain.", "verification_required");
	return domain;
}

/** WHERE clause: a token of the organization's domain in the path. */
export const ofDomain = ({ organization }: Tenant, domain_id: string) =>
	and(
		eq(scimTokens.organization_id, organization),
		eq(scimTokens.domain_id, domain_id.toLowerCase()),
	);

/** WHERE clause: the row is of the domain in the path, and the domain is the organization's. */
export const inDomain = ({ organization }: Tenant, domain_id: string, column: SQLiteColumn) =>
	and(
		eq(column, domain_id.toLowerCase()),
		sql`exists (select 1 from ${domains}
			where ${domains.organization_id} = ${organization} and ${domains.id} = ${domain_id.toLowerCase()})`,
	);
