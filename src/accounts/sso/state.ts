import { and, eq, gt } from "drizzle-orm";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { digest, newToken } from "../../auth/keys.ts";
import { runBatch } from "../../db/client.ts";
import { iso, now } from "../../db/now.ts";
import { signInStates } from "../../db/schema/sign_in.ts";
import { connect } from "../../db/session.ts";
import type { App } from "../../env.ts";
import { MINUTE_MS } from "../../lib/durations.ts";

/*
 * What a sign-in remembers between two requests. It is found by a random token, which the provider
 * sends back, and can be used once. A cookie has the same token, so that nobody can make somebody
 * else finish a sign-in that they started.
 */

export const STATE_MS = 10 * MINUTE_MS;

export type StateKind = "oidc" | "saml" | "finish" | "test" | "tested" | "passkey";

/** The name has the prefix that keeps other hosts from setting the cookie, except on plain HTTP. */
function cookieOf(c: Context<App>) {
	const secure = new URL(c.req.url).protocol === "https:";
	const options = { path: "/", httpOnly: true, sameSite: "Lax", secure } as const;
	return { name: secure ? "__Host-tenantry-sign-in" : "tenantry-sign-in", options };
}

/** Stores `data` for the holder of a token. */
export async function keep(
	c: Context<App>,
	kind: StateKind,
	token: string,
	data: Record<string, unknown>,
) {
	const { db } = connect(c, "first-primary");
	const row = { hash: await digest(token), kind, data, expires_at: iso(Date.now() + STATE_MS) };
	await runBatch(db, { insertion: db.insert(signInStates).values(row) });
}

/** Stores `data` for this browser. Returns the token, which works for ten minutes. */
export async function begin(c: Context<App>, kind: StateKind, data: Record<string, unknown>) {
	const token = newToken();
	await keep(c, kind, token, data);
	const { name, options } = cookieOf(c);
	setCookie(c, name, token, { ...options, maxAge: STATE_MS / 1000 });
	return token;
}

/**
 * Returns what was stored for the token, and deletes it.
 * @param fromAnySite whether the request needs no cookie: those that other sites post have none
 * @returns undefined if the token is unknown, used, expired, or of another browser
 */
export async function take(
	c: Context<App>,
	kind: StateKind,
	token: string,
	{ fromAnySite = false } = {},
): Promise<Record<string, unknown> | undefined> {
	const { name, options } = cookieOf(c);
	if (!fromAnySite) {
		if (getCookie(c, name) !== token) return undefined;
		deleteCookie(c, name, options);
	}
	const { db } = connect(c, "first-primary");
	const isIt = and(
		eq(signInStates.hash, await digest(token)),
		eq(signInStates.kind, kind),
		gt(signInStates.expires_at, now()),
	);
	const { taken } = await runBatch(db, {
		taken: db.delete(signInStates).where(isIt).returning({ data: signInStates.data }),
	});
	return taken[0]?.data;
}
