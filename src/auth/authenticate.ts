import { and, eq } from "drizzle-orm";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { connect } from "../db/client.ts";
import { personalApiKeys, users } from "../db/schema.ts";
import type { App } from "../env.ts";
import { badCredentials, notAuthenticated, throttled } from "../http/errors.ts";
import {
	digest,
	expired,
	type Key,
	recall,
	remember,
	wellFormed,
} from "./keys.ts";

/** KV's record of the key; where KV has none, or one that has expired, D1's, which is then written back. */
async function look(c: Context<App>, hash: string): Promise<Key | undefined> {
	c.var.meter.kv_reads += 1;
	const known = await recall(c.env, hash);
	if (known && !expired(known)) return known;
	const db = connect(c, "first-primary");
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
	if (row) c.executionCtx.waitUntil(remember(c.env, hash, row));
	return row;
}

/** Refuses; a caller who fails too often from one address is told to wait. */
async function fail(c: Context<App>): Promise<never> {
	const address = c.req.header("cf-connecting-ip") ?? "unknown";
	const { success } = await c.env.AUTH_FAILURES.limit({ key: address });
	throw success ? badCredentials() : throttled(60);
}

/**
 * The request has a key that KV or D1 knows and that has not expired. That the key still exists and its owner is
 * active, the guard asks of D1, in the same trip as the request's own queries.
 */
export const authenticate = createMiddleware<App>(async (c, next) => {
	const [scheme, value, more] =
		c.req.header("authorization")?.trim().split(/\s+/) ?? [];
	if (scheme?.toLowerCase() !== "bearer") throw notAuthenticated();
	if (!value || more !== undefined || !wellFormed(value)) return fail(c);
	const hash = await digest(value);
	const key = await look(c, hash);
	if (!key || expired(key)) return fail(c);
	c.set("key", { ...key, hash });
	await next();
});
