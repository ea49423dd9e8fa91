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
import { type Consent, entriesOf, isConsent, select } from "./consents.ts";
import type { OauthGrant } from "./shape.ts";

/** SQL condition: the consent has a refresh token that works. */
export const isCurrent = () => gt(oauthRefreshTokens.expires_at, now());

/** How a list of consents is sorted: newest first. */
export const ORDER = { by: [personalApiKeys.id], keys: ({ id }: Consent) => [id] };

/** WHERE clause on `personal_api_keys`: the caller's consents. */
const isOwn = ({ key }: Tenant) => isConsent(eq(personalApiKeys.user_id, key.user_id));

/** Returns the fields of a consent for everyone who can end it. */
export const toCommon = (consent: Consent) => ({
	id: consent.id,
	client_id: consent.client_id ?? "",
	client_name: consent.label,
	client_host: URL.parse(consent.client_id ?? "")?.host || null,
	audience: consent.audience ?? "",
	scopes: consent.scopes,
	created_at: consent.created_at,
	last_used_at: consent.last_used_at,
	ends_at: consent.ends_at,
});

const toConsent = (consent: Consent): z.infer<typeof OauthGrant> => ({
	...toCommon(consent),
	scoped_organizations: consent.scoped_organizations,
	scoped_projects: consent.scoped_projects,
});

/** Newest first. Throws 404 if the user isn't the caller. */
export const list = (tenant: Tenant, uuid: string, page: Page) =>
	readPage(tenant, page, {
		parent: selectCaller(tenant, uuid),
		...ORDER,
		select: () => select(tenant.db).$dynamic(),
		where: and(isOwn(tenant), isCurrent()),
		to: toConsent,
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
		const consent = orNotFound(row);
		await tenant.write({
			...endKey(db, isThis, entriesOf("revoked", consent, { job: "person" })),
			revokes: { type: "oauth_grant", id: consent.id, user: null },
		});
	});
