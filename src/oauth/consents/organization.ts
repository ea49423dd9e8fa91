import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { endKey } from "../../keys/rows.ts";
import {
	assertReached,
	checkReached,
	entriesIn,
	selectReached,
} from "../../people/personal_api_keys/ended_by_admin.ts";
import { reaches } from "../../people/personal_api_keys/reach.ts";
import { appEnded, mailChange } from "../../people/users/mails.ts";
import { type Consent, entryOf, isConsent, select } from "./consents.ts";
import { isCurrent, ORDER, toCommon } from "./queries.ts";
import type { OrganizationOauthGrant } from "./shape.ts";

/** WHERE clause on `personal_api_keys`: consents of members that reach the organization. */
const isHere = ({ organization }: Tenant) =>
	isConsent(
		sql`${personalApiKeys.user_id} in (
			select ${members.user_id} from ${members} where ${members.organization_id} = ${organization}) and ${reaches(organization)}`,
	);

const toConsent = (consent: Consent): z.infer<typeof OrganizationOauthGrant> => ({
	...toCommon(consent),
	user: consent.user,
});

/** Newest first. Reads the keys of all members: an index would cost a written row for each key. */
export const list = (tenant: Tenant, page: Page) =>
	readPage(tenant, page, {
		select: () => select(tenant.db).$dynamic(),
		...ORDER,
		where: and(isHere(tenant), isCurrent()),
		to: toConsent,
	});

/**
 * Ends the access of a member's app, also to the member's other organizations, each of which gets an
 * event.
 * @throws 403 if the caller isn't an admin of each, or the member's level is above the caller's
 */
export const remove = (tenant: Tenant, id: string) =>
	retry(async () => {
		const { db, env } = tenant;
		const isThis = and(isHere(tenant), eq(personalApiKeys.id, id.toLowerCase()));
		const [[row], reached] = await tenant.read(
			select(db).where(isThis),
			selectReached(tenant, isThis),
		);
		const consent = orNotFound(row);
		checkReached(reached);
		const entry = entryOf("revoked", consent, { organization: tenant.organization });
		const entries = entriesIn(tenant, reached, entry, consent.user.email);
		const { checks, ...parts } = endKey(db, isThis, entries);
		await tenant.write({
			...parts,
			checks: [...checks, assertReached(tenant, isThis)],
			revokes: { type: "oauth_grant", id: consent.id, user: null },
		});
		const change = appEnded(consent.label, reached[0]?.name ?? "");
		tenant.later(() => mailChange(env, consent.user_id, change, null));
	});
