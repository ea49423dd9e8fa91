import { and, eq, or, sql } from "drizzle-orm";
import type * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { aliased, assertExists, assertThat } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { erasures } from "../../db/schema/erasures.ts";
import { idempotencyKeys } from "../../db/schema/idempotency_keys.ts";
import { OWNER } from "../../db/schema/levels.ts";
import { oauthCodes } from "../../db/schema/oauth.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { inviteMails, invites, members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { scimGroupMembers, scimUsers } from "../../db/schema/scim.ts";
import {
	identities,
	passkeys,
	recoveryCodes,
	signIns,
	twoFactors,
} from "../../db/schema/sign_in.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { evict } from "../../keys/keys.ts";
import { endKeys } from "../../keys/rows.ts";
import { configured, greeting, send, unlinked } from "../../outbound/mail.ts";
import { leave } from "../../people/memberships.ts";
import { proveRead, selectProvable } from "../totp/caller.ts";
import { hasFactor, isEnabled, isUnused, type Proof, proofRequired } from "../totp/proof.ts";
import type { erase as Erase } from "./shape.ts";

/* Users delete themselves (docs/organizations.md#deleting-yourself). */

/** How many organizations an error names. */
const MAX_NAMED = 10;

/** SQL condition on `members`: the owner is the only one of the organization who is active. */
const isOnlyOwner = sql`(${members.level} = ${OWNER} and not exists (
	select 1 from members as m join users as u on u.id = m.user_id
	where m.organization_id = ${members.organization_id} and m.user_id <> ${members.user_id}
		and m.level >= ${OWNER} and u.is_active and not u.is_service_account))`;

/** What an erasure depends on, and what must be known of the user before the rows are gone. */
const selects = ({ db, key: { user_id } }: Tenant) =>
	[
		db
			.select({
				id: members.id,
				organization: members.organization_id,
				level: members.level,
				name: organizations.name,
				is_only_owner: isOnlyOwner.mapWith(Boolean).as("is_only_owner"),
			})
			.from(members)
			.innerJoin(organizations, eq(organizations.id, members.organization_id))
			.where(eq(members.user_id, user_id))
			.orderBy(members.organization_id),
		db
			.select({ hash: personalApiKeys.hash, previous_hash: personalApiKeys.previous_hash })
			.from(personalApiKeys)
			.where(eq(personalApiKeys.user_id, user_id)),
		db
			.select({ first_name: users.first_name, address: aliased(identities.email, "address") })
			.from(users)
			.leftJoin(identities, eq(identities.user_id, users.id))
			.where(eq(users.id, user_id)),
		// Earlier addresses. The log's index of items finds the entries.
		db
			.select({ address: sql<string>`change.value ->> 'before'`.as("former_address") })
			.from(activityLog)
			.innerJoin(members, eq(members.organization_id, activityLog.organization_id))
			.innerJoin(users, eq(users.id, members.user_id))
			.innerJoin(sql`json_each(${activityLog.changes}) as change`, sql`true`)
			.where(
				and(
					eq(members.user_id, user_id),
					eq(activityLog.item_id, users.uuid),
					sql`not ${activityLog.is_system}`,
					eq(activityLog.scope, "User"),
					sql`change.value ->> 'field' = 'email'`,
				),
			),
	] as const;

/** @throws 403 for a key that isn't as good as its owner: an app's, or a restricted one */
function assertWhole({ caller: { key, client_id, is_service_account } }: Tenant) {
	if (is_service_account)
		throw forbidden("Only an admin of its organization can delete a service account.");
	const isWhole =
		key.scopes.includes("*") && key.organizations.length === 0 && key.projects.length === 0;
	if (client_id !== null || !isWhole)
		throw forbidden("Sign in, or use a key with the scope * and without restrictions.");
}

/** The address of the user's row, which remains because the log refers to it. */
const addressAfter = (uuid: string) => `${uuid}@deleted.invalid`;

/** The statements that delete what is the user's, and empty the user's row. */
function removals(
	{ db, key: { user_id } }: Tenant,
	{ uuid, email }: Record<"uuid" | "email", string>,
) {
	return [
		endKeys(db, eq(personalApiKeys.user_id, user_id)),
		db.delete(signIns).where(eq(signIns.user_id, user_id)),
		db.delete(identities).where(eq(identities.user_id, user_id)),
		db.delete(passkeys).where(eq(passkeys.user_id, user_id)),
		db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, user_id)),
		db.delete(twoFactors).where(eq(twoFactors.user_id, user_id)),
		db.delete(oauthCodes).where(eq(oauthCodes.user_id, user_id)),
		db.delete(idempotencyKeys).where(eq(idempotencyKeys.user_id, user_id)),
		db.delete(scimGroupMembers).where(eq(scimGroupMembers.user_id, user_id)),
		db.delete(scimUsers).where(eq(scimUsers.user_id, user_id)),
		// Nobody can accept what somebody sent who has left.
		db.delete(invites).where(or(eq(invites.target_email, email), eq(invites.created_by, user_id))),
		db.delete(inviteMails).where(eq(inviteMails.stranger, email)),
		db
			.update(users)
			.set({
				...{ email: addressAfter(uuid), first_name: "", last_name: "", mascot_config: {} },
				...{ distinct_id: crypto.randomUUID(), is_email_verified: false, is_active: false },
				...{ is_2fa_enabled: false, factor_reset_at: null, last_sign_in_at: null },
				...{ current_organization_id: null, current_project_id: null },
			})
			.where(eq(users.id, user_id)),
	];
}

type Membership = { id: string; name: string; organization: number; level: number };

/** The memberships that end, each with an entry in its organization's log. */
function leavings({ db, key: { user_id } }: Tenant, memberships: Membership[], uuid: string) {
	const name = addressAfter(uuid);
	const left = memberships.map(({ id, level, organization }) => ({
		...leave(db, { id, name, level }, eq(members.user_id, user_id)),
		organization,
	}));
	return {
		changes: left[0]?.changes ?? [],
		entries: left.flatMap(({ entries, organization }) =>
			entries.map((entry) => ({
				...entry,
				organization,
				project: null,
				trigger: { account: "deleted" },
			})),
		),
	};
}

/** What must still be so when an erasure is written. */
function checksOf(
	{ db, key: { user_id } }: Tenant,
	memberships: Membership[],
	{ proof, isApp }: { proof: Proof | undefined; isApp: boolean },
) {
	const current = sql`(select json_group_array(id) from (
		select ${members.id} as id from ${members} where ${members.user_id} = ${user_id} order by ${members.organization_id}))`;
	const isOwnerAlone = sql`exists (select 1 from ${members} where ${members.user_id} = ${user_id} and ${isOnlyOwner})`;
	return [
		proof
			? assertExists(db, twoFactors, isUnused(proof, isApp))
			: assertThat(db, sql`not ${isEnabled(user_id)}`, "is_current"),
		assertThat(
			db,
			sql`${current} is ${JSON.stringify(memberships.map(({ id }) => id))} and not ${isOwnerAlone}`,
			"is_current",
		),
	];
}

/** @throws 400 that names the organizations which would have no owner */
function assertHandedOver(memberships: { name: string; is_only_owner: boolean }[]) {
	const names = memberships.filter((one) => one.is_only_owner).map(({ name }) => `"${name}"`);
	if (names.length === 0) return;
	const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
	throw invalid(
		null,
		`You are the only owner of ${names.slice(0, MAX_NAMED).join(", ")}${more}. Make somebody else an owner, or delete the organization.`,
		"only_owner",
	);
}

/**
 * Deletes the caller: keys, sessions, ways to sign in, memberships and invites at once; the name and
 * address in the activity log in the minutes after it (clear.ts).
 * @throws 403 for an app, a restricted key or a service account; 400 for the only owner of an
 * organization, for another address than the caller's, or without a proof of the second factor
 */
export const erase = (tenant: Tenant, uuid: string, { email, ...given }: z.infer<typeof Erase>) =>
	retry(async () => {
		const { db, env, key } = tenant;
		const [attempts, [caller], memberships, keys, accounts, former] = await tenant.read(
			...(await selectProvable(tenant, { uuid, given })),
			...selects(tenant),
		);
		const row = orNotFound(caller);
		if (email.toLowerCase() !== row.email) throw invalid("email", "This isn't your email address.");
		assertWhole(tenant);
		assertHandedOver(memberships);
		const proof = await proveRead(tenant, { row, attempts, given });
		if (hasFactor(row) && !proof) throw proofRequired();
		const left = leavings(tenant, memberships, row.uuid);
		const known = [
			row.email,
			...accounts.map(({ address }) => address),
			...former.map(({ address }) => address),
		];
		const addresses = [...new Set(known.filter((address) => address !== null))];
		await tenant.write({
			checks: checksOf(tenant, memberships, { proof, isApp: row.enabled_at !== null }),
			changes: [
				...left.changes,
				...removals(tenant, row),
				db.insert(erasures).values({ user_id: key.user_id, uuid: row.uuid, addresses }),
			],
			entries: left.entries,
		});
		const hashes = keys.flatMap(({ hash, previous_hash }) => [hash, previous_hash ?? []].flat());
		tenant.later(() => Promise.all(hashes.map((hash) => evict(env, hash))));
		tenant.later(async () => (await import("./clear.ts")).clearErased(env));
		if (row.is_email_verified && configured(env))
			tenant.later(() => sayGoodbye(env, row.email, accounts[0]?.first_name ?? ""));
	});

/** The last mail, so that whoever didn't expect it can say so. */
const sayGoodbye = (env: Env, to: string, first_name: string) =>
	send(env, {
		to,
		subject: unlinked`Your Tenantry account was deleted`,
		paragraphs: [
			greeting(first_name),
			unlinked`Your account was deleted, with its keys, sessions and memberships. If you didn't do this, tell the admins of your organization at once.`,
		],
	});
