import { and, eq, getTableColumns, isNotNull, sql } from "drizzle-orm";
import { assertExists, assertThat, inList } from "../../db/client.ts";
import { users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { isOpen, recoveryCodes, signIns, twoFactors } from "../../db/schema/sign_in.ts";
import { expiryOf, maxMinutes } from "../../keys/lifetime.ts";
import { endKeys, mint } from "../../keys/rows.ts";
import { now } from "../../lib/time.ts";
import { needsFactor, ssoOf } from "../../people/identities/sign_in_rules.ts";
import {
	areAll,
	endEntry,
	valuesOf as sessionValues,
} from "../../people/personal_api_keys/sessions.ts";
import { userColumns } from "../../people/users/shape.ts";
import {
	afterUse,
	hasFactor,
	isEnabled,
	isFactorOf,
	isUnused,
	type Proof,
	useProof,
} from "../totp/proof.ts";
import { brokenGlass } from "./break_glass.ts";
import type { SignIn } from "./find.ts";

/* The statements of the batch that signs in (docs/keys.md#signing-in). */

const LABEL = "Console";

/** How many sessions a user can have. */
const MAX_SESSIONS = 25;

/** The longest `User-Agent` that is stored. Those of browsers have some 100 characters. */
const MAX_USER_AGENT_CHARACTERS = 300;

type Key = SignIn["keys"][number];

/** Whether signing in with this proof sets up the second factor. */
export const setsUpFactor = ({ factor }: SignIn, proof: Proof | undefined) =>
	proof !== undefined && !hasFactor(factor);

const isOver = ({ expires_at }: Pick<Key, "expires_at">) =>
	expires_at !== null && expires_at <= now();

/**
 * Returns the keys that are removed when the user signs in: those of expired sessions, and of the
 * oldest sessions if the user has too many. If the second factor is set up: those of all other
 * sessions. If the user's email address hasn't been verified: all keys, because they may belong to
 * someone else.
 */
export function chooseRemoved(signIn: SignIn, proof: Proof | undefined): Key[] {
	const { keys, user } = signIn;
	if (!user.is_email_verified) return keys;
	const sessions = keys.filter(({ session }) => session !== null);
	if (setsUpFactor(signIn, proof)) return sessions;
	const current = sessions.filter((session) => !isOver(session));
	const tooMany = Math.max(0, current.length - MAX_SESSIONS + 1);
	return [...sessions.filter(isOver), ...current.slice(0, tooMany)];
}

/**
 * Returns the API keys that are revoked when the user signs in: those that were created before the
 * email address was verified.
 */
export const chooseRevoked = ({ keys, user }: Pick<SignIn, "keys" | "user">): Key[] =>
	user.is_email_verified ? [] : keys.filter(({ session }) => session === null);

/** Returns the session that the browser had before, unless it is one of `removed`. */
const otherReplaced = ({ replaced }: SignIn, removed: Key[]) =>
	replaced && !removed.some(({ id }) => id === replaced.id) ? replaced : undefined;

/**
 * Mints the key of the session.
 * @param address the caller's IP address
 */
export function newSession(
	{ db, link, user }: SignIn,
	address: string | undefined,
	user_agent: string | undefined,
) {
	const at = now();
	return mint(db, {
		user_id: user.id,
		label: LABEL,
		scopes: ["*"],
		created_at: at,
		last_used_at: at,
		expires_at: expiryOf(user.id, sql`${at}`),
		session: {
			method: link.method,
			connection: link.connection,
			address: address ?? null,
			user_agent: user_agent?.slice(0, MAX_USER_AGENT_CHARACTERS) ?? null,
		},
	});
}

type New = {
	key: Awaited<ReturnType<typeof newSession>>;
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
	const isKept = and(
		eq(personalApiKeys.user_id, user.id),
		sql`not ${inList(personalApiKeys.id, ids)}`,
		user.is_email_verified ? isNotNull(personalApiKeys.session) : undefined,
	);
	const kept = sql`(select count(*) from ${personalApiKeys} where ${isKept})`;
	const isActive = and(
		eq(users.id, user.id),
		eq(users.is_active, true),
		eq(users.is_email_verified, user.is_email_verified),
		sql`${users.factor_reset_at} is ${link.factor_reset_at}`,
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
		sql`${kept} < ${user.is_email_verified ? MAX_SESSIONS : 1}`,
		setsUpFactor(signIn, proof) ? areAll({ user_id: user.id }, ids) : undefined,
	)}`;
}

function entriesOf(signIn: SignIn, { proof, removed }: New, key_id: string) {
	const { link, user } = signIn;
	const replaced = otherReplaced(signIn, removed);
	const signature = { user_id: user.id, organization: link.organization_id, project: null };
	const trigger = { job: "sign_in" };
	const ofFactor = (activity: "enabled" | "recovery_code_used") => ({
		...{ scope: "TwoFactor" as const, activity, item_id: user.uuid, name: user.email },
		...{ trigger, ...signature },
	});
	const session = { scope: "Session" as const, ...signature };
	return [
		...removed.map(({ id, label, scopes, ...key }) =>
			key.session
				? {
						...{ ...session, activity: "deleted" as const, item_id: id, name: label },
						values: sessionValues(key),
						trigger: isOver(key) ? { job: "expired" } : trigger,
					}
				: {
						...{ scope: "PersonalApiKey" as const, activity: "deleted" as const, ...signature },
						...{ item_id: id, name: label, values: { label, scopes }, trigger },
					},
		),
		...(replaced ? [endEntry(replaced, "sign_in")] : []),
		...(setsUpFactor(signIn, proof) ? [ofFactor("enabled")] : []),
		...(proof?.kind === "recovery_code" ? [ofFactor("recovery_code_used")] : []),
		{
			...{ ...session, activity: "created" as const, item_id: key_id, name: LABEL },
			values: { method: link.method, connection: link.connection },
			trigger: { ...trigger, ...(proof && { second_factor: proof.kind }) },
		},
		...(link.broken_glass ? [brokenGlass(user, link.broken_glass)] : []),
	];
}

/** Returns the statements that use the second factor, or set it up. */
function useFactor(signIn: SignIn, { proof, newCodes }: New) {
	const { db, user } = signIn;
	if (!proof) return [];
	const isSetUp = setsUpFactor(signIn, proof);
	if (!isSetUp) return useProof(db, proof);
	return [
		db
			.update(twoFactors)
			.set({ ...afterUse(proof), confirmed_at: now() })
			.where(isFactorOf(proof)),
		db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, user.id)),
		...(newCodes.length > 0 ? [db.insert(recoveryCodes).values(newCodes)] : []),
	];
}

/** Returns the write that signs in. */
export function signingIn(signIn: SignIn, session: New) {
	const { db, link, user } = signIn;
	const { key, proof, removed } = session;
	const { id } = key.row;
	const removedIds = removed.map((each) => each.id);
	const replaced = otherReplaced(signIn, removed);
	return {
		checks: [
			assertExists(db, signIns, and(eq(signIns.id, link.id), isOpen())),
			assertThat(db, stillAllowed(signIn, session), "is_current"),
		],
		changes: [
			db.update(signIns).set({ key_id: id }).where(eq(signIns.id, link.id)),
			// Only one of the user's valid links can be used.
			db
				.update(signIns)
				.set({ expires_at: now() })
				.where(and(eq(signIns.user_id, user.id), isOpen())),
			...useFactor(signIn, session),
			endKeys(
				db,
				and(eq(personalApiKeys.user_id, user.id), inList(personalApiKeys.id, removedIds)),
			),
			...(replaced ? [endKeys(db, eq(personalApiKeys.id, replaced.id))] : []),
			key.insert,
			db
				.update(users)
				.set({
					is_email_verified: true,
					factor_reset_at: null,
					last_sign_in_at: now(),
					...(proof && { is_2fa_enabled: true }),
				})
				.where(eq(users.id, user.id)),
		],
		entries: entriesOf(signIn, session, id),
		answers: {
			users: db.select(userColumns).from(users).where(eq(users.id, user.id)),
			keys: db
				.select({
					...getTableColumns(personalApiKeys),
					max_minutes: maxMinutes(user.id).as("max_minutes"),
				})
				.from(personalApiKeys)
				.where(eq(personalApiKeys.id, id)),
		},
	};
}
