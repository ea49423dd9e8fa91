import { and, eq } from "drizzle-orm";
import type { Context } from "hono";
import { retry } from "../../access/retry.ts";
import { grants as includes } from "../../access/scopes.ts";
import { commit } from "../../access/unit_of_work.ts";
import { countFailure } from "../../auth/addresses.ts";
import { ACCESS_TOKEN, cache, evict, newKey, toRecord } from "../../auth/keys.ts";
import { assertExists } from "../../db/assertion.ts";
import type { Connected } from "../../db/client.ts";
import { now } from "../../db/now.ts";
import { oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { connect } from "../../db/session.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { OauthError } from "./errors.ts";
import type { Form } from "./form.ts";
import { endReused, findByToken, type Grant } from "./grants.ts";
import { checkResource } from "./issuer.ts";
import { respond } from "./respond.ts";
import { accessExpiry, newRefreshToken, readRefreshToken, refreshExpiry } from "./tokens.ts";

const invalidToken = () =>
	new OauthError(
		"invalid_grant",
		"The refresh token is unknown, has expired, was used before, or belongs to another app.",
	);

/**
 * Exchanges a refresh token for the next tokens (RFC 6749, section 6). Of several requests with one
 * token, at most one gets tokens, and none of them work afterwards.
 */
export const refresh = (c: Context<App>, form: Form) =>
	retry(async () => {
		const { db } = connect(c);
		const token = form.required("refresh_token");
		const found = await findByToken(db, token);
		const client_id = form.required("client_id");
		if (!found || found.kind === "access" || found.grant.client_id !== client_id)
			throw await countFailure(c, invalidToken());
		const { grant, kind } = found;
		if (kind === "used") await endReused(c, db, grant, "refresh_token_reused");
		if (kind === "used" || grant.refresh_expires_at <= now())
			throw await countFailure(c, invalidToken());
		checkWishes(c, form, grant);
		return write(c, db, grant, readRefreshToken(token)?.family);
	});

/** @throws OauthError if the app asks for more than it was granted, or for another resource */
function checkWishes({ env, req }: Context<App>, form: Form, { audience, scopes }: Grant) {
	checkResource({ env, url: req.url }, form, { audience });
	const wanted = form.optional("scope")?.split(" ") ?? [];
	if (!wanted.every((scope) => includes(scopes, scope)))
		throw new OauthError("invalid_scope", "The person hasn't allowed all of these scopes.");
}

/** @param family the secret that all refresh tokens of the grant have in common */
async function write(c: Context<App>, db: Connected, grant: Grant, family: string | undefined) {
	const { id, ends_at } = grant;
	const [access, next] = await Promise.all([newKey(ACCESS_TOKEN), newRefreshToken(id, family)]);
	const isToken = eq(oauthRefreshTokens.key_id, id);
	const isThis = eq(personalApiKeys.id, id);
	const write = {
		checks: [
			assertExists(
				db,
				oauthRefreshTokens,
				and(isToken, eq(oauthRefreshTokens.hash, grant.refresh_hash)),
			),
		],
		changes: [
			db
				.update(oauthRefreshTokens)
				.set({ hash: next.columns.hash, expires_at: refreshExpiry(ends_at) })
				.where(isToken),
			db
				.update(personalApiKeys)
				.set({ ...access.columns, expires_at: accessExpiry(ends_at) })
				.where(isThis),
		],
		answers: { keys: db.select().from(personalApiKeys).where(isThis) },
	};
	const { keys } = await commit(c.env, db, write, c);
	const row = orNotFound(keys[0]);
	await Promise.all([cache(c.env, row.hash, toRecord(row)), evict(c.env, grant.hash)]);
	return respond({ access_token: access.value, refresh_token: next.value }, row);
}
