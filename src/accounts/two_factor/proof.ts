import { and, eq, isNotNull, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { cipherOf } from "../../auth/secrets.ts";
import type { Database } from "../../db/client.ts";
import { iso, now } from "../../db/now.ts";
import { recoveryCodes, twoFactors } from "../../db/schema/two_factor.ts";
import { users } from "../../db/schema/users.ts";
import { invalid, throttledUntil } from "../../http/errors.ts";
import { HOUR_MS } from "../../lib/durations.ts";
import { digestsOf } from "./recovery_codes.ts";
import { stepOf } from "./totp.ts";

/*
 * Checks the second factor (docs/keys.md#the-second-factor). An attempt is counted before its code
 * is checked, so that parallel requests can't try more codes than sequential ones.
 */

/** How many wrong codes a user can send in an hour. */
const MAX_ATTEMPTS = 10;

/** The columns of a user's second factor, for a select from `users` joined with `two_factors`. */
export const factorColumns = {
	/** Encrypted; null if the user has none. */
	secret: sql<string | null>`${twoFactors.secret}`.as("secret"),
	/** null: it isn't enabled. */
	enabled_at: sql<string | null>`${twoFactors.confirmed_at}`.as("enabled_at"),
	last_step: sql<number | null>`${twoFactors.last_step}`.as("last_step"),
	attempts_since: sql<string | null>`${twoFactors.attempts_since}`.as("attempts_since"),
	digests:
		sql`(select json_group_array(${recoveryCodes.digest}) from ${recoveryCodes} where ${recoveryCodes.user_id} = ${users.id})`
			.mapWith((json): string[] => JSON.parse(json))
			.as("digests"),
};

/** A user's second factor, as selected by `factorColumns`. */
export type Factor = {
	user_id: number;
	secret: string | null;
	enabled_at: string | null;
	last_step: number | null;
	attempts_since: string | null;
	digests: string[];
};

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

/** The kind of a correct code, and what identifies it. */
export type Proof = { user_id: number; secret: string } & (
	| { kind: "code"; step: number }
	| { kind: "recovery_code"; digest: string }
);

/**
 * Checks a code of the authenticator app or, if the second factor is enabled, a recovery code.
 * @param isCounted whether `countAttempt` has returned a row
 * @throws 400 if the code is wrong or was used before, 429 after too many wrong codes
 */
export async function prove(
	env: Env,
	factor: Factor & { secret: string },
	code: string,
	isCounted: boolean,
): Promise<Proof> {
	const { user_id, secret, last_step, digests, attempts_since } = factor;
	if (!isCounted) throw throttledUntil(Date.parse(attempts_since ?? now()) + HOUR_MS);
	const digits = code.replace(/[\s-]/g, "");
	if (/^\d{6}$/.test(digits)) {
		const plain = await cipherFor(env, user_id).unseal("secret", secret);
		const step = await stepOf(plain, digits, Date.now());
		if (step !== undefined && step > (last_step ?? 0))
			return { user_id, secret, kind: "code", step };
		throw invalidCode();
	}
	const possible = await digestsOf(env, user_id, code);
	const digest = possible.find((each) => digests.includes(each));
	if (digest === undefined) throw invalidCode();
	return { user_id, secret, kind: "recovery_code", digest };
}

const invalidCode = () =>
	invalid("code", "This code is wrong, or was used before.", "invalid_code");

/** SQL condition: the user has enabled a second factor. */
export const isEnabled = (user_id: number) => sql`exists (
	select 1 from ${twoFactors} where ${twoFactors.user_id} = ${user_id} and ${twoFactors.confirmed_at} is not null)`;

/** Returns the statement that stores the secret of a second factor that isn't enabled yet. */
export const storeSecret = (db: Database, user_id: number, secret: string) =>
	db
		.insert(twoFactors)
		.values({ user_id, secret })
		.onConflictDoUpdate({ target: twoFactors.user_id, set: { secret } });

/** SQL condition on `two_factors`: the row is the user's, with the secret of the check. */
export const isFactorOf = ({ user_id, secret }: Proof) =>
	and(eq(twoFactors.user_id, user_id), eq(twoFactors.secret, secret));

/**
 * SQL condition on `two_factors`: no other request has used the code since the check.
 * @param isEnabled whether the second factor was enabled at the check
 */
export const isUnused = (proof: Proof, isEnabled: boolean) =>
	and(
		isFactorOf(proof),
		isEnabled ? isNotNull(twoFactors.confirmed_at) : isNull(twoFactors.confirmed_at),
		proof.kind === "code"
			? lt(twoFactors.last_step, proof.step)
			: sql`exists (select 1 from ${recoveryCodes} where ${recoveryCodes.user_id} = ${proof.user_id} and ${recoveryCodes.digest} = ${proof.digest})`,
	);

/** The columns of `two_factors` after the code was used, which doesn't count as an attempt then. */
export const afterUse = (proof: Proof) => ({
	attempts: sql`max(${twoFactors.attempts} - 1, 0)`,
	...(proof.kind === "code" && { last_step: proof.step }),
});
