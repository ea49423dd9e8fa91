import { type SQL, sql } from "drizzle-orm";
import { ADMIN, OWNER } from "../db/schema/levels.ts";
import { projects } from "../db/schema/organizations.ts";
import { invites, members, projectMembers, users } from "../db/schema/people.ts";

/*
 * Who may give whom which level (docs/organizations.md#levels): each rule as a function of what was
 * read, with the condition that repeats it when the write runs beside it.
 *
 * Service accounts, groups of SCIM and members of projects need no rule: an admin changes them, and
 * their highest level is an admin's.
 */

type Member = { user_id: number; level: number };

/**
 * Returns why `caller` may not set the level of `target` to `level`, or undefined if it may.
 * @param level undefined: why it may not edit the member at all, which removing it needs, too
 */
export function whyNot(caller: Member, target: Member, level?: number): string | undefined {
	const isSelf = caller.user_id === target.user_id;
	if (!isSelf && caller.level < ADMIN) return "You can only edit others if you are an admin.";
	if (target.level > caller.level)
		return "You can only edit others with level lower or equal to you.";
	if (level === undefined) return undefined;
	if (isSelf) return "You can't change your own access level.";
	if (level === OWNER && caller.level < OWNER)
		return "You can only make another member owner if you're this organization's owner.";
	if (level > caller.level)
		return "You can only change access level of others to lower or equal to your current one.";
	return undefined;
}

/**
 * SQL condition on `members`: the member's level is still at most the caller's. The rest of `whyNot`
 * can't change: each write asserts that the caller's level isn't lower than it was read.
 */
export const isEditableBy = (user_id: number, organization: SQL<number>) => sql`(
	select caller.level from members as caller
	where caller.organization_id = ${organization} and caller.user_id = ${user_id}) >= ${members.level}`;

/**
 * SQL condition on `members`: the user may edit the member, as far as the member's organization is
 * concerned: `whyNot` for any organization.
 */
export const mayEdit = (user_id: number) => sql`exists (
	select 1 from members as caller
	where caller.organization_id = ${members.organization_id} and caller.user_id = ${user_id}
		and caller.level >= ${members.level} and (caller.level >= ${ADMIN} or caller.user_id = ${members.user_id}))`;

/** Returns why `caller` may not reset the second factor of `target`, or undefined if it may. */
export function whyNotResetFactor(caller: Member, target: Member) {
	if (caller.user_id === target.user_id) return "You can't reset your own second factor.";
	if (caller.level < OWNER && target.level >= caller.level)
		return "Only owners can reset the second factor of admins and owners.";
	return undefined;
}

/**
 * SQL condition on `members`: the user may reset the member's second factor, as far as the member's
 * organization is concerned.
 */
export const mayResetFactor = (user_id: number) => sql`exists (
	select 1 from members as caller
	where caller.organization_id = ${members.organization_id} and caller.user_id = ${user_id}
		and caller.user_id <> ${members.user_id}
		and (caller.level >= ${OWNER} or (caller.level >= ${ADMIN} and caller.level > ${members.level})))`;

/** Returns why `caller` may not invite somebody at `level`, or undefined if it may. */
export const whyNotInvite = (caller: Pick<Member, "level">, level: number) =>
	level > caller.level
		? "You cannot invite a user with a higher permission level than your own."
		: undefined;

/** SQL condition on `invites`: the inviter may still invite at this level. */
export const inviterMayInvite = sql`exists (
	select 1 from ${members} join ${users} on ${users.id} = ${members.user_id}
	where ${members.organization_id} = ${invites.organization_id} and ${members.user_id} = ${invites.created_by}
		and ${members.level} >= ${invites.level} and ${users.is_active})`;

/**
 * Returns why `caller` may not invite somebody to a private project at `level`, or undefined if it
 * may.
 * @param own the caller's level in the project; null if it isn't one of the project's members
 */
export const whyNotInviteToProject = (
	caller: Pick<Member, "level">,
	own: number | null,
	level: number,
) =>
	level > Math.max(caller.level, own ?? 0)
		? "You cannot invite to a private project with a higher level than your own."
		: undefined;

/** SQL for the highest level at which a user may invite to a project, on `projects`. */
export const highestProjectLevel = (user_id: number) => sql<number>`(
	select max(inviter.level, coalesce(own.level, 0)) from ${members} as inviter
	left join ${projectMembers} as own on own.project_id = ${projects.id} and own.user_id = inviter.user_id
	where inviter.organization_id = ${projects.organization_id} and inviter.user_id = ${user_id})`;
