import type { Context, Next } from "hono";
import { createMiddleware } from "hono/factory";
import type { App } from "../env.ts";
import { badCredentials, notAuthenticated } from "../http/errors.ts";
import { countFailure } from "./addresses.ts";
import { audienceOf } from "./audience.ts";
import { inCookie } from "./cookie.ts";
import { keyCache } from "./key_cache.ts";
import { digest, findKey, getCached, isExpired, isKey, type Key } from "./keys.ts";
import { countUse } from "./usage.ts";

declare module "hono" {
	interface ContextVariableMap {
		key: Key & { hash: string };
	}
}

/** Returns the key's record from KV. Throws 401 if the value is malformed, before KV is read. */
async function readRecord(c: Context<App>, value: string, hash: string) {
	if (!isKey(value)) throw await countFailure(c, badCredentials());
	c.get("meter").kv_reads += 1;
	return getCached(c.env, hash);
}

/** @throws 429 after too many lookups in D1 of keys that KV doesn't know, by the caller's network */
async function limitLookups(c: Context<App>) {
	// Loaded only for such keys.
	const { limitNetwork } = await import("./network_limits.ts");
	await limitNetwork(c, "lookups of keys", 480);
}

/** Returns the value of the key in the header `Authorization`. Throws 401 if there is none. */
export async function valueInHeader(c: Context<App>) {
	const [scheme, value, extra] = c.req.header("authorization")?.trim().split(/\s+/) ?? [];
	if (scheme?.toLowerCase() !== "bearer") throw notAuthenticated();
	if (!value || extra !== undefined) throw await countFailure(c, badCredentials());
	return value;
}

/**
 * Sets the key of the request: one that the isolate's cache, KV or D1 contains, and that hasn't
 * expired. The guard checks in D1 that the key still exists and that its owner is active, in the
 * same round trip as the request's queries.
 */
async function useKey(c: Context<App>, value: string, next: Next) {
	const hash = await digest(value);
	// A key with a cached record is well-formed.
	let key = keyCache.get(hash) ?? (await readRecord(c, value, hash));
	if (!key || isExpired(key)) {
		// This limits the cost of guessing. A key's record expires once a day, so a lookup isn't a
		// failure: too many failures of others in the network must not reject it.
		if (!key) await limitLookups(c);
		key = await findKey(c, hash);
		if (!key) throw await countFailure(c, badCredentials());
	}
	if (isExpired(key)) {
		countUse(c, key.id, 401);
		throw await countFailure(c, badCredentials());
	}
	if (key.audience && key.audience !== audienceOf(c)) throw await countFailure(c, badCredentials());
	c.set("key", { ...key, hash });
	await next();
	// Requests for unknown paths don't count. Requests to /mcp don't count either, because their tool
	// calls do.
	if (c.get("counts")) countUse(c, key.id, c.res.status);
}

/** Requires a key in the header `Authorization`. */
export const authenticateKey = createMiddleware<App>(async (c, next) =>
	useKey(c, await valueInHeader(c), next),
);

/** Requires a key in the header `Authorization` or, without this header, in the cookie. */
export const authenticate = createMiddleware<App>(async (c, next) => {
	const hasHeader = c.req.header("authorization") !== undefined;
	return useKey(c, (hasHeader ? undefined : inCookie(c)) ?? (await valueInHeader(c)), next);
});
