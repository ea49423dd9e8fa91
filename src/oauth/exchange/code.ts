import { and, eq, getTableColumns, gt, isNull, sql } from "drizzle-orm";
import type { Context } from "hono";
import { commit, retry } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import { assertExists, type Connected, type Database, inList, runBatch } from "../../db/client.ts";
import { type Approval, oauthCodes, oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { countFailure } from "../../keys/addresses.ts";
import { ACCESS_TOKEN, digest } from "../../keys/keys.ts";
import { endKeys, mint, remember } from "../../keys/rows.ts";
import { toBase64url } from "../../lib/bytes.ts";
import { now } from "../../lib/time.ts";
import { type Consent, endReused, entriesOf, selectConsents } from "../consents/consents.ts";
import { OauthError } from "../protocol/errors.ts";
import type { Form } from "../protocol/form.ts";
import { checkResource } from "../protocol/service.ts";
import { accessExpiry, newRefreshToken, refreshExpiry, respond } from "../protocol/tokens.ts";

/** How many consents a user can have. Another one ends the oldest. */
const MAX_CONSENTS = 50;

type Code = typeof oauthCodes.$inferSelect & { is_approved: boolean };

/**
 * SQL condition: the key that a code was approved with still exists. If it was revoked, perhaps
 * because somebody else had it, the code is worth nothing.
 */
const isApproved = sql`exists (select 1 from ${personalApiKeys}
	where ${personalApiKeys.hash} = ${oauthCodes.approval} ->> 'approved_with')`;

export const invalidCode = () =>
	new OauthError(
		"invalid_grant",
		"The code is unknown, has expired, was used before, or belongs to another request.",
	);

/** Selects a code of an active person, and the person's consents. */
export const selectCode = (db: Database, hash: string) => ({
	codes: db
		.select({
			...getTableColumns(oauthCodes),
			is_approved: sql`${isApproved}`.mapWith(Boolean).as("is_approved"),
		})
		.from(oauthCodes)
		.innerJoin(users, and(eq(users.id, oauthCodes.user_id), eq(users.is_active, true)))
		.where(eq(oauthCodes.hash, hash)),
	consents: selectConsents(
		db,
		sql`${personalApiKeys.user_id} = (select user_id from oauth_codes where hash = ${hash})`,
	),
});

/**
 * Exchanges a code for the first tokens of a consent (RFC 6749, section 4.1.3). Of several requests
 * with one code, at most one gets tokens, and none of them work afterwards.
 */
export const exchange = (c: Context<App>, form: Form) =>
	retry(async () => {
		const { db } = connect(c);
		const hash = await digest(form.required("code"));
		const { codes, consents } = await runBatch(db, selectCode(db, hash));
		const [code] = codes;
		if (!code || !(await isSameRequest(c, form, code.approval)))
			throw await countFailure(c, invalidCode());
		return useCode(c, db, { code, consents });
	});

/**
 * Makes the consent of a code. A second use of the code ends the consent.
 * @param consents the person's, the oldest first
 */
export async function useCode(
	c: Context<App>,
	db: Connected,
	{ code, consents }: { code: Code; consents: Consent[] },
) {
	const consent = consents.find(({ id }) => id === code.key_id);
	if (consent) await endReused(c, db, consent, "code_reused");
	if (code.key_id !== null || code.expires_at <= now() || !code.is_approved)
		throw await countFailure(c, invalidCode());
	const removed = consents.slice(0, Math.max(0, consents.length - MAX_CONSENTS + 1));
	return write(c, db, { code, removed });
}

/** Whether the request is by the program that requested the code, for the same resource. */
async function isSameRequest({ env, req }: Context<App>, form: Form, approval: Approval) {
	const verifier = new TextEncoder().encode(form.required("code_verifier"));
	const challenge = toBase64url(new Uint8Array(await crypto.subtle.digest("SHA-256", verifier)));
	const redirect_uri = form.optional("redirect_uri") ?? approval.redirect_uri;
	checkResource({ env, url: req.url }, form, approval);
	return (
		challenge === approval.code_challenge &&
		form.required("client_id") === approval.client_id &&
		redirect_uri === approval.redirect_uri
	);
}

/** @param removed the oldest consents, if there are too many */
async function write(
	c: Context<App>,
	db: Connected,
	{ code: { hash, user_id, approval }, removed }: { code: Code; removed: Consent[] },
) {
	const { client_name: label, client_id, audience, ends_at, ...rest } = approval;
	const { scopes, scoped_organizations, scoped_projects } = rest;
	const key = {
		...{ user_id, label, client_id, audience, scopes, scoped_organizations, scoped_projects },
		expires_at: accessExpiry(ends_at),
	};
	const access = await mint(db, key, ACCESS_TOKEN);
	const { id } = access.row;
	const refresh = await newRefreshToken(id);
	const isUnused = and(
		eq(oauthCodes.hash, hash),
		isNull(oauthCodes.key_id),
		gt(oauthCodes.expires_at, now()),
		isApproved,
	);
	const removedIds = removed.map((consent) => consent.id);
	const write = {
		checks: [
			assertExists(db, oauthCodes, isUnused),
			assertExists(db, users, and(eq(users.id, user_id), eq(users.is_active, true))),
		],
		changes: [
			db.update(oauthCodes).set({ key_id: id }).where(eq(oauthCodes.hash, hash)),
			endKeys(db, inList(personalApiKeys.id, removedIds)),
			access.insert,
			db
				.insert(oauthRefreshTokens)
				.values({ key_id: id, ...refresh.columns, expires_at: refreshExpiry(ends_at), ends_at }),
		],
		entries: [
			...entriesOf("created", access.row),
			...removed.flatMap((consent) => entriesOf("revoked", consent, { job: "too_many" })),
		],
		answers: { keys: access.select },
	};
	const { keys } = await commit(c.env, db, write, c);
	const row = orNotFound(keys[0]);
	await remember(c.env, row);
	return respond({ access_token: access.value, refresh_token: refresh.value }, row);
}
