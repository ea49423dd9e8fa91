import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteSelect } from "drizzle-orm/sqlite-core";
import type { Tenant } from "../../access/tenant.ts";
import { type List, paged, type RowOf } from "../../db/list.ts";
import { domains } from "../../db/schema/domains.ts";
import { scimTokens } from "../../db/schema/scim.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { type Envelope, envelope, type Page } from "../../http/page.ts";

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

/** Returns a page of rows of the domain in the path. Throws 404 if it isn't the organization's. */
export async function readPageOf<S extends SQLiteSelect>(
	tenant: Tenant,
	domain_id: string,
	page: Page,
	select: () => S,
	list: List<S>,
): Promise<Envelope<RowOf<S>>> {
	const [rows, [counted], [domain]] = await tenant.read(
		...paged(tenant.db, page, select, list),
		selectDomain(tenant, domain_id),
	);
	orNotFound(domain);
	return envelope<RowOf<S>>(page, rows, counted?.count ?? 0, list.keys);
}
