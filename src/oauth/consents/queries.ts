import { and, eq, gt } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { selectCaller } from "../../access/visible.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { endKey } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import { entriesOf, type Grant, isGrant, select } from "./grants.ts";
import type { OauthGrant } from "./shape.ts";

/** SQL condition: the grant has a refresh token that works. */
export const isCurrent = () => gt(oauthRefreshTokens.expires_at, now());

/** How a list of grants is sorted: newest first. */
export const ORDER = { by: [personalApiKeys.id], keys: ({ id }: Grant) => [id] };

/** WHERE clause on `personal_api_keys`: the caller's grants. */
const isOwn = ({ key }: Tenant) => isGrant(eq(personalApiKeys.user_id, key.user_id));

/** Returns the fields of a grant for everyone who can end it. */
export const toCommon = (grant: Grant) => ({
	id: grant.id,
	client_id: grant.client_id ?? "",
	client_name: grant.label,
	client_host: URL.parse(grant.client_id ?? "")?.host || null,
	audience: grant.audience ?? "",
	scopes: grant.scopes,
	created_at: grant.created_at,
	last_used_at: grant.last_used_at,
	ends_at: grant.ends_at,
});

const toGrant = (grant: Grant): z.infer<typeof OauthGrant> => ({
	...toCommon(grant),
	scoped_organizations: grant.scoped_organizations,
	scoped_projects: grant.scoped_projects,
});

/** Newest first. Throws 404 if the user isn't the caller. */
export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectCaller(tenant, uuid),
		...ORDER,
		select: () => select(tenant.db).$dynamic(),
		where: and(isOwn(tenant), isCurrent()),
		to: toGrant,
	});

/** Ends the access of an app of the caller. */
export const remove = (tenant: Tenant, uuid: string, id: string) =>
	retry(async () => {
		const { db } = tenant;
		const isThis = and(isOwn(tenant), eq(personalApiKeys.id, id.toLowerCase()));
		const [[row], [caller]] = await tenant.read(
			select(db).where(isThis),
			selectCaller(tenant, uuid),
		);
		orNotFound(caller);
		const grant = orNotFound(row);
		await tenant.write(endKey(db, isThis, entriesOf("revoked", grant, { job: "person" })));
	});
