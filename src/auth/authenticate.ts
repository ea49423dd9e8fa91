import { and, eq } from "drizzle-orm";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { connect } from "../db/client.ts";
import { personalApiKeys, users } from "../db/schema.ts";
import type { App } from "../env.ts";
import { type ApiError, badCredentials, notAuthenticated, throttled } from "../http/errors.ts";
import { cache, digest, getCached, isExpired, isWellFormed, type Key } from "./keys.ts";

/** How a guess that failed is answered: `refusal`, or a word to wait where one address guesses too often. */
export async function countFailure(c: Context<App>, refusal: ApiError) {
	const address = c.req.header("cf-connecting-ip") ?? "unknown";
	const { success } = await c.env.AUTH_FAILURES.limit({ key: address });
	return success ? refusal : throttled(60);
}

/** D1's record of the key, which is written to KV. */
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
				expires_at: personalApiKeys.expires_at,
			})
			.from(personalApiKeys)
			.innerJoin(users, eq(users.id, personalApiKeys.user_id))
			.where(and(eq(personalApiKeys.hash, hash), eq(users.is_active, true))),
	]);
	if (row) c.executionCtx.waitUntil(cache(c.env, hash, row));
	return row;
}

/**
 * The request has a key that KV or D1 knows and that has not expired. That the key still exists and its owner is
 * active, the guard asks of D1, in the same trip as the request's own queries.
 */
export const authenticate = createMiddleware<App>(async (c, next) => {
	const [scheme, value, more] = c.req.header("authorization")?.trim().split(/\s+/) ?? [];
	if (scheme?.toLowerCase() !== "bearer") throw notAuthenticated();
	const refusal = badCredentials();
	if (!value || more !== undefined || !isWellFormed(value)) throw await countFailure(c, refusal);
	const hash = await digest(value);
	c.var.meter.kv_reads += 1;
	let key: Key | undefined | null = await getCached(c.env, hash);
	if (!key || isExpired(key)) {
		// Counted as a failure before D1 is asked, so that guessing costs it nothing.
		const guess = await countFailure(c, refusal);
		if (guess !== refusal) throw guess;
		key = await findKey(c, hash);
	}
	if (!key || isExpired(key)) throw refusal;
	c.set("key", { ...key, hash });
	await next();
});
