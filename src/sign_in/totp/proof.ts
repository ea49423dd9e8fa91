import { and, eq, isNotNull, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { users } from "../../db/schema/people.ts";
import { passkeys, recoveryCodes, twoFactors } from "../../db/schema/sign_in.ts";
import { invalid, throttledUntil } from "../../http/errors.ts";
import type { Assertion } from "../../isolates/webauthn/worker.ts";
import { cipherOf } from "../../keys/secrets.ts";
import { HOUR_MS, iso, now } from "../../lib/time.ts";
import { type Reference, type SignedWith, signedWith } from "../webauthn/challenges.ts";
import { isStillUnused, type PasskeyUse, recordUse, verifyUse } from "../webauthn/verify.ts";
import { digestsOf } from "./recovery_codes.ts";
import { stepOf } from "./totp.ts";

/*
 * Checks the second factor (docs/keys.md#the-second-factor). An attempt is counted before its code
 * is checked, so that parallel requests can't try more codes than sequential ones.
 */

/** How many wrong codes and passkeys a user can send in an hour. */
const MAX_ATTEMPTS = 10;

/**
 * The columns of a user's second factor, for a select from `users` joined with `two_factors`.
 * @param passkey the passkey that proves it
 */
export const factorColumns = (passkey?: Reference) => ({
	/** Encrypted; null if the user has no authenticator app. */
	secret: sql<string | null>`${twoFactors.secret}`.as("secret"),
	/** null: the authenticator app isn't enabled. */
	enabled_at: sql<string | null>`${twoFactors.confirmed_at}`.as("enabled_at"),
	last_step: sql<number | null>`${twoFactors.last_step}`.as("last_step"),
	attempts_since: sql<string | null>`${twoFactors.attempts_since}`.as("attempts_since"),
	digests:
		sql`(select json_group_array(${recoveryCodes.digest}) from ${recoveryCodes} where ${recoveryCodes.user_id} = ${users.id})`
			.mapWith((json): string[] => JSON.parse(json))
			.as("digests"),
	passkeys: sql`(select json_group_array(json_object('id', ${passkeys.id}, 'name', ${passkeys.name},
				'credential_id', ${passkeys.credential_id}, 'transports', json(${passkeys.transports})))
			from ${passkeys} where ${passkeys.user_id} = ${users.id})`
		.mapWith((json): KnownPasskey[] => JSON.parse(json))
		.as("passkeys"),
	/** The passkey that proves it, if it is the user's. */
	signed: (passkey ? signedWith(passkey, sql`${users.id}`) : sql<SignedWith | null>`null`).as(
		"signed",
	),
});

type KnownPasskey = { id: string; name: string; credential_id: string; transports: string[] };

/** A user's second factor, as selected by `factorColumns`. */
export type Factor = {
	user_id: number;
	secret: string | null;
	enabled_at: string | null;
	last_step: number | null;
	attempts_since: string | null;
	digests: string[];
	passkeys: KnownPasskey[];
	signed: SignedWith | null;
};

/** Whether the user has a second factor: an authenticator app or a passkey. */
export const hasFactor = ({ enabled_at, passkeys }: Pick<Factor, "enabled_at" | "passkeys">) =>
	enabled_at !== null || passkeys.length > 0;

export const cipherFor = (env: Env, user_id: number) => cipherOf(env, "two_factors", user_id);

/** Counts an attempt. Returns no row if there were too many, or the user has no second factor. */
export function countAttempt(db: Database, user_id: SQL | number, condition: SQL) {
	const since = iso(Date.now() - HOUR_MS);
	const isOver = sql`${twoFactors.attempts_since} <= ${since}`;
	return db
		.update(twoFactors)
		.set({
			attempts: sql`iif(${isOver}, 1, ${twoFactors.attempts} + 1)`,
			attempts_since: sql`iif(${isOver}, ${now()}, ${twoFactors.attempts_since})`,
		})
		.where(
			and(
				sql`${twoFactors.user_id} = ${user_id}`,
				or(lt(twoFactors.attempts, MAX_ATTEMPTS), lte(twoFactors.attempts_since, since)),
				condition,
			),
		)
		.returning({ user_id: twoFactors.user_id });
}

/** The proof of the second factor in a request. */
export type Given = { code?: string | undefined; passkey?: Assertion | undefined };

export const isGiven = ({ code, passkey }: Given) => code !== undefined || passkey !== undefined;

/** The factor that was proved. */
export type Proof = { user_id: number } & (
	| { kind: "code"; secret: string; step: number }
	| { kind: "recovery_code"; digest: string }
	| ({ kind: "passkey" } & PasskeyUse)
);

type Attempt = {
	factor: Factor;
	given: Given;
	/** Whether `countAttempt` has returned a row. */
	isCounted: boolean;
	/** Whether the attempt is to enable the authenticator app: only its code is accepted. */
	isSettingUp: boolean;
	/** The URL of the request. */
	url: string;
};

/**
 * Checks a code of the authenticator app, a recovery code, or the use of a passkey.
 * @throws 400 if it is wrong or was used before, 429 after too many wrong ones
 */
export async function prove(env: Env, attempt: Attempt): Promise<Proof> {
	const { factor, given, isCounted, isSettingUp, url } = attempt;
	const { user_id, attempts_since, signed } = factor;
	if (!isCounted) throw throttledUntil(Date.parse(attempts_since ?? now()) + HOUR_MS);
	const { passkey: assertion, code = "" } = given;
	if (!assertion) return proveCode(env, factor, { code, isSettingUp });
	if (isSettingUp) throw invalidCode();
	const use = { assertion, signed, isUserVerified: false };
	return { user_id, kind: "passkey", ...(await verifyUse(env, url, use)) };
}

async function proveCode(
	env: Env,
	{ user_id, secret, enabled_at, last_step, digests }: Factor,
	{ code, isSettingUp }: { code: string; isSettingUp: boolean },
): Promise<Proof> {
	const digits = code.replace(/[\s-]/g, "");
	if (/^\d{6}$/.test(digits)) {
		if (secret === null || (enabled_at === null && !isSettingUp)) throw invalidCode();
		const plain = await cipherFor(env, user_id).unseal("secret", secret);
		const step = await stepOf(plain, digits, Date.now());
		if (step !== undefined && step > (last_step ?? 0))
			return { user_id, secret, kind: "code", step };
		throw invalidCode();
	}
	const possible = await digestsOf(env, user_id, code);
	const digest = possible.find((each) => digests.includes(each));
	if (digest === undefined || isSettingUp) throw invalidCode();
	return { user_id, kind: "recovery_code", digest };
}

/** @throws 400 because the user has a second factor, and the request doesn't prove it */
export const proofRequired = () =>
	invalid(
		"code",
		"Send a code of your authenticator app, a recovery code, or a passkey.",
		"two_factor_required",
	);

const invalidCode = () =>
	invalid("code", "This code is wrong, or was used before.", "invalid_code");

/** SQL condition: the user has a second factor. */
export const isEnabled = (user_id: number | typeof users.id) => sql`(exists (
	select 1 from ${twoFactors} where ${twoFactors.user_id} = ${user_id} and ${twoFactors.confirmed_at} is not null)
	or exists (select 1 from ${passkeys} where ${passkeys.user_id} = ${user_id}))`;

/** SQL condition: the user still has as many passkeys as when they were read. */
export const hasAsManyPasskeys = ({
	user_id,
	passkeys: known,
}: Pick<Factor, "user_id" | "passkeys">) =>
	sql`(select count(*) from ${passkeys} where ${passkeys.user_id} = ${user_id}) = ${known.length}`;

/** Returns the statement that stores the secret of a second factor that isn't enabled yet. */
export const storeSecret = (db: Database, user_id: number, secret: string | null) =>
	db
		.insert(twoFactors)
		.values({ user_id, secret })
		.onConflictDoUpdate({ target: twoFactors.user_id, set: { secret } });

/**
 * SQL condition on `two_factors`: the row is the user's and, if a code was checked, has the secret
 * of the check.
 */
export const isFactorOf = (proof: Proof) =>
	and(
		eq(twoFactors.user_id, proof.user_id),
		proof.kind === "code" ? eq(twoFactors.secret, proof.secret) : undefined,
	);

/**
 * SQL condition on `two_factors`: no other request has used the proof since the check.
 * @param isEnabled whether the authenticator app was enabled at the check
 */
export const isUnused = (proof: Proof, isEnabled: boolean) =>
	and(
		isFactorOf(proof),
		isEnabled ? isNotNull(twoFactors.confirmed_at) : isNull(twoFactors.confirmed_at),
		proof.kind === "code"
			? lt(twoFactors.last_step, proof.step)
			: proof.kind === "passkey"
				? isStillUnused(proof)
				: sql`exists (select 1 from ${recoveryCodes} where ${recoveryCodes.user_id} = ${proof.user_id} and ${recoveryCodes.digest} = ${proof.digest})`,
	);

/** The columns of `two_factors` after the proof was used, which doesn't count as an attempt then. */
export const afterUse = (proof: Proof) => ({
	attempts: sql`max(${twoFactors.attempts} - 1, 0)`,
	...(proof.kind === "code" && { last_step: proof.step }),
});

/** Returns the statements that use up a proof. */
export const useProof = (db: Database, proof: Proof) => [
	db.update(twoFactors).set(afterUse(proof)).where(isFactorOf(proof)),
	...(proof.kind === "recovery_code"
		? [
				db
					.delete(recoveryCodes)
					.where(
						and(eq(recoveryCodes.user_id, proof.user_id), eq(recoveryCodes.digest, proof.digest)),
					),
			]
		: []),
	...(proof.kind === "passkey" ? recordUse(db, proof) : []),
];
