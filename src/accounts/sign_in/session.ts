import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { selectMadeDue } from "../../access/wake.ts";
import { inList, insertEach, insertWhere } from "../../db/client.ts";
import type { ActivityOf, Kind } from "../../db/event_types.ts";
import { iso, now } from "../../db/now.ts";
import { insertEntries } from "../../db/record.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { signIns } from "../../db/schema/sign_in.ts";
import { recoveryCodes, twoFactors } from "../../db/schema/two_factor.ts";
import { users } from "../../db/schema/users.ts";
import { HOUR_MS } from "../../lib/durations.ts";
import { areAll } from "../personal_api_keys/sessions.ts";
import { MAX_KEYS } from "../personal_api_keys/shape.ts";
import { isEnforced } from "../two_factor/enforced.ts";
import { afterUse, isUnused, itsFactor, type Proof } from "../two_factor/proof.ts";
import { userColumns } from "../users/shape.ts";
import type { SignIn } from "./find.ts";
import { isOpen, ssoOf } from "./rules.ts";

/* The statements of the batch that signs in (docs/keys.md#signing-in). */

const LABEL = "Console";

/** How long the key of a session is valid. */
const SESSION_MS = 12 * HOUR_MS;

type Key = SignIn["keys"][number];

/** Whether signing in with this proof sets up the second factor. */
export const setsUpFactor = ({ factor }: SignIn, proof: Proof | undefined) =>
	proof !== undefined && factor.enabled_at === null;

/**
 * Returns the keys that are removed when the user signs in: those of expired sessions, and those of
 * the oldest other sessions if the user has too many keys. If the second factor is set up: those of
 * all other sessions. If the user's email address hasn't been verified: all keys, because they may
 * belong to someone else.
 */
export function chooseRemoved(signIn: SignIn, proof: Proof | undefined): Key[] {
	const { keys, user } = signIn;
	if (!user.is_email_verified) return keys;
	if (setsUpFactor(signIn, proof)) return keys.filter(({ is_session }) => is_session);
	const isOver = ({ is_session, expires_at }: Key) =>
		is_session && expires_at !== null && expires_at <= now();
	const over = keys.filter(isOver);
	const left = keys.filter((key) => !isOver(key));
	const tooMany = Math.max(0, left.length - MAX_KEYS + 1);
	return [...over, ...left.filter(({ is_session }) => is_session).slice(0, tooMany)];
}

type New = {
	key: { hash: string; mask_value: string };
	/** undefined: no second factor was needed. */
	proof: Proof | undefined;
	removed: Key[];
	/** The rows of new recovery codes, if the second factor was set up. */
	recoveryCodes: (typeof recoveryCodes.$inferInsert)[];
};

/** SQL condition: everything that was checked before the batch is still true. */
function stillAllowed(signIn: SignIn, { proof, removed }: New) {
	const { user, factor } = signIn;
	const ids = removed.map(({ id }) => id);
	const kept = sql`(select count(*) from ${personalApiKeys}
		where ${personalApiKeys.user_id} = ${user.id} and not ${inList(personalApiKeys.id, ids)})`;
	const theFactor = (condition: SQL | undefined) =>
		sql`exists (select 1 from ${twoFactors} where ${condition})`;
	const enabled = and(eq(twoFactors.user_id, user.id), sql`${twoFactors.confirmed_at} is not null`);
	const isActive = and(
		eq(users.id, user.id),
		eq(users.is_active, true),
		eq(users.is_email_verified, user.is_email_verified),
		proof ? undefined : eq(users.is_2fa_enabled, false),
		sql`${ssoOf(sql`${users.email}`)} is null`,
	);
	return and(
		sql`exists (select 1 from ${users} where ${isActive})`,
		proof
			? theFactor(isUnused(proof, factor.enabled_at !== null))
			: sql`not ${isEnforced(user.id)} and not ${theFactor(enabled)}`,
		sql`${kept} < ${user.is_email_verified ? MAX_KEYS : 1}`,
		setsUpFactor(signIn, proof) ? areAll({ user_id: user.id }, ids) : undefined,
	);
}

/** Returns the activity log entries as rows. */
function entriesOf(signIn: SignIn, { proof, removed }: New, key_id: string) {
	const { link, user } = signIn;
	const entry = (kind: Kind, item_id: string, name: string) => ({
		...kind,
		item_id,
		name,
		user_id: user.id,
		organization_id: link.organization_id,
		trigger: { job: "sign_in" },
	});
	const ofFactor = (activity: ActivityOf<"TwoFactor">) =>
		entry({ scope: "TwoFactor", activity }, user.uuid, user.email);
	const ofKey = (activity: ActivityOf<"PersonalApiKey">, id: string, label: string) =>
		entry({ scope: "PersonalApiKey", activity }, id, label);
	return [
		...removed.map(({ id, label }) => ofKey("deleted", id, label)),
		...(setsUpFactor(signIn, proof) ? [ofFactor("enabled")] : []),
		...(proof?.kind === "recovery_code" ? [ofFactor("recovery_code_used")] : []),
		ofKey("created", key_id, LABEL),
	];
}

/** Returns the statements that use the second factor, or set it up. */
function useFactor(signIn: SignIn, made: New, isUsed: SQL) {
	const { db, user } = signIn;
	const { proof } = made;
	if (!proof) return {};
	const isSetUp = setsUpFactor(signIn, proof);
	return {
		factor: db
			.update(twoFactors)
			.set({ ...afterUse(proof), ...(isSetUp && { confirmed_at: now() }) })
			.where(and(itsFactor(proof), isUsed)),
		usedCodes: db
			.delete(recoveryCodes)
			.where(
				and(
					eq(recoveryCodes.user_id, user.id),
					proof.kind === "recovery_code" ? eq(recoveryCodes.digest, proof.digest) : undefined,
					isSetUp || proof.kind === "recovery_code" ? isUsed : sql`false`,
				),
			),
		newCodes: insertEach(db, recoveryCodes, made.recoveryCodes, isUsed),
	};
}

/** Returns the batch. All its statements depend on the first one, which uses the link. */
export function statements(env: Env, signIn: SignIn, made: New) {
	const { db, link, user } = signIn;
	const { key, proof, removed } = made;
	const id = v7();
	const isUsed = sql`exists (select 1 from ${signIns} where ${signIns.id} = ${link.id} and ${signIns.key_id} = ${id})`;
	const removedIds = removed.map((each) => each.id);
	const row = {
		id,
		user_id: user.id,
		label: LABEL,
		...key,
		scopes: ["*"],
		expires_at: iso(Date.now() + SESSION_MS),
		is_session: true,
	};
	return {
		used: db
			.update(signIns)
			.set({ key_id: id })
			.where(and(eq(signIns.id, link.id), isOpen(), stillAllowed(signIn, made)))
			.returning({ id: signIns.id }),
		// Only one of the user's valid links can be used.
		otherLinks: db
			.update(signIns)
			.set({ expires_at: now() })
			.where(and(eq(signIns.user_id, user.id), isOpen(), isUsed)),
		...useFactor(signIn, made, isUsed),
		removedKeys: db
			.delete(personalApiKeys)
			.where(
				and(eq(personalApiKeys.user_id, user.id), inList(personalApiKeys.id, removedIds), isUsed),
			),
		newKey: insertWhere(db, personalApiKeys, row, isUsed),
		changedUser: db
			.update(users)
			.set({ is_email_verified: true, ...(proof && { is_2fa_enabled: true }) })
			.where(and(eq(users.id, user.id), isUsed)),
		entries: insertEntries(db, entriesOf(signIn, made, id), isUsed),
		users: db.select(userColumns).from(users).where(eq(users.id, user.id)),
		keys: db.select().from(personalApiKeys).where(eq(personalApiKeys.id, id)),
		due: selectMadeDue(env, db, link.organization_id),
	};
}
