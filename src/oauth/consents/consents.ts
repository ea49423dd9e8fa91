import { and, eq, isNotNull, type SQL } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import { commit } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { aliased, type Connected, type Database } from "../../db/client.ts";
import type { ActivityOf } from "../../db/event_types.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { organizationId } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { App } from "../../env.ts";
import { addressOf } from "../../keys/addresses.ts";
import { ACCESS_TOKEN, digest, isWellFormed } from "../../keys/keys.ts";
import { endKey } from "../../keys/rows.ts";
import { allowedScopes } from "../../people/personal_api_keys/reach.ts";
import { appReused, mailChange } from "../../people/users/mails.ts";
import { userColumns } from "../../people/users/shape.ts";
import { type RefreshToken, readRefreshToken } from "../protocol/tokens.ts";

/* Consents: the keys of apps. */

/** SQL condition on `personal_api_keys`: the key is an app's. */
export const isConsent = (where: SQL) => and(where, isNotNull(personalApiKeys.client_id));

/** Selects keys of active users that have a refresh token, with it. */
export const select = (db: Database) =>
	db
		.select({
			id: personalApiKeys.id,
			// `userColumns` has another `user_id`.
			user_id: aliased(personalApiKeys.user_id, "owner_id"),
			user: userColumns,
			label: personalApiKeys.label,
			hash: personalApiKeys.hash,
			/** The scopes of the consent. */
			scopes: allowedScopes.mapWith(personalApiKeys.scopes).as("allowed_scopes"),
			access_scopes: aliased(personalApiKeys.scopes, "access_scopes"),
			scoped_organizations: personalApiKeys.scoped_organizations,
			scoped_projects: personalApiKeys.scoped_projects,
			created_at: personalApiKeys.created_at,
			last_used_at: personalApiKeys.last_used_at,
			expires_at: personalApiKeys.expires_at,
			client_id: personalApiKeys.client_id,
			audience: personalApiKeys.audience,
			family: oauthRefreshTokens.family,
			refresh_hash: aliased(oauthRefreshTokens.hash, "refresh_hash"),
			refresh_expires_at: aliased(oauthRefreshTokens.expires_at, "refresh_expires_at"),
			ends_at: oauthRefreshTokens.ends_at,
			last_exchange: oauthRefreshTokens.last_exchange,
		})
		.from(personalApiKeys)
		.innerJoin(users, and(eq(users.id, personalApiKeys.user_id), eq(users.is_active, true)))
		.innerJoin(oauthRefreshTokens, eq(oauthRefreshTokens.key_id, personalApiKeys.id));

/** Selects consents of active users, the oldest first. */
export const selectConsents = (db: Database, where: SQL) =>
	select(db).where(isConsent(where)).orderBy(personalApiKeys.id);

export type Consent = Awaited<ReturnType<typeof selectConsents>>[number];

/** A consent that was found by one of its tokens. `used`: a refresh token that was exchanged. */
export type Found =
	| { consent: Consent; kind: "access" }
	| { consent: Consent; kind: "refresh" | "used"; token: RefreshToken };

/** Finds the consent of an access token or refresh token. One round trip, or none. */
export async function findByToken(db: Connected, token: string): Promise<Found | undefined> {
	const hash = await digest(token);
	const refresh = readRefreshToken(token);
	if (!refresh && !isWellFormed(token, ACCESS_TOKEN)) return undefined;
	const isThis = refresh ? eq(personalApiKeys.id, refresh.key_id) : eq(personalApiKeys.hash, hash);
	const [[consent]] = await db.batch([selectConsents(db, isThis)]);
	if (!consent) return undefined;
	if (!refresh) return { consent, kind: "access" };
	if (consent.family !== (await digest(refresh.family))) return undefined;
	return { consent, kind: consent.refresh_hash === hash ? "refresh" : "used", token: refresh };
}

type Named = Pick<Consent, "id" | "label" | "user_id" | "client_id" | "scoped_organizations"> & {
	scopes: string[];
};

type EntryDetails = {
	organization: number | SQL<number>;
	trigger?: Record<string, unknown> | undefined;
};

/** Returns an entry of a consent for the log of an organization. */
export const entryOf = (
	activity: ActivityOf<"OauthGrant">,
	{ id, label, user_id, client_id, scopes }: Omit<Named, "scoped_organizations">,
	{ organization, trigger = {} }: EntryDetails,
) => ({
	activity,
	scope: "OauthGrant" as const,
	item_id: id,
	name: label,
	user_id,
	organization,
	project: null,
	values: { scopes },
	trigger: { client_id, ...trigger },
});

/**
 * Returns the entry of an app that gets no access, for the log of an organization.
 * @param job `person` if the person denied it, `not_allowed` if the organization doesn't allow it
 */
export const rejectionOf = (
	{ client_id, name }: { client_id: string; name: string },
	user_id: number,
	{ organization, job }: Pick<EntryDetails, "organization"> & { job: "person" | "not_allowed" },
) =>
	entryOf(
		"rejected",
		{ id: v7(), label: name, user_id, client_id, scopes: [] },
		{ organization, trigger: { job } },
	);

/**
 * Returns the entries of a consent for the log: of the organizations that it is restricted to, or the
 * person's current one.
 */
export const entriesOf = (
	activity: ActivityOf<"OauthGrant">,
	consent: Named,
	trigger?: Record<string, unknown>,
) =>
	(consent.scoped_organizations.length > 0
		? consent.scoped_organizations.map((uuid) => organizationId(uuid))
		: [currentOrganization(consent.user_id)]
	).map((organization) => entryOf(activity, consent, { organization, trigger }));

/**
 * Ends a consent: none of its tokens work from the next request on. Of several requests at the same
 * time, one writes the event; `retry` repeats the others.
 */
export async function end(c: Context<App>, db: Connected, consent: Named, job: string) {
	const isThis = isConsent(eq(personalApiKeys.id, consent.id));
	await commit(c.env, db, endKey(db, isThis, entriesOf("revoked", consent, { job })), c);
}

/** Ends a consent whose code or refresh token was used twice, and tells its person. */
export async function endReused(
	c: Context<App>,
	db: Connected,
	consent: Named,
	job: "code_reused" | "refresh_token_reused",
) {
	await end(c, db, consent, job);
	c.executionCtx.waitUntil(
		mailChange(c.env, consent.user_id, appReused(consent.label), addressOf(c)),
	);
}
