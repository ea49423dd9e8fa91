import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { currentOrganization } from "../../access/visible.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import type { ActivityOf } from "../../db/event_types.ts";
import { twoFactors } from "../../db/schema/sign_in.ts";
import { invalid } from "../../http/errors.ts";
import { now } from "../../lib/time.ts";
import { isEnforced } from "../../people/identities/sign_in_rules.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import {
	codesReplaced,
	factorDisabled,
	factorEnabled,
	mailCaller,
} from "../../people/users/mails.ts";
import {
	assertProved,
	entriesOf,
	factorIsRequired,
	otherSessions,
	type Row,
	read,
	readAndProve,
	removeFactor,
	replaceWith,
	select,
	setEnabled,
} from "./caller.ts";
import {
	afterUse,
	cipherFor,
	type Given,
	hasAsManyPasskeys,
	hasFactor,
	isEnabled,
	isFactorOf,
	isGiven,
	isUnused,
	type Proof,
	proofRequired,
	storeSecret,
	useProof,
} from "./proof.ts";
import { newRecoveryCodes } from "./recovery_codes.ts";
import type { TwoFactor } from "./shape.ts";
import { newSecret, otpauthUrl } from "./totp.ts";

const toTwoFactor = (row: Row): z.infer<typeof TwoFactor> => ({
	is_enabled: hasFactor(row),
	enabled_at: row.enabled_at,
	passkeys: row.passkeys.length,
	is_required: row.is_required,
	recovery_codes_left: row.digests.length,
});

export const find = async (tenant: Tenant, uuid: string) => toTwoFactor(await read(tenant, uuid));

const entry = <A extends ActivityOf<"TwoFactor">>(
	{ key }: Tenant,
	{ uuid, email }: Row,
	{ activity, proof }: { activity: A; proof?: Proof | undefined },
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

const assertDisabled = ({ enabled_at }: Row) => {
	if (enabled_at !== null) throw alreadyEnabled();
};

/**
 * Creates a secret, which replaces an earlier one, for `confirm`. A user with passkeys has to prove
 * one of their factors.
 */
export const begin = (tenant: Tenant, uuid: string, given: Given) =>
	retry(async () => {
		const { db, env } = tenant;
		const { row, proof } = await readAndProve(tenant, {
			uuid,
			given,
			check: (row) => {
				assertDisabled(row);
				assertProved(row);
				if (hasFactor(row) && !isGiven(given)) throw proofRequired();
			},
		});
		const secret = await newSecret();
		const sealed = await cipherFor(env, row.user_id).seal("secret", secret);
		await tenant.write({
			checks: [
				proof
					? assertExists(db, twoFactors, isUnused(proof, false))
					: assertThat(db, sql`not ${isEnabled(row.user_id)}`, "is_current"),
			],
			changes: [...(proof ? useProof(db, proof) : []), storeSecret(db, row.user_id, sealed)],
			entries: [entry(tenant, row, { activity: "begun", proof })],
		});
		return { secret, otpauth_url: await otpauthUrl(secret, row.email) };
	});

/** Like `readAndProve`, with a proof. */
async function readProved(tenant: Tenant, request: Parameters<typeof readAndProve>[1]) {
	const { proof, ...rest } = await readAndProve(tenant, request);
	if (!proof) throw proofRequired();
	return { proof, ...rest };
}

/** Enables the authenticator app with a code, and ends the caller's other sessions. */
export const confirm = (tenant: Tenant, uuid: string, code: string) =>
	retry(async () => {
		const { row, proof, others, areAll } = await readProved(tenant, {
			uuid,
			given: { code },
			check: (row) => {
				assertDisabled(row);
				if (row.secret === null) throw invalid(null, "No second factor was set up.");
			},
			isSettingUp: true,
		});
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
			entries: [entry(tenant, row, { activity: "enabled" }), ...entriesOf(others)],
			answer: select(tenant, "@me"),
		});
		mailCaller(tenant, factorEnabled);
		return { ...toTwoFactor(after), recovery_codes };
	});

const notEnabled = () => invalid(null, "The second factor is not enabled.");

/** Statements that remove the authenticator app; passkeys and recovery codes stay. */
const removeApp = ({ db, key }: Tenant) => [
	db
		.update(twoFactors)
		.set({ secret: null, confirmed_at: null })
		.where(eq(twoFactors.user_id, key.user_id)),
];

/**
 * Removes the authenticator app. Throws 400 if it is the only factor, and an organization of the
 * caller requires one.
 */
export const disable = (tenant: Tenant, uuid: string, given: Given) =>
	retry(async () => {
		const { row, proof, others, areAll } = await readProved(tenant, {
			uuid,
			given,
			check: ({ enabled_at }) => {
				if (enabled_at === null) throw notEnabled();
			},
		});
		const isLast = row.passkeys.length === 0;
		if (row.is_required && isLast) throw factorIsRequired();
		const { db } = tenant;
		const mayDisable = and(
			isUnused(proof, true),
			hasAsManyPasskeys(row),
			isLast ? sql`not ${isEnforced(row.user_id)}` : undefined,
			areAll,
		);
		const after = await tenant.write({
			checks: [assertExists(db, twoFactors, mayDisable)],
			changes: [
				...useProof(db, proof),
				...(isLast ? await removeFactor(tenant) : removeApp(tenant)),
				sessions.remove(db, otherSessions(tenant)),
			],
			entries: [entry(tenant, row, { activity: "disabled", proof }), ...entriesOf(others)],
			answer: select(tenant, "@me"),
		});
		mailCaller(tenant, factorDisabled(isLast));
		return toTwoFactor(after);
	});

/** Creates new recovery codes. The old ones become invalid. */
export const replaceCodes = (tenant: Tenant, uuid: string, given: Given) =>
	retry(async () => {
		const { row, proof } = await readProved(tenant, {
			uuid,
			given,
			check: (row) => {
				if (!hasFactor(row)) throw notEnabled();
			},
		});
		const { db } = tenant;
		const recovery_codes = newRecoveryCodes();
		const after = await tenant.write({
			checks: [assertExists(db, twoFactors, isUnused(proof, row.enabled_at !== null))],
			changes: [...useProof(db, proof), ...(await replaceWith(tenant, recovery_codes))],
			entries: [entry(tenant, row, { activity: "recovery_codes_replaced", proof })],
			answer: select(tenant, "@me"),
		});
		mailCaller(tenant, codesReplaced);
		return { ...toTwoFactor(after), recovery_codes };
	});
