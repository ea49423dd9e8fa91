import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { assertThat } from "../../db/client.ts";
import type { Entry } from "../../db/record.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { members } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { forbidden } from "../../http/errors.ts";
import { mayEdit } from "../levels.ts";
import { reachedBy, reaches } from "./reach.ts";

/*
 * An admin ends a key, an app or a session of a member. Each organization of the member in which it
 * works loses it, so the admin has to be one of each, and the log of each says so
 * (docs/organizations.md#the-page-of-a-member).
 */

const isReached = and(
	eq(members.user_id, personalApiKeys.user_id),
	reaches(members.organization_id),
);

/** SQL condition on `members`: the caller, with the key of the request, may edit the member there. */
const mayEnd = ({ key }: Tenant) => sql`(${mayEdit(key.user_id)} and ${reachedBy(key)})`;

/**
 * Selects the organizations that keys of one member reach, first the one in the path.
 * @param where a condition on `personal_api_keys`
 */
export const selectReached = (tenant: Tenant, where: SQL | undefined) =>
	tenant.db
		.select({
			id: organizations.id,
			name: organizations.name,
			may_end: mayEnd(tenant).mapWith(Boolean).as("may_end"),
		})
		.from(personalApiKeys)
		.innerJoin(members, isReached)
		.innerJoin(organizations, eq(organizations.id, members.organization_id))
		.where(where)
		.groupBy(organizations.id)
		.orderBy(desc(sql`${organizations.id} = ${tenant.organization}`), organizations.id);

type Reached = Awaited<ReturnType<typeof selectReached>>;

/** Throws 403 unless the caller may end keys that reach these organizations. */
export function checkReached(reached: Reached) {
	if (reached.some(({ may_end }) => !may_end))
		throw forbidden(
			"This also gives access to an organization in which you can't end it. Ask the member to end it.",
		);
}

/** Returns the assertion that repeats `checkReached`. */
export const assertReached = (tenant: Tenant, where: SQL | undefined) =>
	assertThat(
		tenant.db,
		sql`not exists (select 1 from ${personalApiKeys} join ${members} on ${isReached}
			where ${where} and not ${mayEnd(tenant)})`,
		"is_current",
	);

/**
 * Returns an entry for the log of each organization.
 * @param email the address of the member
 */
export const entriesIn = <E extends Entry>(
	{ key }: Tenant,
	reached: Reached,
	entry: E,
	email: string,
) =>
	reached.map(({ id }) => ({
		...entry,
		organization: id,
		project: null,
		user_id: key.user_id,
		trigger: { ...entry.trigger, job: "admin", user: email },
	}));
