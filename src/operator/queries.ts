import { and, count, desc, eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type * as z from "zod";
import { commit, retry } from "../access/unit_of_work.ts";
import { currentOrganization } from "../access/visible.ts";
import { changes } from "../db/changes.ts";
import { assertExists, type Database } from "../db/client.ts";
import type { OtherKind } from "../db/event_types.ts";
import type { Details } from "../db/record.ts";
import { domains, organizations } from "../db/schema/organizations.ts";
import { isPerson, members, users } from "../db/schema/people.ts";
import { identities, passkeys, recoveryCodes, twoFactors } from "../db/schema/sign_in.ts";
import { selectLinks, unlinking } from "../people/identities/links.ts";
import * as sessions from "../people/personal_api_keys/sessions.ts";
import { factorReset, identityUnlinked, mailChange, OPERATOR } from "../people/users/mails.ts";
import { isEnabled } from "../sign_in/totp/proof.ts";
import {
	byOperator,
	type list,
	OperatorError,
	type organizationSet,
	required,
	type user as User,
	type userUnlink as UserUnlink,
} from "./shape.ts";

/**
 * Selects a user, and creates entries for the activity log: one for each of their organizations,
 * since changes of the user concern all of them.
 */
async function withOrganizations(db: Database, email: string) {
	const byEmail = eq(users.email, email);
	const [[found], memberships] = await db.batch([
		db
			.select({
				id: users.id,
				uuid: users.uuid,
				is_active: users.is_active,
				has_factor: isEnabled(users.id).mapWith(Boolean).as("has_factor"),
			})
			.from(users)
			.where(byEmail),
		db
			.select({ organization_id: members.organization_id })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(byEmail),
	]);
	const user = required(found, "user with this email address");
	const entries = (kind: OtherKind & Pick<Details, "changes">) =>
		memberships.map(({ organization_id: organization }) =>
			byOperator({ ...kind, organization, item_id: user.uuid, name: email }),
		);
	return { user, entries };
}

export const deactivateUser = (env: Env, { email }: z.infer<typeof User>) =>
	retry(async () => {
		const db = drizzle(env.DB);
		const { user, entries } = await withOrganizations(db, email);
		const isActive = and(eq(users.id, user.id), eq(users.is_active, true));
		const change = { field: "is_active", action: "changed", before: true, after: false } as const;
		if (user.is_active)
			await commit(env, db, {
				checks: [assertExists(db, users, isActive)],
				changes: [db.update(users).set({ is_active: false }).where(eq(users.id, user.id))],
				entries: entries({ activity: "deactivated", scope: "User", changes: [change] }),
			});
		return { deactivated: email };
	});

/**
 * Removes the second factor of a user who has lost it, with its recovery codes and all passkeys, and
 * ends all sessions of the user.
 * @throws OperatorError if the user has none
 */
export const resetTwoFactor = (env: Env, { email }: z.infer<typeof User>) =>
	retry(async () => {
		const db = drizzle(env.DB);
		const { user, entries } = await withOrganizations(db, email);
		required(user.has_factor || undefined, "second factor for this user");
		const isOwnFactor = eq(twoFactors.user_id, user.id);
		await commit(env, db, {
			checks: [assertExists(db, twoFactors, isOwnFactor)],
			changes: [
				db.delete(twoFactors).where(isOwnFactor),
				db.delete(passkeys).where(eq(passkeys.user_id, user.id)),
				db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, user.id)),
				db.update(users).set({ is_2fa_enabled: false }).where(eq(users.id, user.id)),
				sessions.remove(db, { user_id: user.id }),
			],
			entries: entries({ activity: "disabled", scope: "TwoFactor" }),
		});
		await mailChange(env, user.id, factorReset, null);
		return { reset: email };
	});

/** SQL for the organization of a connection's domain or, for others, the user's current one. */
const organizationOf = (connection: string, user_id: number) => sql<number>`coalesce(
	(select ${domains.organization_id} from ${domains} where ${domains.id} = ${connection.split(":")[1] ?? ""}),
	${currentOrganization(user_id)})`;

/**
 * Unlinks the accounts of a user at providers, so that other accounts can be linked.
 * @param connection as in `identities`: only this one
 * @throws OperatorError if none is linked
 */
export const unlinkUser = (env: Env, { email, connection }: z.infer<typeof UserUnlink>) =>
	retry(async () => {
		const db = drizzle(env.DB);
		const [found] = await db.select({ id: users.id }).from(users).where(eq(users.email, email));
		const { id } = required(found, "user with this email address");
		const where = and(
			eq(identities.user_id, id),
			connection ? eq(identities.connection, connection) : undefined,
		);
		const links = await selectLinks(db, where);
		required(links[0], "account at a provider that is linked to this user");
		const { entries, ...parts } = unlinking(db, where, links);
		await commit(env, db, {
			...parts,
			entries: entries.map((entry) =>
				byOperator({ ...entry, organization: organizationOf(String(entry.item_id), id) }),
			),
		});
		for (const link of links) await mailChange(env, id, identityUnlinked(link, OPERATOR), null);
		return { unlinked: email, connections: links.map((link) => link.connection) };
	});

export async function setOrganization(
	env: Env,
	{ id, features, ...values }: z.infer<typeof organizationSet>,
) {
	const available_product_features = features?.map((key) => ({
		key,
		name: key,
	}));
	const body = {
		...values,
		...(available_product_features && { available_product_features }),
	};
	if (Object.keys(body).length === 0)
		throw new OperatorError(
			"Nothing to set: give --plugins-access-level, --feature or --customer-id.",
		);
	const db = drizzle(env.DB);
	const byId = eq(organizations.uuid, id);
	const [before] = await db.select().from(organizations).where(byId);
	const row = required(before, "organization with this id");
	const changed = changes(row, body);
	if (changed.length > 0)
		await commit(env, db, {
			checks: [assertExists(db, organizations, byId)],
			changes: [db.update(organizations).set(body).where(byId)],
			entries: [
				byOperator({
					activity: "updated",
					scope: "Organization",
					item_id: id,
					name: row.name,
					changes: changed,
					organization: row.id,
				}),
			],
		});
	return { organization: id, ...body };
}

/** Lists organizations, newest first. */
export async function listOrganizations({ DB }: Env, { limit }: z.infer<typeof list>) {
	const db = drizzle(DB);
	const [results, [total]] = await db.batch([
		db
			.select({
				id: organizations.uuid,
				name: organizations.name,
				members: organizations.active_members,
				plugins_access_level: organizations.plugins_access_level,
				created_at: organizations.created_at,
			})
			.from(organizations)
			.orderBy(desc(organizations.id))
			.limit(limit),
		db.select({ count: count() }).from(organizations),
	]);
	return { count: total?.count, results };
}

/** Lists users without service accounts, newest first. */
export async function listUsers({ DB }: Env, { limit }: z.infer<typeof list>) {
	const db = drizzle(DB);
	const organizationCount = sql<number>`(select count(*) from members where members.user_id = users.id)`;
	const keyCount = sql<number>`(select count(*) from personal_api_keys where personal_api_keys.user_id = users.id)`;
	const [results, [total]] = await db.batch([
		db
			.select({
				email: users.email,
				name: sql<string>`trim(${users.first_name} || ' ' || ${users.last_name})`.as("name"),
				is_active: users.is_active,
				organizations: organizationCount.as("organizations"),
				keys: keyCount.as("keys"),
				created_at: users.created_at,
			})
			.from(users)
			.where(isPerson)
			.orderBy(desc(users.id))
			.limit(limit),
		db.select({ count: count() }).from(users).where(isPerson),
	]);
	return { count: total?.count, results };
}
