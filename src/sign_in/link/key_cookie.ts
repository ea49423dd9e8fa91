import type { Context } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import type { CookieOptions } from "hono/utils/cookie";
import type { App } from "../../env.ts";
import { forbidden } from "../../http/errors.ts";
import { describeRoute } from "../../http/router.ts";
import { valueInHeader } from "../../keys/authenticate.ts";
import { isFromOwnPage, nameOf } from "../../keys/cookie.ts";

/** The longest that browsers keep a cookie, in seconds. */
const MAX_AGE = 400 * 24 * 60 * 60;

const OPTIONS = { path: "/", httpOnly: true, sameSite: "Lax" } satisfies CookieOptions;

export const fromOtherOrigin = () => forbidden("Only pages of this service can sign in and out.");

/** Rejects requests of pages of other origins, which could sign people in to another account. */
export const sameOrigin = describeRoute(
	createMiddleware<App>(async (c, next) => {
		if (isFromOwnPage(c) === false) throw fromOtherOrigin();
		await next();
	}),
	{ sameOrigin: true },
);

/**
 * Adds the cookie with the value of a key to the response (docs/keys.md#the-cookie).
 * @param maxAge in seconds; undefined: until the browser is closed
 */
export function setKey(c: Context<App>, value: string, maxAge?: number) {
	const { name, isPrefixed } = nameOf(c);
	setCookie(c, name, value, {
		...OPTIONS,
		secure: isPrefixed,
		...(maxAge !== undefined && { maxAge: Math.min(Math.floor(maxAge), MAX_AGE) }),
	});
}

/** Makes the browser remove the cookie. */
export function removeKey(c: Context<App>) {
	const { name, isPrefixed } = nameOf(c);
	deleteCookie(c, name, { ...OPTIONS, secure: isPrefixed });
}

/**
 * Signs in with the key in the header `Authorization`: the cookie gets its value, and lasts as long
 * as the key. Revoking or restricting the key works as before.
 * @throws the errors of the guard
 */
export async function useKey(c: Context<App>) {
	const { tenant } = c.var;
	await tenant.read();
	const { expires_at } = tenant.caller.key;
	const maxAge = expires_at === null ? undefined : (Date.parse(expires_at) - Date.now()) / 1000;
	setKey(c, await valueInHeader(c), maxAge);
}
