import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { retry } from "../../access/retry.ts";
import { keyStillWorks } from "../../access/still_allowed.ts";
import type { Tenant } from "../../access/tenant.ts";
import { currentOrganization } from "../../access/visible.ts";
import { evict } from "../../auth/keys.ts";
import { assertExists, assertThat } from "../../db/assertion.ts";
import { insertEach } from "../../db/client.ts";
import type { ActivityOf } from "../../db/event_types.ts";
import { now } from "../../db/now.ts";
import { recoveryCodes, twoFactors } from "../../db/schema/two_factor.ts";
import { users } from "../../db/schema/users.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import * as sessions from "../personal_api_keys/sessions.ts";
import {
	type Change,
	codesReplaced,
	factorDisabled,
	factorEnabled,
	tellCaller,
} from "../users/mails.ts";
import { isEnforced } from "./enforced.ts";
import {
	afterUse,
	cipherFor,
	countAttempt,
	factorColumns,
	isEnabled,
	isFactorOf,
	isUnused,
	type Proof,
	prove,
	storeSecret,
} from "./proof.ts";
import { newRecoveryCodes, rowsOf } from "./recovery_codes.ts";
import type { TwoFactor } from "./shape.ts";
import { newSecret, otpauthUrl } from "./totp.ts";

/** Selects the caller with their second factor, unless `uuid` is somebody else's. */
const select = ({ db, key }: Tenant, uuid: string) =>
	db
		.select({
			user_id: users.id,
			uuid: users.uuid,
			email: users.email,
			is_required: isEnforced(users.id).mapWith(Boolean).as("is_required"),
			...factorColumns,
		})
		.from(users)
		.leftJoin(twoFactors, eq(twoFactors.user_id, users.id))
		.where(
			and(
				eq(users.id, key.user_id),
				uuid === "@me" ? undefined : eq(users.uuid, uuid.toLowerCase()),
			),
		);

type Row = Awaited<ReturnType<typeof select>>[number];

const toTwoFactor = ({ enabled_at, is_required, digests }: Row): z.infer<typeof TwoFactor> => ({
	is_enabled: enabled_at !== null,
	enabled_at,
	is_required,
	recovery_codes_left: digests.length,
});

/** @throws 403 if the caller is a service account */
function assertPerson({ caller }: Tenant) {
	if (caller.is_service_account)
		throw forbidden("A service account has no second factor: it doesn't sign in.");
}

async function read(tenant: Tenant, uuid: string) {
	const [[row]] = await tenant.read(select(tenant, uuid));
	assertPerson(tenant);
	return orNotFound(row);
}

export const find = async (tenant: Tenant, uuid: string) => toTwoFactor(await read(tenant, uuid));

const entry = <A extends ActivityOf<"TwoFactor">>(
	{ key }: Tenant,
	{ uuid, email }: Row,
	activity: A,
	proof?: Proof,
) => ({
	activity,
	scope: "TwoFactor" as const,
	item_id: uuid,
	name: email,
	organization: currentOrganization(key.user_id),
	...(proof && { trigger: { second_factor: proof.kind } }),
});

const alreadyEnabled = () =>
	invalid(null, "The second factor is enabled. Disable it first to set up another one.");

/** Creates a secret, which replaces an earlier one, for `confirm`. */
export const begin = (tenant: Tenant, uuid: string) =>
	retry(async () => {
		const row = await read(tenant, uuid);
		if (row.enabled_at !== null) throw alreadyEnabled();
		const { user_id } = row;
		const secret = await newSecret();
		const sealed = await cipherFor(tenant.env, user_id).seal("secret", secret);
		await tenant.write({
			checks: [assertThat(tenant.db, sql`not ${isEnabled(user_id)}`, "is_current")],
			changes: [storeSecret(tenant.db, user_id, sealed)],
			entries: [entry(tenant, row, "begun")],
		});
		return { secret, otpauth_url: await otpauthUrl(secret, row.email) };
	});

/** The sessions that end when the second factor changes. */
const otherSessions = ({ key }: Tenant) => ({ user_id: key.user_id, kept: key.id });

type Ended = Awaited<ReturnType<typeof sessions.select>>;

/** Returns the log entries of sessions that end. */
const entriesOf = ({ key }: Tenant, ended: Ended) =>
	ended.map(({ id, label }) => ({
		activity: "deleted" as const,
		scope: "Session" as const,
		item_id: id,
		name: label,
		organization: currentOrganization(key.user_id),
		trigger: { job: "two_factor" },
	}));

/** Removes the keys of ended sessions from KV, and mails the user. */
async function announce(tenant: Tenant, ended: Ended, change: Change) {
	await Promise.all(ended.map(({ hash }) => evict(tenant.env, hash)));
	tellCaller(tenant, change);
}

/** Reads the caller, counts the attempt in the same round trip, and checks the code. */
async function readAndProve(tenant: Tenant, uuid: string, code: string, check: (row: Row) => void) {
	const { db, env, key } = tenant;
	const attempt = countAttempt(db, key.user_id, keyStillWorks(key.hash, key));
	const [attempts, [user], others] = await tenant.read(
		attempt,
		select(tenant, uuid),
		sessions.select(db, otherSessions(tenant)),
	);
	assertPerson(tenant);
	const row = orNotFound(user);
	check(row);
	if (row.secret === null) throw invalid(null, "No second factor was set up.");
	const proof = await prove(env, { ...row, secret: row.secret }, code, attempts.length > 0);
	const ended = others.map(({ id }) => id);
	return { row, proof, others, areAll: sessions.areAll(otherSessions(tenant), ended) };
}

const assertEnabled = ({ enabled_at }: Row) => {
	if (enabled_at === null) throw invalid(null, "The second factor is not enabled.");
};

/** Statements that replace the user's recovery codes. */
async function replaceWith({ db, env, key }: Tenant, codes: string[]) {
	const deletion = db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, key.user_id));
	const rows = await rowsOf(env, key.user_id, codes);
	return [deletion, insertEach(db, recoveryCodes, rows, sql`true`)];
}

const setEnabled = ({ db, key }: Tenant, is_2fa_enabled: boolean) =>
	db.update(users).set({ is_2fa_enabled }).where(eq(users.id, key.user_id));

/** Enables the second factor with a code, and ends the caller's other sessions. */
export const confirm = (tenant: Tenant, uuid: string, code: string) =>
	retry(async () => {
		const isDisabled = ({ enabled_at }: Row) => {
			if (enabled_at !== null) throw alreadyEnabled();
		};
		const { row, proof, others, areAll } = await readAndProve(tenant, uuid, code, isDisabled);
		const { db } = tenant;
		const recovery_codes = newRecoveryCodes();
		const after = await tenant.write({
			checks: [assertExists(db, twoFactors, and(isUnused(proof, false), areAll))],
			changes: [
				db
					.update(twoFactors)
					.set({ ...afterUse(proof), confirmed_at: now() })
					.where(isFactorOf(proof)),
				...(await replaceWith(tenant, recovery_codes)),
				setEnabled(tenant, true),
				sessions.remove(db, otherSessions(tenant)),
			],
			entries: [entry(tenant, row, "enabled"), ...entriesOf(tenant, others)],
			answer: select(tenant, "@me"),
		});
		await announce(tenant, others, factorEnabled);
		return { ...toTwoFactor(after), recovery_codes };
	});

/** Removes the second factor. Throws 400 if an organization of the caller requires one. */
export const disable = (tenant: Tenant, uuid: string, code: string) =>
	retry(async () => {
		const { row, proof, others, areAll } = await readAndProve(tenant, uuid, code, assertEnabled);
		if (row.is_required)
			throw invalid(null, "An organization that you belong to requires a second factor.");
		const { db } = tenant;
		const mayDisable = and(isUnused(proof, true), sql`not ${isEnforced(row.user_id)}`, areAll);
		const after = await tenant.write({
			checks: [assertExists(db, twoFactors, mayDisable)],
			changes: [
				db.delete(twoFactors).where(isFactorOf(proof)),
				...(await replaceWith(tenant, [])),
				setEnabled(tenant, false),
				sessions.remove(db, otherSessions(tenant)),
			],
			entries: [entry(tenant, row, "disabled", proof), ...entriesOf(tenant, others)],
			answer: select(tenant, "@me"),
		});
		await announce(tenant, others, factorDisabled);
		return toTwoFactor(after);
	});

/** Creates new recovery codes, with a code. The old ones become invalid. */
export const replaceCodes = (tenant: Tenant, uuid: string, code: string) =>
	retry(async () => {
		const { row, proof } = await readAndProve(tenant, uuid, code, assertEnabled);
		const { db } = tenant;
		const recovery_codes = newRecoveryCodes();
		const after = await tenant.write({
			checks: [assertExists(db, twoFactors, isUnused(proof, true))],
			changes: [
				db.update(twoFactors).set(afterUse(proof)).where(isFactorOf(proof)),
				...(await replaceWith(tenant, recovery_codes)),
			],
			entries: [entry(tenant, row, "recovery_codes_replaced", proof)],
			answer: select(tenant, "@me"),
		});
		tellCaller(tenant, codesReplaced);
		return { ...toTwoFactor(after), recovery_codes };
	});
