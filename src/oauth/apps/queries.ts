import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { isUnchanged } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import { oauthClients, oauthCodes } from "../../db/schema/oauth.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { entriesOf, selectEnding } from "./ending.ts";
import type { create, update as Update } from "./shape.ts";

const { id, name, redirect_uris, created_at } = oauthClients;

const select = ({ db }: Tenant) =>
	db.select({ id, name, redirect_uris, created_at }).from(oauthClients);

/** WHERE clause: the organization's apps. */
const isOwned = (tenant: Tenant) => eq(oauthClients.organization_id, tenant.organization);

/** WHERE clause: the organization's app with this id. */
const byId = (tenant: Tenant, id: string) =>
	and(isOwned(tenant), eq(oauthClients.id, id.toLowerCase()));

/** Newest first. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, () => select(tenant).$dynamic(), {
		where: isOwned(tenant),
		by: [oauthClients.id],
		keys: ({ id }) => [id],
		total: countWhere(oauthClients, isOwned(tenant)),
	});

export const find = (tenant: Tenant, id: string) =>
	tenant.find(select(tenant).where(byId(tenant, id)));

export async function insert(tenant: Tenant, body: z.infer<typeof create>) {
	await tenant.read();
	const id = v7();
	return tenant.write({
		checks: [assertRoom(tenant, oauthClients, isOwned(tenant))],
		changes: [
			tenant.db.insert(oauthClients).values({ ...body, id, organization_id: tenant.organization }),
		],
		entries: [{ activity: "created", scope: "OauthClient", item_id: id, name: body.name }],
		answer: select(tenant).where(byId(tenant, id)),
	});
}

/**
 * Changes an app. If a redirect URI is removed, codes that haven't been used stop working, because
 * one of them may have been sent there.
 */
export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(async () => {
		const { db } = tenant;
		const row = await find(tenant, id);
		const kept = body.redirect_uris ?? row.redirect_uris;
		const isNarrowed = !row.redirect_uris.every((uri) => kept.includes(uri));
		const isUnused = sql`${oauthCodes.key_id} is null and ${oauthCodes.approval} ->> 'client_id' = ${row.id}`;
		const isThis = byId(tenant, row.id);
		const isCurrent = and(isThis, isUnchanged(oauthClients, row, ["redirect_uris"]));
		const entry = { scope: "OauthClient" as const, name: body.name ?? row.name };
		return tenant.patch(row, body, entry, () => ({
			checks: [assertExists(db, oauthClients, isCurrent)],
			changes: [
				db.update(oauthClients).set(body).where(isThis),
				...(isNarrowed ? [db.delete(oauthCodes).where(isUnused)] : []),
			],
			answer: select(tenant).where(isThis),
		}));
	});

/** Deletes an app. The trigger `oauth_clients_delete` deletes its grants and codes. */
export async function remove(tenant: Tenant, id: string) {
	const { db } = tenant;
	const [[before], grants] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		selectEnding(db, id.toLowerCase()),
	);
	const row = orNotFound(before);
	await tenant.write({
		checks: [assertExists(db, oauthClients, byId(tenant, row.id))],
		changes: [db.delete(oauthClients).where(byId(tenant, row.id))],
		entries: [
			{ activity: "deleted", scope: "OauthClient", item_id: row.id, name: row.name },
			...entriesOf(grants),
		],
	});
}
