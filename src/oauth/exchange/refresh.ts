import { and, eq } from "drizzle-orm";
import type { Context } from "hono";
import { hasScope } from "../../access/scopes.ts";
import { commit, retry } from "../../access/unit_of_work.ts";
import { connect } from "../../db/bookmark.ts";
import { assertExists, type Connected } from "../../db/client.ts";
import { type Exchange, oauthRefreshTokens } from "../../db/schema/oauth.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import type { App } from "../../env.ts";
import { orNotFound } from "../../http/errors.ts";
import { countFailure } from "../../keys/addresses.ts";
import { changeKeys, remember } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import { type Consent, endReused, type Found, findByToken } from "../consents/consents.ts";
import { OauthError } from "../protocol/errors.ts";
import type { Form } from "../protocol/form.ts";
import { checkResource } from "../protocol/service.ts";
import {
	accessExpiry,
	accessToken,
	isRecent,
	newIssue,
	nextRefreshToken,
	type RefreshToken,
	refreshExpiry,
	respond,
} from "../protocol/tokens.ts";
import { knownScopes } from "../requests/request.ts";

const invalidToken = () =>
	new OauthError(
		"invalid_grant",
		"The refresh token is unknown, has expired, was used before, or belongs to another app.",
	);

/**
 * Exchanges a refresh token for the next tokens (RFC 6749, section 6). For 30 seconds, the token
 * that was exchanged last gets the same tokens again. Other uses of an exchanged token end the consent
 * (docs/oauth.md#tokens).
 */
export const refresh = (c: Context<App>, form: Form) =>
	retry(async () => {
		const { db } = connect(c);
		const found = await findByToken(db, form.required("refresh_token"));
		const client_id = form.required("client_id");
		if (!found || found.kind === "access" || found.consent.client_id !== client_id)
			throw await countFailure(c, invalidToken());
		const { consent, kind, token } = found;
		const isUsed = kind === "used";
		const repeated = await repeatTokens(found);
		const isReused = isUsed && !repeated;
		if (isReused) await endReused(c, db, consent, "refresh_token_reused");
		if (isReused || consent.refresh_expires_at <= now())
			throw await countFailure(c, invalidToken());
		checkResource({ env: c.env, url: c.req.url }, form, consent);
		const scopes = scopesIn(form, consent);
		if (repeated && isSame(scopes, consent.access_scopes)) {
			if (isUsed) await noteRepetition(c, db, consent);
			return respond(repeated, { ...consent, scopes });
		}
		if (isUsed) throw new OauthError("invalid_scope", "The token was used with other scopes.");
		return write(c, db, { consent, token, scopes });
	});

/**
 * Returns the requested scopes, by default all of the consent. Unknown ones are ignored, as when the
 * app asked the person.
 * @throws OauthError if the consent lacks one of them
 */
function scopesIn(form: Form, { scopes }: Consent) {
	const requested = knownScopes(form.optional("scope"));
	if (!requested.every((scope) => hasScope(scopes, scope)))
		throw new OauthError("invalid_scope", "The person hasn't allowed all of these scopes.");
	return requested.length > 0 ? requested : scopes;
}

const isSame = (a: string[], b: string[]) => a.join() === b.join();

type FoundRefresh = Exclude<Found, { kind: "access" }>;

/**
 * Returns the tokens of the last exchange, if the app gets them again: for 30 seconds, with the token
 * that was exchanged. Once the app has done that, it also gets them with the token that it got:
 * if that token were exchanged, requests that are on their way with the one before would end the
 * consent.
 */
async function repeatTokens({ consent, kind, token }: FoundRefresh) {
	const { last_exchange: last, refresh_hash } = consent;
	if (!last || !isRecent(last.refresh)) return undefined;
	if (kind === "refresh" && !last.is_repeated) return undefined;
	const refresh = kind === "used" ? await nextRefreshToken(token, last) : undefined;
	if (refresh && refresh.columns.hash !== refresh_hash) return undefined;
	const access = await accessToken(token, last);
	return { access_token: access.value, refresh_token: refresh?.value ?? token.value };
}

/** Notes that the app has repeated the last exchange, unless that is known. */
async function noteRepetition(c: Context<App>, db: Connected, consent: Consent) {
	const { id, refresh_hash, last_exchange: last } = consent;
	if (!last || last.is_repeated) return;
	const isLast = and(eq(oauthRefreshTokens.key_id, id), eq(oauthRefreshTokens.hash, refresh_hash));
	const last_exchange = { ...last, is_repeated: true };
	const note = db.update(oauthRefreshTokens).set({ last_exchange }).where(isLast);
	await commit(c.env, db, { changes: [note] }, c);
}

/**
 * Returns how the next tokens are derived. An access token of a moment ago stays: requests of the
 * app may be on their way with it.
 */
function nextExchange({ last_exchange: last, access_scopes }: Consent, scopes: string[]): Exchange {
	const isKept = last && isRecent(last.access) && isSame(scopes, access_scopes);
	return { access: isKept ? last.access : newIssue(), refresh: newIssue(), is_repeated: false };
}

/** Exchanges the token for ones with these scopes, which become those of the key. */
async function write(
	c: Context<App>,
	db: Connected,
	{ consent, token, scopes }: { consent: Consent; token: RefreshToken; scopes: string[] },
) {
	const { id, ends_at, refresh_hash } = consent;
	const last_exchange = nextExchange(consent, scopes);
	const [access, next] = await Promise.all([
		accessToken(token, last_exchange),
		nextRefreshToken(token, last_exchange),
	]);
	const isToken = eq(oauthRefreshTokens.key_id, id);
	const isUnused = and(isToken, eq(oauthRefreshTokens.hash, refresh_hash));
	const isThis = eq(personalApiKeys.id, id);
	const expires_at = refreshExpiry(ends_at);
	const write = {
		checks: [assertExists(db, oauthRefreshTokens, isUnused)],
		changes: [
			db
				.update(oauthRefreshTokens)
				.set({ ...next.columns, expires_at, scopes: consent.scopes, last_exchange })
				.where(isToken),
			changeKeys(db, isThis, { ...access.columns, expires_at: accessExpiry(ends_at), scopes }),
		],
		answers: { keys: db.select().from(personalApiKeys).where(isThis) },
	};
	const { keys } = await commit(c.env, db, write, c);
	const row = orNotFound(keys[0]);
	await remember(c.env, row);
	return respond({ access_token: access.value, refresh_token: next.value }, row);
}
