/**
 * The keys that the service signs with (docs/audit.md#signing-keys,
 * docs/internals/decisions/0019-signed-heads.md).
 */
import { and, desc, eq, gt, isNotNull, isNull, lt, lte, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { JWTPayload } from "jose";
import { type Database, insertWhere } from "../db/client.ts";
import { signingKeys } from "../db/schema/signing_keys.ts";
import { logWarning } from "../lib/log.ts";
import { DAY_MS, HOUR_MS, iso } from "../lib/time.ts";
import { seal, unseal } from "./secrets.ts";

/**
 * What a signature is for, as the `typ` of its header, so that none can stand for another, and its
 * algorithm. Each algorithm has keys of its own: all clouds accept RS256
 * (docs/internals/decisions/0021-workload-tokens.md).
 */
const PURPOSES = {
	"audit-head+jwt": "EdDSA",
	"revocation-receipt+jwt": "EdDSA",
	JWT: "RS256",
} as const;

type Purpose = keyof typeof PURPOSES;

type Algorithm = (typeof PURPOSES)[Purpose];

const ALGORITHMS = new Set(Object.values(PURPOSES));

/** How long a key signs. */
const SIGNS_MS = 90 * DAY_MS;

/** How long anyone may cache the public keys. */
export const MAX_AGE_SECONDS = HOUR_MS / 1000;

/** How long before it signs a key is published: longer than the public keys are cached. */
const PUBLISHED_BEFORE_MS = DAY_MS;

/** How long after its last signature a private key is deleted. */
const KEPT_MS = HOUR_MS;

const place = (kid: string) => ({ table: "signing_keys", row: kid, field: "private_key" });

/** SQL condition: the key signs at this time. */
const isCurrent = (algorithm: Algorithm, at: number) =>
	and(
		eq(signingKeys.algorithm, algorithm),
		isNotNull(signingKeys.private_key),
		lte(signingKeys.signs_from, iso(at)),
		or(isNull(signingKeys.signs_until), gt(signingKeys.signs_until, iso(at))),
	);

/** Selects the key that signs at a time, by default now, if there is one. */
export const selectSigner = (db: Database, at = Date.now(), algorithm: Algorithm = "EdDSA") =>
	db
		.select({ kid: signingKeys.kid, private_key: signingKeys.private_key })
		.from(signingKeys)
		.where(isCurrent(algorithm, at))
		.orderBy(desc(signingKeys.signs_from))
		.limit(1);

/** A row of `selectSigner`. */
export type Signer = Awaited<ReturnType<typeof selectSigner>>[number];

/** Whether the service can sign: private keys are encrypted with `SECRETS_KEY`. */
export const canSign = ({ SECRETS_KEY }: Env) => Boolean(SECRETS_KEY);

/** Which key signs, and when. */
type Moment = { algorithm: Algorithm; at: number };

/** Generates a key. Its row has no end. */
async function generate(env: Env, algorithm: Algorithm, signs_from: number) {
	const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import("jose");
	const pair = await generateKeyPair(algorithm, { extractable: true });
	const public_key = await exportJWK(pair.publicKey);
	const kid = await calculateJwkThumbprint(public_key);
	const jwk = JSON.stringify(await exportJWK(pair.privateKey));
	const private_key = await seal(env, jwk, place(kid));
	return { kid, algorithm, public_key, private_key, signs_from: iso(signs_from) };
}

/**
 * Makes the first key, or one instead of a key that can't be used any more. Several requests at the
 * same time make one.
 * @returns the key that signs from then on
 */
async function begin(env: Env, { algorithm, at }: Moment, lost?: string) {
	const db = drizzle(env.DB);
	const isMissing = sql`not exists (select 1 from ${signingKeys} where ${isCurrent(algorithm, at)})`;
	const [, , [signer]] = await db.batch([
		db
			.update(signingKeys)
			.set({ private_key: null, signs_until: iso(at) })
			.where(and(eq(signingKeys.kid, lost ?? ""), isNotNull(signingKeys.private_key))),
		insertWhere(db, signingKeys, await generate(env, algorithm, at), isMissing),
		selectSigner(db, at, algorithm),
	]);
	return signer;
}

/** Returns the private key of a row; undefined if it can't be decrypted any more. */
const opened = async (env: Env, { kid, private_key }: Signer) =>
	unseal(env, private_key ?? "", place(kid)).catch((error: unknown) => {
		logWarning("A signing key can't be decrypted, so another one is made", error);
		return undefined;
	});

/** Returns the key of a row, or another one if that can't be used or there is none. */
async function usable(env: Env, found: Signer | undefined, moment: Moment) {
	const text = found && (await opened(env, found));
	if (found && text) return { kid: found.kid, text };
	const signer = await begin(env, moment, found?.kid);
	if (!signer) throw new Error("There is no signing key.");
	return { kid: signer.kid, text: await unseal(env, signer.private_key ?? "", place(signer.kid)) };
}

/**
 * Signs claims (RFC 7515, RFC 7519), with the time (`iat`) and, if it is known, the service (`iss`).
 * @param found the key that signs now with the algorithm of `typ`; the first signature makes it
 * @returns a compact JWS
 */
export async function sign(env: Env, found: Signer | undefined, typ: Purpose, claims: JWTPayload) {
	const algorithm = PURPOSES[typ];
	const at = Date.now();
	const { importJWK, SignJWT } = await import("jose");
	const { kid, text } = await usable(env, found, { algorithm, at });
	const iss = URL.parse(env.APP_URL)?.origin;
	return new SignJWT({ ...(iss && { iss }), iat: Math.floor(at / 1000), ...claims })
		.setProtectedHeader({ alg: algorithm, kid, typ })
		.sign(await importJWK(JSON.parse(text), algorithm));
}

/** Adds the next key if the current one ends soon, and determines when that ends. */
async function addNext(db: Database, env: Env, { algorithm, at }: Moment) {
	const [signer] = await db
		.select({ kid: signingKeys.kid, signs_from: signingKeys.signs_from })
		.from(signingKeys)
		.where(and(isCurrent(algorithm, at), isNull(signingKeys.signs_until)));
	if (!signer || Date.parse(signer.signs_from) > at - SIGNS_MS + PUBLISHED_BEFORE_MS) return;
	const next = await generate(env, algorithm, at + PUBLISHED_BEFORE_MS);
	// Another tick may have been faster.
	const isLast = and(eq(signingKeys.kid, signer.kid), isNull(signingKeys.signs_until));
	await db.batch([
		insertWhere(db, signingKeys, next, sql`exists (select 1 from ${signingKeys} where ${isLast})`),
		db.update(signingKeys).set({ signs_until: next.signs_from }).where(isLast),
	]);
}

/**
 * Makes the first keys and the next ones, each before it is needed, and deletes private keys that no
 * longer sign.
 */
export async function rotateSigningKeys(env: Env, at: number) {
	if (!canSign(env)) return;
	const db = drizzle(env.DB);
	for (const algorithm of ALGORITHMS) {
		const [signer] = await selectSigner(db, at, algorithm);
		await usable(env, signer, { algorithm, at });
		await addNext(db, env, { algorithm, at });
	}
	await db
		.update(signingKeys)
		.set({ private_key: null })
		.where(and(isNotNull(signingKeys.private_key), lt(signingKeys.signs_until, iso(at - KEPT_MS))));
}

const seconds = (moment: string) => Math.floor(Date.parse(moment) / 1000);

/**
 * SQL condition: the key is published. Heads and receipts are checked after years, but nobody needs a
 * token's key once the token has expired, and whoever has stolen an old one could sign with it.
 */
const isPublished = (algorithm: Algorithm) =>
	and(
		eq(signingKeys.algorithm, algorithm),
		algorithm === "RS256"
			? or(isNull(signingKeys.signs_until), gt(signingKeys.signs_until, iso(Date.now() - KEPT_MS)))
			: undefined,
	);

/**
 * Returns the public keys as a JWK Set (RFC 7517), newest first: those that have signed, the one
 * that signs, and the next one. `nbf` and `exp` say when a key signs, in seconds since 1970.
 */
export async function publicKeys({ DB }: Env, algorithm: Algorithm) {
	const rows = await drizzle(DB)
		.select()
		.from(signingKeys)
		.where(isPublished(algorithm))
		.orderBy(desc(signingKeys.signs_from), signingKeys.kid);
	return {
		keys: rows.map(({ kid, algorithm, public_key, signs_from, signs_until }) => ({
			...public_key,
			kid,
			alg: algorithm,
			use: "sig",
			nbf: seconds(signs_from),
			...(signs_until && { exp: seconds(signs_until) }),
		})),
	};
}
