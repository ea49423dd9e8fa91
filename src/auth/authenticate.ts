import { and, eq } from "drizzle-orm";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import { users } from "../db/schema/users.ts";
import { connect } from "../db/session.ts";
import type { App } from "../env.ts";
import { type ApiError, badCredentials, notAuthenticated, throttled } from "../http/errors.ts";
import { addressOf } from "./addresses.ts";
import { held } from "./held.ts";
import { cache, digest, getCached, isExpired, isWellFormed, type Key } from "./keys.ts";
import { countUse } from "./usage.ts";

/**
 * Counts a failed attempt of the caller's address. Returns `refusal`, or a 429 once there are too
 * many.
 */
export async function countFailure(c: Context<App>, refusal: ApiError) {
	const { success } = await c.env.AUTH_FAILURES.limit({ key: addressOf(c) ?? "unknown" });
	return success ? refusal : throttled(60);
}

/**
 * The key's record in KV.
 * @throws 401 if the value isn't well-formed, before KV is read
 */
async function readRecord(c: Context<App>, value: string, hash: string) {
	if (!isWellFormed(value)) throw await countFailure(c, badCredentials());
	c.get("meter").kv_reads += 1;
	return getCached(c.env, hash);
}

/** Finds the key of an active user in D1, and caches it in KV. */
async function findKey(c: Context<App>, hash: string): Promise<Key | undefined> {
	const { db } = connect(c, "first-primary");
	const [[row]] = await db.batch([
		db
			.select({
				id: personalApiKeys.id,
				user_id: personalApiKeys.user_id,
				scopes: personalApiKeys.scopes,
				organizations: personalApiKeys.scoped_organizations,
				projects: personalApiKeys.scoped_projects,
				allowed_ips: personalApiKeys.allowed_ips,
				expires_at: personalApiKeys.expires_at,
				version: personalApiKeys.version,
			})
			.from(personalApiKeys)
			.innerJoin(users, eq(users.id, personalApiKeys.user_id))
			.where(and(eq(personalApiKeys.hash, hash), eq(users.is_active, true))),
	]);
	if (row) c.executionCtx.waitUntil(cache(c.env, hash, row));
	return row;
}

/**
 * After this, the request has a key that the isolate, KV or D1 knows and that has not expired. The guard checks
 * in D1 that the key still exists and its owner is active, in the same round trip as the request's
 * queries.
 */
export const authenticate = createMiddleware<App>(async (c, next) => {
	const [scheme, value, extra] = c.req.header("authorization")?.trim().split(/\s+/) ?? [];
	if (scheme?.toLowerCase() !== "bearer") throw notAuthenticated();
	if (!value || extra !== undefined) throw await countFailure(c, badCredentials());
	const hash = await digest(value);
	// A key whose record the isolate holds is well-formed.
	let key = held(hash) ?? (await readRecord(c, value, hash));
	if (!key || isExpired(key)) {
		// Counted as a failure before D1 is queried, so that guessing is limited before it costs
		// anything.
		const refusal = badCredentials();
		const failure = await countFailure(c, refusal);
		if (failure !== refusal) throw failure;
		key = await findKey(c, hash);
		if (!key) throw refusal;
	}
	if (isExpired(key)) {
		const refusal = badCredentials();
		countUse(c, key.id, refusal.status);
		throw refusal;
	}
	c.set("key", { ...key, hash });
	await next();
	// Requests of unknown paths don't count, nor those of /mcp, whose requests to the API do.
	if (c.get("counts")) countUse(c, key.id, c.res.status);
});
