import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { isUnchanged, settable } from "../../db/changes.ts";
import { assertExists } from "../../db/client.ts";
import { countWhere } from "../../db/list.ts";
import { oauthClients, oauthCodes } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { entryOf } from "../consents/consents.ts";
import { create, type update as Update } from "./shape.ts";

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
	readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
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
		entries: [
			{ activity: "created", scope: "OauthClient", item_id: id, name: body.name, values: body },
		],
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

/** How many events are written when an app is deleted. Its other consents end without one. */
const MAX_EVENTS = 1_000;

/**
 * Selects the consents that end with the app, with the organizations that get an event about each:
 * not those that the person has left.
 */
function selectEnding({ db }: Tenant, app: string) {
	const { id, user_id, label, client_id, scopes, scoped_organizations } = personalApiKeys;
	const organizations =
		sql`iif(${scoped_organizations} = '[]', json_array(${currentOrganization(user_id)}),
			(select json_group_array(o.id) from json_each(${scoped_organizations}) join organizations as o on o.uuid = value
				join members as m on m.organization_id = o.id and m.user_id = personal_api_keys.user_id))`
			.mapWith((json): number[] => JSON.parse(json))
			.as("organizations");
	return db
		.select({ id, user_id, label, client_id, scopes, organizations })
		.from(personalApiKeys)
		.where(eq(client_id, app))
		.orderBy(id)
		.limit(MAX_EVENTS);
}

/** Deletes an app. The trigger `oauth_clients_delete` deletes its consents and codes. */
export async function remove(tenant: Tenant, id: string) {
	const { db } = tenant;
	const [[before], consents] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		selectEnding(tenant, id.toLowerCase()),
	);
	const row = orNotFound(before);
	const trigger = { job: "app_deleted" };
	const ended = consents.flatMap(({ organizations, ...consent }) =>
		organizations.map((organization) => ({
			...entryOf("revoked", consent, { organization, trigger }),
			// The request isn't the person's, but that of an admin of the app's organization.
			origin: null,
		})),
	);
	await tenant.write({
		checks: [assertExists(db, oauthClients, byId(tenant, row.id))],
		changes: [db.delete(oauthClients).where(byId(tenant, row.id))],
		entries: [
			{
				activity: "deleted",
				scope: "OauthClient",
				item_id: row.id,
				name: row.name,
				values: settable(create, row),
			},
			...ended.slice(0, MAX_EVENTS),
		],
	});
}
