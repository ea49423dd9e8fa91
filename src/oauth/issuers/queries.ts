import { and, eq, getTableColumns } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes, isUnchanged, settable } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import { trustedIssuers } from "../../db/schema/oauth.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { endKeys } from "../../keys/rows.ts";
import { checkIssuer } from "../../organizations/domains/issuer.ts";
import {
	assertMayGive,
	checkRestrictions,
	restrictions,
} from "../../people/personal_api_keys/access.ts";
import { selectOwner } from "../../people/personal_api_keys/owner.ts";
import { ownerOf } from "../../people/service_accounts/owner.ts";
import { issuerOf } from "../protocol/service.ts";
import { isKeyOf, RULES } from "./rows.ts";
import { create, type update as Update } from "./shape.ts";

function select({ db }: Tenant) {
	const {
		organization_id: _,
		service_account_id: __,
		...columns
	} = getTableColumns(trustedIssuers);
	return db.select(columns).from(trustedIssuers);
}

type Row = Awaited<ReturnType<typeof select>>[number];

/** WHERE clause: the trusted issuers of a service account. */
const isOwned = ({ organization }: Tenant, account: string) =>
	and(
		eq(trustedIssuers.organization_id, organization),
		eq(trustedIssuers.service_account_id, account),
	);

const byId = (tenant: Tenant, account: string, id: string) =>
	and(isOwned(tenant, account), eq(trustedIssuers.id, id.toLowerCase()));

const endKeysOf = (tenant: Tenant, account: string, { id }: Row) =>
	endKeys(tenant.db, isKeyOf(ownerOf(tenant, account).user_id, id));

/** @throws 404 if there is no such service account */
export async function findAccount(tenant: Tenant, account: string) {
	const [[user]] = await tenant.read(selectOwner(tenant, ownerOf(tenant, account)));
	return orNotFound(user?.id);
}

/** Newest first. Throws 404 if there is no such service account. */
export function list(tenant: Tenant, account: string, page: Page) {
	const where = isOwned(tenant, account);
	return readPage(tenant, page, {
		parent: selectOwner(tenant, ownerOf(tenant, account)),
		select: () => select(tenant).$dynamic(),
		where,
		by: [trustedIssuers.id],
		keys: ({ id }) => [id],
		total: countWhere(trustedIssuers, where),
	});
}

export const find = (tenant: Tenant, account: string, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, account, id)));

/**
 * Checks the access that a trusted issuer would give, with the rules of keys. Each token is exchanged
 * for a new key, so a key that expires can't give that.
 * @throws 403 unless the key in use has all the access; 400 for a wrong issuer or project
 */
async function check(
	tenant: Tenant,
	body: z.infer<typeof Update>,
	{ visible, ...access }: Pick<Row, "scopes" | "scoped_projects"> & { visible: { id: number }[] },
) {
	const { organization_uuid } = tenant.caller;
	await assertMayGive(tenant, {
		...access,
		scoped_organizations: organization_uuid ? [organization_uuid] : [],
		allowed_ips: [],
		expires_at: null,
	});
	checkRestrictions("scoped_projects", body.scoped_projects, visible);
	await checkIssuer(tenant.env, body.issuer, "issuer");
}

export async function insert(tenant: Tenant, account: string, body: z.infer<typeof create>) {
	const owner = ownerOf(tenant, account);
	const [[user], , visible] = await tenant.read(
		selectOwner(tenant, owner),
		...restrictions(tenant, owner, body),
	);
	orNotFound(user?.id);
	const { name, scopes, scoped_projects = [] } = body;
	await check(tenant, body, { scopes, scoped_projects, visible });
	const { db, organization } = tenant;
	const id = v7();
	const columns = { id, organization_id: organization, service_account_id: account };
	const { audience = issuerOf(tenant) } = body;
	return tenant.write({
		checks: [assertRoom(tenant, trustedIssuers, eq(trustedIssuers.organization_id, organization))],
		changes: [db.insert(trustedIssuers).values({ ...columns, ...body, audience })],
		entries: [
			{
				activity: "created",
				scope: "TrustedIssuer",
				item_id: id,
				name,
				values: { ...body, audience },
			},
		],
		answer: select(tenant).where(byId(tenant, account, id)),
	});
}

/** Changes a trusted issuer. Other rules end the keys that were given under the old ones. */
export const update = (
	tenant: Tenant,
	{ account, id }: { account: string; id: string },
	body: z.infer<typeof Update>,
) =>
	retry(async () => {
		const { db } = tenant;
		const [[before], , visible] = await tenant.read(
			select(tenant).where(byId(tenant, account, id)),
			...restrictions(tenant, ownerOf(tenant, account), body),
		);
		const row = orNotFound(before);
		const { name = row.name, ...rules } = body;
		const hasOtherRules = changes(row, rules).length > 0;
		const { scopes = row.scopes, scoped_projects = row.scoped_projects } = body;
		if (hasOtherRules) await check(tenant, body, { scopes, scoped_projects, visible });
		const isThis = byId(tenant, account, row.id);
		return tenant.patch(row, body, { scope: "TrustedIssuer", name }, () => ({
			checks: [
				assertExists(db, trustedIssuers, and(isThis, isUnchanged(trustedIssuers, row, [...RULES]))),
			],
			changes: [
				db.update(trustedIssuers).set(body).where(isThis),
				...(hasOtherRules ? [endKeysOf(tenant, account, row)] : []),
			],
			answer: select(tenant).where(isThis),
		}));
	});

/** Deletes a trusted issuer, and ends the keys that its tokens were exchanged for. */
export async function remove(tenant: Tenant, account: string, id: string) {
	const { db } = tenant;
	const row = await find(tenant, account, id);
	const isThis = byId(tenant, account, row.id);
	await tenant.write({
		checks: [assertExists(db, trustedIssuers, isThis)],
		changes: [endKeysOf(tenant, account, row), db.delete(trustedIssuers).where(isThis)],
		entries: [
			{
				activity: "deleted",
				scope: "TrustedIssuer",
				item_id: row.id,
				name: row.name,
				values: settable(create, row),
			},
		],
	});
}
