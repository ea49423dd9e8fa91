import { and, eq, gt, sql } from "drizzle-orm";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { connect } from "../../db/bookmark.ts";
import { insertWhere, runBatch } from "../../db/client.ts";
import { signInStates } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { nameOf } from "../../keys/cookie.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { iso, MINUTE_MS, now } from "../../lib/time.ts";
import type { Finished, Started } from "./shape.ts";

/*
 * The state of a sign-in between two requests. It is found by a random token, which the provider
 * sends back, and can be used once. A cookie has the same token, so that nobody can make somebody
 * else finish a sign-in that they started. Each sign-in has its own, for people with several tabs.
 */

export const STATE_MS = 10 * MINUTE_MS;

type StateKind = "oidc" | "saml" | "finish" | "test" | "tested";

/** How many sign-ins a browser can be in the middle of. The next one ends the oldest. */
const MAX_STARTED = 5;

/** The characters of a token in the name of its cookie, which keep the names apart. */
const NAME_CHARACTERS = 8;

function cookieOf(c: Context<App>, token: string) {
	const { name: prefix, isPrefixed } = nameOf(c, "tenantry-sign-in-");
	const options = { path: "/", httpOnly: true, sameSite: "Lax", secure: isPrefixed } as const;
	return { prefix, name: prefix + token.slice(0, NAME_CHARACTERS), options };
}

type State = { kind: StateKind; token: string; data: Record<string, unknown> };

/** Stores `data` for the holder of the token. */
export async function storeState(c: Context<App>, { kind, token, data }: State) {
	const { db } = connect(c, "first-primary");
	const row = { hash: await digest(token), kind, data, expires_at: iso(Date.now() + STATE_MS) };
	await db.batch([db.insert(signInStates).values(row)]);
}

/** Sets the cookie with a token. */
function setStateCookie(c: Context<App>, token: string) {
	const { prefix, name, options } = cookieOf(c, token);
	// Browsers send cookies in the order in which they got them (RFC 6265, 5.4).
	const names = Object.keys(getCookie(c)).filter((each) => each.startsWith(prefix));
	for (const oldest of names.slice(0, 1 - MAX_STARTED)) deleteCookie(c, oldest, options);
	setCookie(c, name, token, { ...options, maxAge: STATE_MS / 1000 });
}

/** Stores `data` for this browser, which gets the token. It works for ten minutes. */
export async function startState(c: Context<App>, state: State) {
	await storeState(c, state);
	setStateCookie(c, state.token);
}

/** SQL condition: the state of a token. */
const isState = (hash: string, kind: StateKind) =>
	and(eq(signInStates.hash, hash), eq(signInStates.kind, kind), gt(signInStates.expires_at, now()));

/** SQL condition: the state is that of a sign-in through this connection. */
const isOf = ({ connection }: Started) =>
	eq(sql`${signInStates.data} ->> '$.started.connection'`, connection);

type ProviderResponse = {
	/** The token of `startState`. If it is null, the provider started the sign-in. */
	token: string | null;
	/** The id of the response, which can be used once, and its end in milliseconds. */
	id: string;
	expires: number;
};

/**
 * Stores who the response of a SAML provider is about, for `/sso/finish`, which checks the cookie:
 * requests that other sites post have none. One round trip.
 * @returns the token, which this browser gets if the response has none; undefined if the sign-in is
 * unknown or too old, or the response was used before
 */
export async function storeFinish(
	c: Context<App>,
	{ token, id, expires }: ProviderResponse,
	{ who, started }: Finished,
) {
	const { db } = connect(c, "first-primary");
	const next = token ?? newToken();
	const hash = await digest(next);
	const used = await digest(id);
	const isNew = sql`not exists (select 1 from ${signInStates} where ${signInStates.hash} = ${used})`;
	const expires_at = iso(Date.now() + STATE_MS);
	const finish = { kind: "finish", expires_at } as const;
	const { staged } = await runBatch(db, {
		staged: token
			? db
					.update(signInStates)
					.set({
						...finish,
						data: sql`json_set(${signInStates.data}, '$.who', json(${JSON.stringify(who)}))`,
					})
					.where(and(isState(hash, "saml"), isNew, isOf(started)))
					.returning({ hash: signInStates.hash })
			: insertWhere(db, signInStates, { ...finish, hash, data: { who, started } }, isNew).returning(
					{
						hash: signInStates.hash,
					},
				),
		used: db
			.insert(signInStates)
			.values({ hash: used, kind: "response", data: {}, expires_at: iso(expires) })
			.onConflictDoNothing(),
	});
	if (staged.length === 0) return undefined;
	if (token === null) setStateCookie(c, next);
	return next;
}

/**
 * Returns the data that was stored for the token, and deletes it.
 * @param fromAnySite whether the request needs no cookie: those that other sites post have none
 * @returns undefined if the token is unknown, used, expired, or of another browser
 */
export async function takeState(
	c: Context<App>,
	{ kind, token, fromAnySite = false }: Omit<State, "data"> & { fromAnySite?: boolean },
): Promise<Record<string, unknown> | undefined> {
	if (!fromAnySite) {
		const { name, options } = cookieOf(c, token);
		if (getCookie(c, name) !== token) return undefined;
		deleteCookie(c, name, options);
	}
	const { db } = connect(c, "first-primary");
	const [[row]] = await db.batch([
		db
			.delete(signInStates)
			.where(isState(await digest(token), kind))
			.returning({ data: signInStates.data }),
	]);
	return row?.data;
}

/** How long the console's page can take to load. */
const LOADING_SECONDS = 60;

/**
 * Tells the console's page, which reads the cookie, that this browser may use the token of a sign-in
 * link without a click. Without it, a link could be one with which somebody wants to sign people in
 * to their own account.
 */
export function vouch(c: Context<App>, token: string) {
	const { name, isPrefixed } = nameOf(c, "tenantry-signed-in");
	const options = { path: "/", sameSite: "Lax", secure: isPrefixed } as const;
	setCookie(c, name, token, { ...options, maxAge: LOADING_SECONDS });
}

/** Redirects with a response that isn't stored anywhere. */
export function redirectTo(c: Context<App>, location: string) {
	c.header("Cache-Control", "no-store");
	return c.redirect(location, 303);
}
