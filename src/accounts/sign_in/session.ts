import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { assertExists, assertThat } from "../../db/assertion.ts";
import { inList } from "../../db/client.ts";
import type { ActivityOf, Kind } from "../../db/event_types.ts";
import { iso, now } from "../../db/now.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { signIns } from "../../db/schema/sign_in.ts";
import { recoveryCodes, twoFactors } from "../../db/schema/two_factor.ts";
import { users } from "../../db/schema/users.ts";
import { HOUR_MS } from "../../lib/durations.ts";
import { areAll } from "../personal_api_keys/sessions.ts";
import { MAX_KEYS } from "../personal_api_keys/shape.ts";
import { afterUse, isEnabled, isFactorOf, isUnused, type Proof } from "../two_factor/proof.ts";
import { userColumns } from "../users/shape.ts";
import { brokenGlass } from "./break_glass.ts";
import type { SignIn } from "./find.ts";
import { isOpen, needsFactor, ssoOf } from "./rules.ts";

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
	newCodes: (typeof recoveryCodes.$inferInsert)[];
};

/** SQL condition: everything that was checked before the batch is still true. */
function stillAllowed(signIn: SignIn, { proof, removed }: New) {
	const { link, user, factor } = signIn;
	const ids = removed.map(({ id }) => id);
	const kept = sql`(select count(*) from ${personalApiKeys}
		where ${personalApiKeys.user_id} = ${user.id} and not ${inList(personalApiKeys.id, ids)})`;
	const isActive = and(
		eq(users.id, user.id),
		eq(users.is_active, true),
		eq(users.is_email_verified, user.is_email_verified),
		proof ? undefined : sql`not ${needsFactor(link)}`,
		sql`${ssoOf(sql`${users.email}`, link.connection)} is null`,
	);
	return sql`${and(
		sql`exists (select 1 from ${users} where ${isActive})`,
		proof
			? sql`exists (select 1 from ${twoFactors} where ${isUnused(proof, factor.enabled_at !== null)})`
			: link.has_factor
				? undefined
				: sql`not ${isEnabled(user.id)}`,
		sql`${kept} < ${user.is_email_verified ? MAX_KEYS : 1}`,
		setsUpFactor(signIn, proof) ? areAll({ user_id: user.id }, ids) : undefined,
	)}`;
}

function entriesOf(signIn: SignIn, { proof, removed }: New, key_id: string) {
	const { link, user } = signIn;
	const entry = (kind: Kind, item_id: string, name: string) => ({
		...kind,
		item_id,
		name,
		user_id: user.id,
		organization: link.organization_id,
		project: null,
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
		...(link.broken_glass ? [brokenGlass(user, link.broken_glass)] : []),
	];
}

/** Returns the statements that use the second factor, or set it up. */
function useFactor(signIn: SignIn, { proof, newCodes }: New) {
	const { db, user } = signIn;
	if (!proof) return [];
	const isSetUp = setsUpFactor(signIn, proof);
	const codes = eq(recoveryCodes.user_id, user.id);
	const usedCodes = isSetUp
		? codes
		: proof.kind === "recovery_code" && and(codes, eq(recoveryCodes.digest, proof.digest));
	return [
		db
			.update(twoFactors)
			.set({ ...afterUse(proof), ...(isSetUp && { confirmed_at: now() }) })
			.where(isFactorOf(proof)),
		...(usedCodes ? [db.delete(recoveryCodes).where(usedCodes)] : []),
		...(newCodes.length > 0 ? [db.insert(recoveryCodes).values(newCodes)] : []),
	];
}

/** Returns the write that signs in. */
export function signingIn(signIn: SignIn, made: New) {
	const { db, link, user } = signIn;
	const { key, proof, removed } = made;
	const id = v7();
	const removedIds = removed.map((each) => each.id);
	const newKey = {
		id,
		user_id: user.id,
		label: LABEL,
		...key,
		scopes: ["*"],
		expires_at: iso(Date.now() + SESSION_MS),
		is_session: true,
	};
	return {
		checks: [
			assertExists(db, signIns, and(eq(signIns.id, link.id), isOpen())),
			assertThat(db, stillAllowed(signIn, made), "is_current"),
		],
		changes: [
			db.update(signIns).set({ key_id: id }).where(eq(signIns.id, link.id)),
			// Only one of the user's valid links can be used.
			db
				.update(signIns)
				.set({ expires_at: now() })
				.where(and(eq(signIns.user_id, user.id), isOpen())),
			...useFactor(signIn, made),
			db
				.delete(personalApiKeys)
				.where(and(eq(personalApiKeys.user_id, user.id), inList(personalApiKeys.id, removedIds))),
			db.insert(personalApiKeys).values(newKey),
			db
				.update(users)
				.set({ is_email_verified: true, ...(proof && { is_2fa_enabled: true }) })
				.where(eq(users.id, user.id)),
		],
		entries: entriesOf(signIn, made, id),
		answers: {
			users: db.select(userColumns).from(users).where(eq(users.id, user.id)),
			keys: db.select().from(personalApiKeys).where(eq(personalApiKeys.id, id)),
		},
	};
}
