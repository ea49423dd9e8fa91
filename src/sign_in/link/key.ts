import type { Context } from "hono";
import type { App } from "../../env.ts";
import { valueInHeader } from "../../keys/authenticate.ts";
import { setKey } from "./key_cookie.ts";

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
