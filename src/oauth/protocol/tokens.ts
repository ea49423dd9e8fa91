import type { Exchange, Issue } from "../../db/schema/oauth.ts";
import type { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { ACCESS_TOKEN, digest, isWellFormed, newKey, newToken, newValue } from "../../keys/keys.ts";
import { DAY_MS, HOUR_MS, iso, MINUTE_MS, now } from "../../lib/time.ts";

/* The lifetimes, forms and responses of tokens (docs/internals/decisions/0017-grants-are-keys.md). */

/** The grant type of devices (RFC 8628, section 3.4). */
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** The grant type of the token exchange (RFC 8693, section 2.1). */
export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

/** RFC 8693, section 3. */
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

/** An authorization code (RFC 6749, section 4.1.2, allows ten times as much). */
const CODE_MS = MINUTE_MS;

/** How long a device waits for the person, and then may take to fetch its tokens. */
export const DEVICE_CODE_MS = 10 * MINUTE_MS;

const ACCESS_TOKEN_MS = HOUR_MS;

/** How long a refresh token works that isn't used. */
const REFRESH_TOKEN_MS = 30 * DAY_MS;

/** How long the tokens of a refresh can be returned again. */
const REPEAT_MS = 30_000;

/** Returns the time after a duration or, if it is earlier, the end of the consent. */
const after = (ms: number, ends_at: string | null) => {
	const at = iso(Date.now() + ms);
	return ends_at !== null && ends_at < at ? ends_at : at;
};

export const codeExpiry = (ends_at: string | null) => after(CODE_MS, ends_at);
export const deviceCodeExpiry = (ends_at: string | null) => after(DEVICE_CODE_MS, ends_at);
export const accessExpiry = (ends_at: string | null) => after(ACCESS_TOKEN_MS, ends_at);
export const refreshExpiry = (ends_at: string | null) => after(REFRESH_TOKEN_MS, ends_at);

export const newIssue = (): Issue => ({ at: now(), salt: newToken() });

/** Whether a token was issued so recently that it can be returned again. */
export const isRecent = ({ at }: Issue) => Date.parse(at) > Date.now() - REPEAT_MS;

/** `tnt_rt_`, the id of the consent, and the secret of the family, before the token's own secret. */
const START =
	/^tnt_rt_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_([\w-]{43})_/;

const prefixOf = (key_id: string, family: string) =>
	`tnt_rt_${key_id.replaceAll("-", "")}_${family}_`;

/** Returns the first refresh token of a consent, and the columns that identify it. */
export async function newRefreshToken(key_id: string) {
	const family = newToken();
	const value = newValue(prefixOf(key_id, family));
	return { value, columns: { family: await digest(family), hash: await digest(value) } };
}

export type RefreshToken = { value: string; key_id: string; family: string };

/** Returns the parts of a refresh token; undefined if the text isn't one. */
export function readRefreshToken(value: string): RefreshToken | undefined {
	const [start, ...parts] = START.exec(value) ?? [];
	const family = parts.pop();
	if (start === undefined || family === undefined || !isWellFormed(value, start)) return undefined;
	return { value, key_id: parts.join("-"), family };
}

const encoder = new TextEncoder();
const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Returns 256 bits that nobody can compute without the secret and the salt. */
async function derive(secret: string, salt: string) {
	const key = await crypto.subtle.importKey("raw", encoder.encode(secret), HMAC, false, ["sign"]);
	return new BigUint64Array(await crypto.subtle.sign(HMAC, key, encoder.encode(salt)));
}

/**
 * Returns the access token of an exchange, and the columns that identify it. It is derived from what
 * all refresh tokens of the consent have in common, so each of them can return it.
 */
export const accessToken = async ({ family }: RefreshToken, { access }: Exchange) =>
	newKey(ACCESS_TOKEN, await derive(family, access.salt));

/** Returns the refresh token for which another one is exchanged, and its column. */
export async function nextRefreshToken(used: RefreshToken, { refresh }: Exchange) {
	const bits = await derive(used.value, refresh.salt);
	const value = newValue(prefixOf(used.key_id, used.family), bits);
	return { value, columns: { hash: await digest(value) } };
}

/** The tokens, and for a token exchange the type of the issued one (RFC 8693, section 2.2.1). */
type Tokens = { access_token: string; refresh_token?: string; issued_token_type?: string };

/** Returns the response with tokens (RFC 6749, section 5.1). */
export const respond = (
	tokens: Tokens,
	{ expires_at, scopes }: Pick<typeof personalApiKeys.$inferSelect, "expires_at" | "scopes">,
) => ({
	...tokens,
	token_type: "Bearer",
	expires_in: Math.max(0, Math.floor((Date.parse(expires_at ?? "") - Date.now()) / 1000)),
	scope: scopes.join(" "),
});
