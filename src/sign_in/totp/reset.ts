import { and, eq, ne, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { aliased, assertExists, assertThat } from "../../db/client.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { isPerson, members, users } from "../../db/schema/people.ts";
import { isOpen, passkeys, recoveryCodes, signIns, twoFactors } from "../../db/schema/sign_in.ts";
import { forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { dateAndTime } from "../../lib/dates.ts";
import { now } from "../../lib/time.ts";
import { consoleOf } from "../../outbound/console.ts";
import { addressText, linkTo, trusted, unlinked } from "../../outbound/mail.ts";
import { mayResetFactor, whyNotResetFactor } from "../../people/levels.ts";
import { select as selectMembers } from "../../people/members/queries.ts";
import { reachedBy } from "../../people/personal_api_keys/reach.ts";
import * as sessions from "../../people/personal_api_keys/sessions.ts";
import { factorResetBy, mailChange, mailOwners } from "../../people/users/mails.ts";
import { assertPerson, proveRead, selectProvable } from "./caller.ts";
import { type Given, hasFactor, isEnabled, isUnused, proofRequired, useProof } from "./proof.ts";

/* Admins reset the second factor of a member who has lost it (docs/keys.md#a-lost-second-factor). */

/**
 * SQL condition on `users`: the caller may reset the factor as far as all organizations of the user
 * are concerned. It protects each of them, and none may weaken another's.
 */
const mayReset = ({ key }: Tenant) => sql`not exists (
	select 1 from ${members} where ${members.user_id} = ${users.id}
		and not (${mayResetFactor(key.user_id)} and ${reachedBy(key)}))`;

const isMember = (tenant: Tenant, uuid: string) =>
	and(
		eq(members.organization_id, tenant.organization),
		isPerson,
		uuid === "@me" ? eq(users.id, tenant.key.user_id) : eq(users.uuid, uuid.toLowerCase()),
	);

const selectTarget = (tenant: Tenant, uuid: string) =>
	tenant.db
		.select({
			user_id: aliased(users.id, "target_id"),
			uuid: users.uuid,
			email: users.email,
			level: members.level,
			organization_name: organizations.name,
			has_factor: isEnabled(users.id).mapWith(Boolean).as("has_factor"),
			may_reset: mayReset(tenant).mapWith(Boolean).as("may_reset"),
			/** The ids of all organizations of the user. */
			organizations:
				sql`(select json_group_array(m.organization_id) from members as m where m.user_id = ${users.id})`
					.mapWith((json): number[] => JSON.parse(json))
					.as("organization_ids"),
		})
		.from(members)
		.innerJoin(users, eq(users.id, members.user_id))
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(isMember(tenant, uuid));

type Target = Awaited<ReturnType<typeof selectTarget>>[number];

/** Throws 403 if the caller may not reset the member's factor. */
function check({ caller, key }: Tenant, target: Target) {
	const why = whyNotResetFactor({ user_id: key.user_id, level: caller.level }, target);
	if (why) throw forbidden(why);
	if (!target.may_reset)
		throw forbidden(
			"The member also belongs to an organization in which you can't do this. Ask the operator of the service.",
		);
}

/** Finds a member whose factor the caller may reset. */
export async function findResettable(tenant: Tenant, uuid: string) {
	const target = await tenant.find(selectTarget(tenant, uuid));
	check(tenant, target);
	return target;
}

/** The statements that remove a member's factor and everything that could sign in without it. */
const removal = ({ db }: Tenant, user_id: number) => [
	db.delete(twoFactors).where(eq(twoFactors.user_id, user_id)),
	db.delete(passkeys).where(eq(passkeys.user_id, user_id)),
	db.delete(recoveryCodes).where(eq(recoveryCodes.user_id, user_id)),
	db
		.update(users)
		.set({ is_2fa_enabled: false, factor_reset_at: now() })
		.where(eq(users.id, user_id)),
	db
		.update(signIns)
		.set({ expires_at: now() })
		.where(and(eq(signIns.user_id, user_id), isOpen())),
	sessions.remove(db, { user_id }),
];

/**
 * Resets a member's second factor, after the caller has proved their own.
 * @throws 403 if the caller may not, 400 if the caller or the member has none
 */
export const reset = (tenant: Tenant, uuid: string, given: Given) =>
	retry(async () => {
		const { db } = tenant;
		const [attempts, [caller], [found]] = await tenant.read(
			...(await selectProvable(tenant, { uuid: "@me", given })),
			selectTarget(tenant, uuid),
		);
		assertPerson(tenant);
		const [row, target] = [orNotFound(caller), orNotFound(found)];
		check(tenant, target);
		if (!target.has_factor) throw invalid(null, "The member has no second factor.");
		if (!hasFactor(row))
			throw invalid(
				null,
				"Set up a second factor of your own first: you prove it to reset another one.",
				"two_factor_setup_required",
			);
		const proof = await proveRead(tenant, { row, attempts, given });
		if (!proof) throw proofRequired();
		const isStillAllowed = sql`exists (select 1 from ${users} where ${and(
			eq(users.id, target.user_id),
			isEnabled(users.id),
			mayReset(tenant),
		)})`;
		const after = await tenant.write({
			checks: [
				assertExists(db, twoFactors, isUnused(proof, row.enabled_at !== null)),
				assertThat(db, isStillAllowed, "is_current"),
			],
			changes: [...useProof(db, proof), ...removal(tenant, target.user_id)],
			entries: target.organizations.map((organization) => ({
				activity: "reset" as const,
				scope: "TwoFactor" as const,
				item_id: target.uuid,
				name: target.email,
				organization,
				project: null,
				trigger: { second_factor: proof.kind },
			})),
			answer: selectMembers(tenant).where(isMember(tenant, uuid)),
		});
		tenant.later(() =>
			mailChange(tenant.env, target.user_id, factorResetBy(target.organization_name), null),
		);
		tenant.later(() => tellOwners(tenant, target, row.email));
		return after;
	});

/** Mails the owners of all organizations of the member. */
const tellOwners = ({ env, address }: Tenant, target: Target, by: string) =>
	mailOwners(
		env,
		and(
			sql`${members.organization_id} in (select value from json_each(${JSON.stringify(target.organizations)}))`,
			ne(users.id, target.user_id),
		),
		(organization) => ({
			subject: unlinked`The second factor of a member was reset on Tenantry`,
			paragraphs: [
				unlinked`${addressText(by)} has reset the second factor of ${addressText(target.email)} on ${trusted(dateAndTime(new Date()))}, from the IP address ${trusted(address ?? "(unknown)")}.`,
				unlinked`Their sessions have ended. They sign in again with a link by mail, and can then set up a new second factor. If this is unexpected, deactivate or remove both, and ask them.`,
			],
			link: {
				label: "See the member",
				url: linkTo(env.APP_URL, consoleOf(organization).memberWith(target.email)),
			},
		}),
	);
