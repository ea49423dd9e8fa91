import { digest, isWellFormed, mint, newToken } from "../../auth/keys.ts";
import { iso } from "../../db/now.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../lib/durations.ts";

/* The lifetimes and forms of tokens (docs/internals/decisions/0017-grants-are-keys.md). */

/** The grant type of devices (RFC 8628, section 3.4). */
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** An authorization code (RFC 6749, section 4.1.2, allows ten times as much). */
const CODE_MS = MINUTE_MS;

/** How long a device waits for the person, and then may take to fetch its tokens. */
export const DEVICE_CODE_MS = 10 * MINUTE_MS;

const ACCESS_TOKEN_MS = HOUR_MS;

/** How long a refresh token works that isn't used. */
const REFRESH_TOKEN_MS = 30 * DAY_MS;

/** Returns the time after a duration or, if it is earlier, the end of the grant. */
const after = (ms: number, ends_at: string | null) => {
	const at = iso(Date.now() + ms);
	return ends_at !== null && ends_at < at ? ends_at : at;
};

export const codeExpiry = (ends_at: string | null) => after(CODE_MS, ends_at);
export const deviceCodeExpiry = (ends_at: string | null) => after(DEVICE_CODE_MS, ends_at);
export const accessExpiry = (ends_at: string | null) => after(ACCESS_TOKEN_MS, ends_at);
export const refreshExpiry = (ends_at: string | null) => after(REFRESH_TOKEN_MS, ends_at);

/** `tnt_rt_`, the id of the grant, and the secret of the family, before the token's own secret. */
const START =
	/^tnt_rt_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_([\w-]{43})_/;

/** Returns a refresh token of a grant, and the columns that identify it. */
export async function newRefreshToken(key_id: string, family = newToken()) {
	const value = mint(`tnt_rt_${key_id.replaceAll("-", "")}_${family}_`);
	return { value, columns: { family: await digest(family), hash: await digest(value) } };
}

/** Returns the parts of a refresh token; undefined if the text isn't one. */
export function readRefreshToken(value: string) {
	const [start, ...parts] = START.exec(value) ?? [];
	const family = parts.pop();
	if (start === undefined || family === undefined || !isWellFormed(value, start)) return undefined;
	return { key_id: parts.join("-"), family };
}
