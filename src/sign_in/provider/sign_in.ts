import { and, eq, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import { commit, retry } from "../../access/unit_of_work.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import type { Entry } from "../../db/record.ts";
import { MEMBER } from "../../db/schema/levels.ts";
import { domains } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { identities, LIFETIME_MS, signIns } from "../../db/schema/sign_in.ts";
import type { App } from "../../env.ts";
import { addressOf } from "../../keys/addresses.ts";
import { digest, newToken } from "../../keys/keys.ts";
import { iso, now } from "../../lib/time.ts";
import { singleLine } from "../../outbound/mail.ts";
import { methodOf } from "../../people/connections.ts";
import { join } from "../../people/memberships.ts";
import { identityLinked, mailChange } from "../../people/users/mails.ts";
import {
	checkFound,
	createsAccounts,
	type Found,
	find,
	hasOther,
	isIdentity,
	linkedSubject,
	signsIn,
} from "./find.ts";
import type { Verified } from "./shape.ts";

/*
 * From a verified account at a provider to a link that signs in
 * (docs/sign-on.md#how-people-sign-in).
 */

/**
 * Finds, links or creates the user, and returns the token of a sign-in link. If another request
 * changes what was checked before the write, nothing is written and the checks run again.
 * @throws SignInError if this account at the provider can't sign in
 */
export const signIn = (c: Context<App>, who: Verified) =>
	retry(async () => {
		const found = await find(c, who);
		checkFound(found);
		const { linked, account } = found;
		const token = newToken();
		const link = linkOf(found, await digest(token));
		const { checks, changes, entries } = linked
			? signInExisting(found, linked)
			: account
				? linkIdentity(found, account)
				: provision(found);
		await commit(c.env, found.db, { checks, changes: [...changes, link], entries }, c);
		if (!linked && account)
			c.executionCtx.waitUntil(mailChange(c.env, account.id, identityLinked(who), addressOf(c)));
		return token;
	});

const userOf = ({ who }: Found) =>
	sql<number>`(select ${users.id} from ${users} where ${users.email} = ${who.email})`;

/** Returns the statement that inserts the link. */
function linkOf(found: Found, token_hash: string) {
	const { db, who, linked } = found;
	const at = Date.now();
	return db.insert(signIns).values({
		user_id: linked?.id ?? userOf(found),
		token_hash,
		created_at: iso(at),
		expires_at: iso(at + LIFETIME_MS),
		method: methodOf(who.connection),
		connection: who.connection,
		has_factor: who.has_factor,
	});
}

type User = Pick<NonNullable<Found["linked"]>, "id">;

/** The domain that the sign-in depends on still allows it. */
const stillSignsIn = ({ db, who }: Found, isJit = false) =>
	assertExists(db, domains, and(signsIn(who), isJit ? createsAccounts : undefined));

const stillActive = ({ db }: Found, { id }: User) =>
	assertExists(db, users, and(eq(users.id, id), eq(users.is_active, true)));

/** The parts of the write that signs in a user whose identity is known. */
const signInExisting = (found: Found, user: User) => ({
	checks: [
		assertExists(found.db, identities, and(isIdentity(found.who), eq(identities.user_id, user.id))),
		stillActive(found, user),
		...(found.who.domain_id === null ? [] : [stillSignsIn(found)]),
	],
	changes: [found.db.update(identities).set({ last_used_at: now() }).where(isIdentity(found.who))],
	entries: [],
});

/** The statements that make the account at the provider the user's. */
export function identityOf(
	found: Pick<Found, "db" | "who">,
	user_id: number | ReturnType<typeof userOf>,
) {
	const { db, who } = found;
	const { connection, subject, email } = who;
	return {
		checks: [
			assertThat(
				db,
				sql`${linkedSubject(sql`${connection}`, sql`${subject}`)} is null and not ${hasOther(sql`${user_id}`, who)}`,
				"is_current",
			),
		],
		changes: [db.insert(identities).values({ connection, subject, email, user_id })],
	};
}

/** Returns an entry of the log of the domain's organization. */
const entryOf = (found: Found, user_id: number | ReturnType<typeof userOf>) => {
	const { who, domain } = found;
	const trigger = { job: "sign_in", connection: who.connection };
	return <E extends Pick<Entry, "scope" | "activity" | "item_id" | "trigger">>(entry: E) => ({
		...entry,
		name: who.email,
		user_id,
		organization: domain?.organization_id ?? null,
		project: null,
		trigger: { ...trigger, ...entry.trigger },
	});
};

const linkedEntry = ({ connection, email }: Verified) =>
	({
		scope: "Identity",
		activity: "created",
		item_id: connection,
		values: { connection, email },
	}) as const;

/** The parts of the write that links an existing user. */
function linkIdentity(found: Found, user: User) {
	const { checks, changes } = identityOf(found, user.id);
	return {
		checks: [stillSignsIn(found), stillActive(found, user), ...checks],
		changes,
		entries: [entryOf(found, user.id)(linkedEntry(found.who))],
	};
}

const MAX_NAME = 150;

/** Returns a name from a provider as it is stored. */
const nameFrom = (text: string) => singleLine(text).slice(0, MAX_NAME);

/** The parts of the write that creates a user, who becomes a member (just-in-time provisioning). */
function provision(found: Found) {
	const { db, who, domain } = found;
	const user_id = userOf(found);
	const { checks, changes } = identityOf(found, user_id);
	const organization = domain?.organization_id ?? 0;
	const level = domain?.jit_provisioning_level ?? MEMBER;
	const joined = join(db, { organization, user_id, level, name: who.email, via: "sso" });
	const uuid = v7();
	const sign = entryOf(found, user_id);
	return {
		checks: [
			stillSignsIn(found, true),
			assertThat(db, sql`${user_id} is null`, "is_current"),
			...checks,
		],
		changes: [
			db.insert(users).values({
				uuid,
				email: who.email,
				first_name: nameFrom(who.first_name),
				last_name: nameFrom(who.last_name),
				is_email_verified: true,
				current_organization_id: organization,
			}),
			...joined.changes,
			...changes,
		],
		entries: [
			sign({ scope: "User", activity: "created", item_id: uuid, values: { email: who.email } }),
			...joined.entries.map(sign),
			sign(linkedEntry(who)),
		],
	};
}
