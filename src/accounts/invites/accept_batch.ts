import { and, eq, ne, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { keyStillWorks } from "../../access/guard.ts";
import { visibleTo } from "../../access/visible.ts";
import { digest, mask, mint } from "../../auth/keys.ts";
import { insertWhere } from "../../db/client.ts";
import { now } from "../../db/now.ts";
import { record } from "../../db/record.ts";
import { invites } from "../../db/schema/invites.ts";
import { isAdminLevel, members } from "../../db/schema/members.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { projectMembers } from "../../db/schema/project_members.ts";
import { projects } from "../../db/schema/projects.ts";
import { isPerson, users } from "../../db/schema/users.ts";
import { needsMoreThanMail } from "../sign_in/rules.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import { type Invitation, inviterMayInvite, isTakeover } from "./invitation.ts";
import type { accept } from "./shape.ts";

/* The statements of the batch that accepts an invite. */

export type Names = z.infer<typeof accept>;

/**
 * Creates the ids and the key of rows that the batch may insert. They exist before the batch, so
 * that its statements can refer to them.
 */
export async function newRows() {
	const value = mint();
	return {
		user_uuid: v7(),
		member_id: v7(),
		key: { value, hash: await digest(value), mask_value: mask(value) },
	};
}

export type NewRows = Awaited<ReturnType<typeof newRows>>;

/**
 * SQL for the id of the user with the invite's email address, who may be created earlier in the
 * same batch.
 */
const userId = ({ invite }: Invitation) =>
	sql<number>`(select ${users.id} from ${users} where ${users.email} = ${invite.target_email})`;

/** SQL condition: the batch has added the member. The first two columns are the primary key. */
export const isNewMember = (invitation: Invitation, { member_id }: NewRows) =>
	sql`exists (select 1 from ${members} where ${members.organization_id} = ${invitation.invite.organization_id}
    and ${members.user_id} = ${userId(invitation)} and ${members.id} = ${member_id})`;

/**
 * SQL conditions for the statements of the batch. They repeat the checks whose result may have
 * changed.
 */
function conditions(invitation: Invitation, rows: NewRows) {
	const { hash, key, invite } = invitation;
	const mayAccept = key
		? keyStillWorks(hash, key)
		: sql`not ${needsMoreThanMail(sql`${invite.target_email}`)}`;
	const isNewUser = sql`exists (select 1 from ${users} where ${users.uuid} = ${rows.user_uuid})`;
	return {
		isOpen: sql`exists (select 1 from ${invites} where ${invites.organization_id} = ${invite.organization_id} and ${invites.id} = ${invite.id} and ${inviterMayInvite}) and ${mayAccept}`,
		isMember: isNewMember(invitation, rows),
		isNewUser,
		// A user created since the check may belong to someone else, so the checks have to run again.
		isSameUser:
			invite.user_id === null
				? isNewUser
				: sql`exists (select 1 from ${users} where ${users.id} = ${invite.user_id} and ${users.is_active})`,
		// The address may have been verified since.
		isTakenOver: sql`(${isTakeover(invitation)} and exists (
    select 1 from ${users} where ${users.email} = ${invite.target_email} and not ${users.is_email_verified}))`,
	};
}

/**
 * Returns the changes, each with its condition: the member is added only if the invite is still
 * open, and all other changes are made only if the member was added.
 */
export function changes(invitation: Invitation, names: Names, rows: NewRows) {
	const { db, invite } = invitation;
	const { organization_id, target_email, level } = invite;
	const user_id = userId(invitation);
	const { isOpen, isMember, isNewUser, isSameUser, isTakenOver } = conditions(invitation, rows);
	return {
		newUser: insertWhere(
			db,
			users,
			{
				uuid: rows.user_uuid,
				email: target_email,
				first_name: names.first_name ?? invite.first_name,
				last_name: names.last_name ?? "",
			},
			sql`${isOpen} and ${user_id} is null`,
		),
		newMember: insertWhere(
			db,
			members,
			{ id: rows.member_id, organization_id, user_id, level },
			sql`${isOpen} and ${isSameUser} and not exists (select 1 from ${members} where ${members.organization_id} = ${organization_id} and ${members.user_id} = ${user_id})`,
		),
		revokedKeys: db
			.delete(personalApiKeys)
			.where(and(eq(personalApiKeys.user_id, user_id), isMember, isTakenOver)),
		newKey: insertWhere(
			db,
			personalApiKeys,
			{
				user_id,
				label: "First key",
				hash: rows.key.hash,
				mask_value: rows.key.mask_value,
				scopes: ["*"],
			},
			sql`${isMember} and (${isNewUser} or ${isTakenOver})`,
		),
		changedUser: db
			.update(users)
			.set({
				current_organization_id: organization_id,
				current_project_id: null,
				...(invite.emailing_attempt_made && { is_email_verified: true }),
			})
			.where(and(eq(users.email, target_email), isMember)),
		newProjectMembers: joinProjects(invitation, isMember),
		usedInvites: db
			.delete(invites)
			.where(
				and(
					eq(invites.organization_id, organization_id),
					eq(invites.target_email, target_email),
					isMember,
				),
			)
			.returning({ id: invites.id }),
		entry: record(
			db,
			{
				activity: "accepted",
				scope: "Invite",
				item_id: invite.id,
				name: target_email,
				user_id,
				organization: sql`${organization_id}`,
				project: sql`null`,
			},
			isMember,
		),
	};
}

/**
 * Adds the invite's project memberships. Skips projects that were deleted, and those in which the
 * inviter may no longer grant the level.
 */
function joinProjects(invitation: Invitation, isMember: SQL) {
	const { db, invite } = invitation;
	const { created_by, private_project_access } = invite;
	if (private_project_access.length === 0) return undefined;
	// If a project is listed more than once, its first entry is used.
	const levels = new Map(
		private_project_access.toReversed().map((access) => [access.id, levelOf(access)]),
	);
	const rows = Array.from(levels, ([project_id, level]) => ({
		id: v7(),
		project_id,
		level,
	}));
	const at = now();
	const level = sql<number>`value ->> 'level'`;
	const inviterLevel = sql`(
    select max(inviter.level, coalesce(project_member.level, 0)) from ${members} as inviter
    left join ${projectMembers} as project_member
      on project_member.project_id = ${projects.id} and project_member.user_id = inviter.user_id
    where inviter.organization_id = ${projects.organization_id} and inviter.user_id = ${created_by})`;
	return db.insert(projectMembers).select(
		db
			.select({
				id: sql<string>`value ->> 'id'`.as("id"),
				project_id: projects.id,
				organization_id: projects.organization_id,
				user_id: userId(invitation).as("user_id"),
				level: level.as("level"),
				joined_at: sql<string>`${at}`.as("joined_at"),
				updated_at: sql<string>`${at}`.as("updated_at"),
			})
			.from(projects)
			.innerJoin(
				sql`json_each(${JSON.stringify(rows)})`,
				sql`${projects.id} = value ->> 'project_id'`,
			)
			.where(
				and(
					isMember,
					eq(projects.organization_id, invite.organization_id),
					visibleTo(created_by),
					sql`${level} <= ${inviterLevel}`,
				),
			),
	);
}

/** Selects the rows for the response and for the mails to admins. */
export function selectResults(invitation: Invitation, rows: NewRows) {
	const { db, invite } = invitation;
	return {
		user: db.select(userColumns).from(users).where(eq(users.email, invite.target_email)),
		key: db.select().from(personalApiKeys).where(eq(personalApiKeys.hash, rows.key.hash)),
		admins: db
			.select({ email: users.email })
			.from(members)
			.innerJoin(users, eq(users.id, members.user_id))
			.where(
				and(
					eq(members.organization_id, invite.organization_id),
					isAdminLevel,
					eq(users.is_active, true),
					isPerson,
					ne(users.email, invite.target_email),
				),
			),
	};
}
