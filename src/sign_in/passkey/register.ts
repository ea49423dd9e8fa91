import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { passkeys, signInStates, twoFactors } from "../../db/schema/sign_in.ts";
import { invalid } from "../../http/errors.ts";
import { verifier } from "../../isolates/webauthn/client.ts";
import { digest } from "../../keys/keys.ts";
import { assertMayGive } from "../../people/personal_api_keys/access.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import { mailCaller, passkeyAdded } from "../../people/users/mails.ts";
import {
	assertProved,
	entriesOf,
	otherSessions,
	type Row,
	read,
	readAndProve,
	replaceWith,
	setEnabled,
} from "../totp/caller.ts";
import {
	hasAsManyPasskeys,
	hasFactor,
	isEnabled,
	isUnused,
	type Proof,
	proofRequired,
	storeSecret,
	useProof,
} from "../totp/proof.ts";
import { newRecoveryCodes } from "../totp/recovery_codes.ts";
import {
	CHALLENGE_MS,
	challengeIn,
	isOpenChallenge,
	newChallenge,
	requestOf,
	takeChallenge,
} from "../webauthn/challenges.ts";
import {
	ALGORITHMS,
	descriptorsOf,
	knownTransports,
	type PasskeyCreation,
	type PasskeyRequest,
} from "../webauthn/shape.ts";
import { expectedOf, handleOf, siteOf } from "../webauthn/verify.ts";
import { entry, isTheirs, select } from "./queries.ts";
import type { create, NewPasskey } from "./shape.ts";

/** How many passkeys a user can have. */
const MAX_PASSKEYS = 20;

/** A passkey signs in to everything, from anywhere, and doesn't expire. */
const GRANTS = {
	scopes: ["*"],
	scoped_organizations: [],
	scoped_projects: [],
	allowed_ips: [],
	expires_at: null,
};

/** @throws 403 or 400 if the caller may not register a passkey (docs/keys.md#passkeys) */
async function assertMayRegister(tenant: Tenant, row: Row) {
	await assertMayGive(tenant, GRANTS);
	assertProved(row);
	if (row.passkeys.length >= MAX_PASSKEYS)
		throw invalid(null, `A user can have at most ${MAX_PASSKEYS} passkeys.`);
}

/** Returns the options for a new passkey. */
export async function begin(
	tenant: Tenant,
	uuid: string,
): Promise<z.infer<typeof PasskeyCreation>> {
	const row = await read(tenant, uuid);
	await assertMayRegister(tenant, row);
	const site = siteOf(tenant.env, tenant.url);
	const { challenge, insertion } = await newChallenge(
		tenant.db,
		"passkey_registration",
		row.user_id,
	);
	await tenant.write({ changes: [insertion] });
	return {
		rp: { id: site.rp_id, name: "Tenantry" },
		user: { id: handleOf(row.uuid), name: row.email, displayName: row.email },
		challenge,
		pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
		timeout: CHALLENGE_MS,
		excludeCredentials: descriptorsOf(row.passkeys),
		authenticatorSelection: { residentKey: "preferred", userVerification: "preferred" },
		attestation: "none",
	};
}

/** Returns the options to prove the second factor with one of the caller's passkeys. */
export async function challenge(
	tenant: Tenant,
	uuid: string,
): Promise<z.infer<typeof PasskeyRequest>> {
	const row = await read(tenant, uuid);
	if (row.passkeys.length === 0) throw invalid(null, "You have no passkey.");
	const site = siteOf(tenant.env, tenant.url);
	const { challenge, insertion } = await newChallenge(tenant.db, "passkey_proof", row.user_id);
	await tenant.write({ changes: [insertion] });
	return requestOf(site, challenge, row.passkeys);
}

type Body = z.infer<typeof create>;

const unverified = (why: string) =>
	invalid("credential", `This passkey can't be registered. ${why}`, "invalid_passkey");

/** Verifies a new passkey, and returns its row. */
async function verify({ env, url, key }: Tenant, { name, credential }: Body) {
	const { response } = credential;
	const expected = expectedOf(env, url, response.clientDataJSON);
	const worker = await verifier(env);
	const result = await worker.register(credential, expected, ALGORITHMS);
	if ("error" in result) throw unverified(result.error);
	if (result.credential_id !== credential.id) throw unverified("It has another id.");
	return {
		...result,
		id: v7(),
		user_id: key.user_id,
		name,
		transports: knownTransports(response.transports),
	};
}

/** Asserts that nothing has changed since the checks. */
function assertMayInsert(
	{ db }: Tenant,
	{ user_id, passkeys: known, enabled_at }: Row,
	{ proof, areAll }: { proof: Proof | undefined; areAll: SQL },
) {
	if (proof)
		return assertExists(
			db,
			twoFactors,
			and(isUnused(proof, enabled_at !== null), hasAsManyPasskeys({ user_id, passkeys: known })),
		);
	return assertThat(db, sql`not ${isEnabled(user_id)} and ${areAll}`, "is_current");
}

/** Statements that enable the second factor. A secret that isn't confirmed yet becomes invalid. */
const enable = async (tenant: Tenant, codes: string[]) => [
	storeSecret(tenant.db, tenant.key.user_id, null),
	...(await replaceWith(tenant, codes)),
	setEnabled(tenant, true),
	sessions.remove(tenant.db, otherSessions(tenant)),
];

/**
 * Registers a passkey. The first factor of a user ends their other sessions, and comes with
 * recovery codes. Another factor takes a proof of one that the user has.
 */
export const insert = (
	tenant: Tenant,
	uuid: string,
	body: Body,
): Promise<z.infer<typeof NewPasskey>> =>
	retry(async () => {
		const { db } = tenant;
		const hash = await digest(challengeIn(body.credential.response.clientDataJSON));
		const isOpen = isOpenChallenge("passkey_registration", hash, tenant.key.user_id);
		const { row, proof, others, areAll } = await readAndProve(tenant, {
			uuid,
			given: body,
			challenge: isOpen,
		});
		await assertMayRegister(tenant, row);
		const isFirst = !hasFactor(row);
		if (!isFirst && !proof) throw proofRequired();
		if (!row.has_challenge) throw unverified("It was asked for too long ago, or is used already.");
		const passkey = await verify(tenant, body);
		const recovery_codes = isFirst ? newRecoveryCodes() : null;
		const ended = isFirst ? others : [];
		const after = await tenant.write({
			checks: [
				assertExists(db, signInStates, isOpen),
				assertMayInsert(tenant, row, { proof, areAll }),
			],
			changes: [
				takeChallenge(db, hash),
				...(proof ? useProof(db, proof) : []),
				db.insert(passkeys).values(passkey),
				...(recovery_codes ? await enable(tenant, recovery_codes) : []),
			],
			entries: [
				{ ...entry(tenant, "created", passkey), values: { name: passkey.name } },
				...entriesOf(ended),
			],
			answer: select(tenant).where(
				and(isTheirs(tenant, uuid), eq(passkeys.credential_id, passkey.credential_id)),
			),
		});
		mailCaller(tenant, passkeyAdded(body.name, isFirst));
		return { ...after, recovery_codes };
	});
