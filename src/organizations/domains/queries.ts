import { and, eq } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { assertRoom } from "../../access/objects.ts";
import { cacheList, readCachedPage, readPage } from "../../access/pages.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { settable } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { contains } from "../../db/contains.ts";
import { countWhere } from "../../db/list.ts";
import { domains } from "../../db/schema/organizations.ts";
import { invalid } from "../../http/errors.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { newToken } from "../../keys/keys.ts";
import { now } from "../../lib/time.ts";
import { takeRoles } from "../../people/scim/people.ts";
import { seal, secretIn } from "./connections.ts";
import { checkIssuer } from "./issuer.ts";
import { lapsedClaim, lookUpChallenge, release } from "./ownership.ts";
import { nextRecheck } from "./recheck.ts";
import { byId, isCurrent, type Row, select, toDomain } from "./rows.ts";
import { withSaml } from "./settings.ts";
import { create, type filters, type Verified } from "./shape.ts";

const ofOrganization = (tenant: QueryScope) => eq(domains.organization_id, tenant.organization);

/** All domains of the organization that the caller may view. */
function all(tenant: QueryScope) {
	const where = and(ofOrganization(tenant), viewable(tenant, "domain", domains.id));
	return {
		select: () => select(tenant).$dynamic(),
		where,
		total: countWhere(domains, where),
		by: [domains.domain],
		keys: ({ domain }: Row) => [domain],
		order: "asc" as const,
	};
}

const byName = cacheList(all);

/** Lists the domains, ordered by name. */
export async function list(tenant: Tenant, page: Page, { search }: z.infer<typeof filters>) {
	if (!search) return mapResults(await readCachedPage(tenant, page, byName), toDomain);
	const where = and(all(tenant).where, contains(domains.domain, search));
	return readPage(tenant, page, {
		...all(tenant),
		where,
		total: countWhere(domains, where),
		to: toDomain,
	});
}

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

export const find = async (tenant: Tenant, id: string) => toDomain(await read(tenant, id));

export const insert = (tenant: Tenant, input: z.infer<typeof create>) =>
	retry(async () => {
		const [[claim]] = await tenant.read(lapsedClaim(tenant, input.domain));
		const body = await withSaml(tenant.env, input);
		await checkIssuer(tenant.env, body.oidc_issuer);
		const id = v7();
		const released = release(tenant, claim);
		const insertion = tenant.db.insert(domains).values({
			...body,
			id,
			organization_id: tenant.organization,
			verification_challenge: newToken(),
			oidc_client_secret: await seal(tenant.env, id, secretIn(body)),
		});
		const row = await tenant.write({
			checks: [...released.checks, assertRoom(tenant, domains, ofOrganization(tenant))],
			changes: [...released.changes, insertion],
			entries: [
				{ activity: "created", scope: "Domain", item_id: id, name: body.domain, values: body },
				...released.entries,
			],
			answer: select(tenant).where(byId(tenant, id)),
		});
		return toDomain(row);
	});

export async function remove(tenant: Tenant, id: string) {
	const { db, organization } = tenant;
	const row = await read(tenant, id);
	const values = settable(create, row);
	const entry = { scope: "Domain" as const, item_id: row.id, name: row.domain, values };
	await tenant.write({
		checks: [assertExists(db, domains, byId(tenant, id))],
		changes: [
			...takeRoles({ db, organization, domain_id: row.id }),
			db.delete(domains).where(byId(tenant, id)),
		],
		entries: [{ activity: "deleted", ...entry }],
	});
}

/**
 * Looks up the challenge in the DNS. `verification_error` says what was found instead.
 * @throws 400 if the domain is already verified
 */
export const verify = (tenant: Tenant, id: string) => retry(() => tryVerify(tenant, id));

async function tryVerify(tenant: Tenant, id: string): Promise<z.infer<typeof Verified>> {
	const row = await read(tenant, id);
	const { domain, verification_challenge } = row;
	if (row.verified_at !== null)
		throw invalid(null, "This domain has already been verified.", "already_verified");
	const problem = await lookUpChallenge(tenant.env, domain, verification_challenge);
	if (problem) return { ...toDomain(row), verification_error: problem.error };
	const after = await tenant.write({
		checks: [assertExists(tenant.db, domains, and(byId(tenant, id), isCurrent(row)))],
		changes: [
			tenant.db
				.update(domains)
				.set({ verified_at: now(), recheck_at: nextRecheck(Date.now()) })
				.where(byId(tenant, id)),
		],
		entries: [{ activity: "verified", scope: "Domain", item_id: row.id, name: domain }],
		answer: select(tenant).where(byId(tenant, id)),
	});
	return { ...toDomain(after), verification_error: null };
}
