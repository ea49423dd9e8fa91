import { eq, type SQL, sql } from "drizzle-orm";
import { keyStillWorks } from "../../access/recheck.ts";
import type { Tenant } from "../../access/tenant.ts";
import { isCaller } from "../../access/visible.ts";
import { insertEach } from "../../db/client.ts";
import { users } from "../../db/schema/people.ts";
import { recoveryCodes, signInStates, twoFactors } from "../../db/schema/sign_in.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { isEnforced } from "../../people/identities/sign_in_rules.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import { type Reference, referenceOf } from "../webauthn/challenges.ts";
import { countAttempt, factorColumns, type Given, isGiven, prove } from "./proof.ts";
import { rowsOf } from "./recovery_codes.ts";

/* The caller's second factor, for its changes (docs/keys.md#the-second-factor). */

/**
 * Selects the caller with their second factor, unless `uuid` is somebody else's.
 * @param challenge SQL condition on `sign_in_states`, for `has_challenge`
 */
export const select = (
	tenant: Tenant,
	uuid: string,
	{
		passkey,
		challenge = sql`false`,
	}: { passkey?: Reference | undefined; challenge?: SQL | undefined } = {},
) =>
	tenant.db
		.select({
			user_id: users.id,
			uuid: users.uuid,
			email: users.email,
			is_email_verified: users.is_email_verified,
			factor_reset_at: users.factor_reset_at,
			is_required: isEnforced(users.id).mapWith(Boolean).as("is_required"),
			has_challenge: sql`exists (select 1 from ${signInStates} where ${challenge})`
				.mapWith(Boolean)
				.as("has_challenge"),
			...factorColumns(passkey),
		})
		.from(users)
		.leftJoin(twoFactors, eq(twoFactors.user_id, users.id))
		.where(isCaller(tenant, uuid));

export type Row = Awaited<ReturnType<typeof select>>[number];

/** @throws 403 if the caller is a service account */
export function assertPerson({ caller }: Tenant) {
	if (caller.is_service_account)
		throw forbidden("A service account has no second factor: it doesn't sign in.");
}

/**
 * A factor that somebody set up who isn't the owner of the address must not outlast the proof of
 * it, or keep the owner from signing in.
 * @throws 400 if the user's address isn't proved, or has to be proved anew after a reset
 */
export function assertProved({ is_email_verified, factor_reset_at }: Row) {
	if (!is_email_verified || factor_reset_at !== null)
		throw invalid(
			null,
			"Prove your email address first: sign in with a link by mail.",
			"verification_required",
		);
}

/** @throws 400 because the last factor can't be removed */
export const factorIsRequired = () =>
	invalid(null, "An organization that you belong to requires a second factor.");

export async function read(tenant: Tenant, uuid: string) {
	const [[row]] = await tenant.read(select(tenant, uuid));
	assertPerson(tenant);
	return orNotFound(row);
}

/** The sessions that end when the second factor changes. */
export const otherSessions = ({ key }: Tenant) => ({ user_id: key.user_id, kept: key.id });

type Ended = Awaited<ReturnType<typeof sessions.select>>;

type Request = {
	uuid: string;
	given: Given;
	/** Throws if the request isn't allowed. */
	check?: (row: Row) => void;
	/** Whether it is the first code of an authenticator app. */
	isSettingUp?: boolean;
	/** SQL condition on `sign_in_states`, for `has_challenge`. */
	challenge?: SQL | undefined;
};

/** Returns statements that count an attempt to prove the second factor, and read the caller. */
export async function selectProvable(
	tenant: Tenant,
	{ uuid, given, challenge }: Pick<Request, "uuid" | "given" | "challenge">,
) {
	const { db, key } = tenant;
	const passkey = given.passkey && (await referenceOf(given.passkey));
	const attempt = isGiven(given) ? keyStillWorks(key.hash, key) : sql`false`;
	return [
		countAttempt(db, key.user_id, attempt),
		select(tenant, uuid, { passkey, challenge }),
	] as const;
}

type Read = {
	row: Row;
	/** What `countAttempt` returned. */
	attempts: unknown[];
} & Pick<Request, "given" | "isSettingUp">;

/** Checks the caller's proof, if there is one. */
export async function proveRead(
	{ env, url }: Tenant,
	{ row, attempts, given, isSettingUp = false }: Read,
) {
	const isCounted = attempts.length > 0;
	return isGiven(given)
		? prove(env, { factor: row, given, isCounted, isSettingUp, url })
		: undefined;
}

/**
 * Reads the caller and, if the second factor is to be proved, counts the attempt in the same round
 * trip, and checks it.
 */
export async function readAndProve(tenant: Tenant, request: Request) {
	const [attempts, [user], others] = await tenant.read(
		...(await selectProvable(tenant, request)),
		sessions.select(tenant.db, otherSessions(tenant)),
	);
	assertPerson(tenant);
	const row = orNotFound(user);
	request.check?.(row);
	const proof = await proveRead(tenant, { row, attempts, ...request });
	const ended = others.map(({ id }) => id);
	return { row, proof, others, areAll: sessions.areAll(otherSessions(tenant), ended) };
}

/** Statements that replace the user's recovery codes. */
export async function replaceWith({ db, env, key }: Tenant, codes: string[]) {
	const deletion = db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, key.user_id));
	const rows = await rowsOf(env, key.user_id, codes);
	return [deletion, insertEach(db, recoveryCodes, { rows })];
}

export const setEnabled = ({ db, key }: Tenant, is_2fa_enabled: boolean) =>
	db.update(users).set({ is_2fa_enabled }).where(eq(users.id, key.user_id));

/** Statements that remove all that is left of the second factor. */
export const removeFactor = async (tenant: Tenant) => [
	tenant.db.delete(twoFactors).where(eq(twoFactors.user_id, tenant.key.user_id)),
	...(await replaceWith(tenant, [])),
	setEnabled(tenant, false),
];

/** Returns the log entries of sessions that end. */
export const entriesOf = (ended: Ended) =>
	ended.map((session) => sessions.endEntry(session, "two_factor"));
