import {
	createLocalJWKSet,
	errors,
	type FlattenedJWSInput,
	type JWSHeaderParameters,
	type JWTVerifyGetKey,
} from "jose";
import * as oauth from "oauth4webapi";
import * as z from "zod";
import { MINUTE_MS } from "../../lib/time.ts";
import { DiscoveryError, discover } from "../../outbound/discovery.ts";
import { reason } from "../../outbound/errors.ts";
import { checkedRequests } from "../../outbound/oauth.ts";
import { allowsPrivate } from "../../outbound/reach.ts";

/** How long the keys of an issuer are cached. */
const MAX_AGE_SECONDS = 600;

/** Keys that were fetched this recently aren't fetched again, whatever key a token names. */
const COOLDOWN_MS = MINUTE_MS / 2;

/** The keys of an issuer can't be fetched. The message has no secrets. */
export class IssuerError extends Error {}

/** The keys of an issuer, and when they were fetched, in milliseconds since 1970. */
const Fetched = z.object({
	keys: z.array(z.looseObject({ kty: z.string() })),
	at: z.number(),
});

/** Converts errors of the library, and reasons why there is no response. */
const toIssuerError = (error: unknown) => new IssuerError(reason(error));

/** Fetches the keys that the discovery of the issuer names. */
async function fetchKeys(env: Env, issuer: string) {
	const options = checkedRequests(env, issuer, [], toIssuerError);
	const { jwks_uri = "" } = await discover(issuer, options).catch((error) => {
		throw error instanceof DiscoveryError ? toIssuerError(error) : error;
	});
	const { protocol } = URL.parse(jwks_uri) ?? {};
	if (protocol !== "https:" && !(protocol === "http:" && allowsPrivate(env)))
		throw new IssuerError("its discovery names no keys with an https URL");
	const response = await options[oauth.customFetch](jwks_uri, {
		...{ method: "GET", body: undefined, redirect: "manual" },
		headers: { accept: "application/json" },
	});
	const body: unknown = await response.json().catch(() => undefined);
	const { data } = Fetched.omit({ at: true }).safeParse(body);
	if (response.status !== 200 || !data)
		throw new IssuerError(`${new URL(jwks_uri).host} answered ${response.status} without keys`);
	return { ...data, at: Date.now() };
}

async function fetchAndCache(env: Env, issuer: string, cache: Cache) {
	const fetched = await fetchKeys(env, issuer);
	const headers = { "cache-control": `max-age=${MAX_AGE_SECONDS}` };
	await cache.put(issuer, Response.json(fetched, { headers }));
	return fetched;
}

/**
 * Returns the function that finds the key of a token among those of the issuer, which are cached. If
 * a token names an unknown key, the issuer may have a new one, so its keys are fetched again.
 */
export const keyFinder =
	(env: Env, issuer: string): JWTVerifyGetKey =>
	async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
		const cache = await caches.open("issuers");
		const response = await cache.match(issuer);
		const cached = response && Fetched.parse(await response.json());
		const { keys, at } = cached ?? (await fetchAndCache(env, issuer, cache));
		return createLocalJWKSet({ keys })(header, token).catch(async (error) => {
			const isNew = error instanceof errors.JWKSNoMatchingKey && at + COOLDOWN_MS <= Date.now();
			if (!isNew) throw error;
			const newer = await fetchAndCache(env, issuer, cache);
			return createLocalJWKSet({ keys: newer.keys })(header, token);
		});
	};
