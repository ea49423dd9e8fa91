import { and, eq, getTableColumns } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { cacheList, readCachedPage, readPage } from "../../access/pages.ts";
import { removeRow } from "../../access/remove.ts";
import { retry } from "../../access/retry.ts";
import { assertRoom } from "../../access/room.ts";
import type { TenantSql } from "../../access/sql.ts";
import type { Tenant } from "../../access/tenant.ts";
import { newToken } from "../../auth/keys.ts";
import { assertExists } from "../../db/assertion.ts";
import { isUnchanged } from "../../db/changes.ts";
import { contains } from "../../db/contains.ts";
import { countWhere } from "../../db/list.ts";
import { now } from "../../db/now.ts";
import { domains } from "../../db/schema/domains.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { lapsedClaim, release } from "./claims.ts";
import { nextRecheck } from "./recheck.ts";
import type { create, Domain, filters, update as Update, Verified } from "./shape.ts";
import { lookUpChallenge } from "./verify.ts";

const {
	organization_id,
	claimed_at,
	recheck_at,
	failed_rechecks,
	missing_since,
	saml_idp_initiated,
	oidc_issuer,
	oidc_client_id,
	oidc_client_secret,
	jit_level,
	break_glass,
	...columns
} = getTableColumns(domains);

const select = ({ db }: TenantSql) => db.select(columns).from(domains);

type Row = Awaited<ReturnType<typeof select>>[number];

type Saml = Record<"saml_entity_id" | "saml_acs_url" | "saml_x509_cert", string | null | undefined>;

const hasSaml = ({ saml_entity_id, saml_acs_url, saml_x509_cert }: Saml) =>
	Boolean(saml_entity_id && saml_acs_url && saml_x509_cert);

const toDomain = (row: Row): z.infer<typeof Domain> => ({
	...row,
	is_verified: row.verified_at !== null,
	has_saml: hasSaml(row),
});

const byId = (tenant: Tenant, id: string) =>
	and(eq(organization_id, tenant.organization), eq(columns.id, id.toLowerCase()));

/** All domains of the organization. */
const all = (tenant: TenantSql) => ({
	where: eq(organization_id, tenant.organization),
	total: countWhere(domains, eq(organization_id, tenant.organization)),
	by: [columns.domain],
	keys: ({ domain }: Row) => [domain],
	order: "asc" as const,
});

const byName = cacheList(
	(tenant) => select(tenant).$dynamic(),
	(tenant) => all(tenant),
);

/** Lists the domains, ordered by name. */
export async function list(tenant: Tenant, page: Page, { search }: z.infer<typeof filters>) {
	if (!search) return mapResults(await readCachedPage(tenant, page, byName), toDomain);
	const where = and(all(tenant).where, contains(columns.domain, search));
	const rows = await readPage(tenant, page, () => select(tenant).$dynamic(), {
		...all(tenant),
		where,
		total: countWhere(domains, where),
	});
	return mapResults(rows, toDomain);
}

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

export const find = async (tenant: Tenant, id: string) => toDomain(await read(tenant, id));

export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(async () => {
		const [[claim]] = await tenant.read(lapsedClaim(tenant, body.domain));
		const id = v7();
		const released = release(tenant, claim);
		const insertion = tenant.db.insert(domains).values({
			...body,
			id,
			organization_id: tenant.organization,
			verification_challenge: newToken(),
		});
		const row = await tenant.write({
			checks: [...released.checks, assertRoom(tenant, domains, all(tenant).where)],
			changes: [...released.changes, insertion],
			entries: [
				{ activity: "created", scope: "Domain", item_id: id, name: body.domain },
				...released.entries,
			],
			answer: select(tenant).where(byId(tenant, id)),
		});
		return toDomain(row);
	});

/** Throws the error of the first rule that `body` breaks (docs/organizations.md#domains). */
function checkUpdate(row: Row, body: z.infer<typeof Update>) {
	const unverified = row.verified_at === null;
	for (const attr of ["jit_provisioning_enabled", "sso_enforcement"] as const)
		if (unverified && body[attr] !== undefined)
			throw invalid(
				attr,
				"This attribute cannot be updated until the domain is verified.",
				"verification_required",
			);
	const after = { ...row, ...body };
	if (after.sso_enforcement === "saml" && !hasSaml(after))
		throw invalid(
			"sso_enforcement",
			"SAML cannot be enforced without its entity id, ACS URL and certificate.",
		);
	if (!unverified && after.domain !== row.domain)
		throw invalid(
			"domain",
			"A verified domain cannot be renamed. Delete it and add the other one.",
		);
}

export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const [[before], [claim]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		lapsedClaim(tenant, body.domain ?? ""),
	);
	const row = orNotFound(before);
	checkUpdate(row, body);
	const renamed = body.domain !== undefined && body.domain !== row.domain;
	const unchanged = and(byId(tenant, id), isUnchanged(domains, row));
	const entry = {
		scope: "Domain" as const,
		name: body.domain ?? row.domain,
		masked: ["saml_x509_cert"],
	};
	const released = release(tenant, claim);
	const set = {
		...body,
		...(renamed && { verification_challenge: newToken(), claimed_at: now() }),
	};
	const after = await tenant.patch(row, body, entry, () => ({
		checks: [assertExists(tenant.db, domains, unchanged), ...released.checks],
		changes: [...released.changes, tenant.db.update(domains).set(set).where(byId(tenant, id))],
		entries: released.entries,
		answer: select(tenant).where(byId(tenant, id)),
	}));
	return toDomain(after);
}

export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	const entry = { scope: "Domain" as const, item_id: row.id, name: row.domain };
	await removeRow(tenant, entry, domains, byId(tenant, id));
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
	const problem = await lookUpChallenge(tenant.env.DOH_URL, domain, verification_challenge);
	if (problem) return { ...toDomain(row), verification_error: problem.error };
	const unchanged = and(byId(tenant, id), isUnchanged(domains, row));
	const after = await tenant.write({
		checks: [assertExists(tenant.db, domains, unchanged)],
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
