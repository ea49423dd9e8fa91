import { and, eq, gte, ne, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import { v7 } from "uuid";
import type * as z from "zod";
import { cache, digest, mask, mint } from "../auth/keys.ts";
import { insertWhere, runBatch } from "../db/client.ts";
import { ADMIN } from "../db/levels.ts";
import { record } from "../db/record.ts";
import {
	invites,
	members,
	now,
	personalApiKeys,
	projectMembers,
	projects,
	users,
} from "../db/schema.ts";
import { rowsOf } from "../db/snapshot.ts";
import type { App } from "../env.ts";
import { found, invalid } from "../http/errors.ts";
import { configured, send } from "../mail/mail.ts";
import { toPersonalApiKey } from "../personal_api_keys/shape.ts";
import { keyStillWorks } from "../tenant/guard.ts";
import { retry } from "../tenant/tenant.ts";
import { visibleTo } from "../tenant/visible.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import {
	findInvitation,
	type Invitation,
	inviterMayInvite,
	isRecipient,
	isTakeover,
} from "./invitation.ts";
import { mailAdmins } from "./mails.ts";
import { type accept as Accept, type Accepted, isPastExpiry } from "./shape.ts";

type Names = z.infer<typeof Accept>;

/**
 * Makes the invited person a member of the organization. If no user has the address, creates one
 * with an API key. If another request changes what was checked before the write, nothing is written
 * and the checks run again.
 * @throws 400 if the invite can't be accepted, 409 if other requests interfered each time, and what
 * `findInvitation` throws
 */
export const accept = (c: Context<App>, token: string, names: Names) =>
	retry(async () => {
		const invitation = await findInvitation(c, token);
		checkAcceptable(invitation);
		return write(c, invitation, names);
	});

/** Throws the first reason why the invite can't be accepted. */
function checkAcceptable(invitation: Invitation) {
	const { key, invite } = invitation;
	const recipient = isRecipient(invitation);
	if (isPastExpiry(invite))
		throw invalid(null, "This invite has expired. Please ask your admin for a new one.", "expired");
	if (!invite.inviter_may_invite)
		throw invalid(
			null,
			"The person who invited you can no longer do so. Please ask for a new invite.",
			"inviter_lost_access",
		);
	if ((key && !recipient) || invite.is_active === false)
		throw invalid(null, "This invite is for another user.", "invalid_recipient");
	if (invite.member_level !== null)
		throw invalid(null, "You already are a member of this organization.", "user_already_member");
	// The holder of a link that wasn't mailed may not own the address, so the user's key is needed.
	if (invite.user_id !== null && !invite.emailing_attempt_made && !recipient)
		throw invalid(
			null,
			"A user with this address already exists. Accept the invite with an API key of that user.",
			"invalid_recipient",
		);
}

/**
 * The ids and the key of rows that the batch may insert. They are made first, so that its
 * statements can refer to them.
 */
async function newRows() {
	const value = mint();
	return {
		user_uuid: v7(),
		member_id: v7(),
		key: { value, hash: await digest(value), mask_value: mask(value) },
	};
}

type NewRows = Awaited<ReturnType<typeof newRows>>;

/**
 * Accepts the invite in one atomic batch. Returns undefined if another request changed what the
 * batch depends on.
 */
async function write(
	c: Context<App>,
	invitation: Invitation,
	names: Names,
): Promise<z.infer<typeof Accepted> | undefined> {
	const { db, invite } = invitation;
	const { idempotency } = c.var;
	const rows = (await idempotency?.once(newRows)) ?? (await newRows());
	if (idempotency?.isDone) return acceptedBefore(invitation, rows, idempotency.rows);
	const results = selectResults(invitation, rows);
	const isMember = sql`exists (select 1 from ${members} where ${members.id} = ${rows.member_id})`;
	const retries = await idempotency?.statements(db, results.user, isMember);
	const { usedInvites, user, key, admins } = await runBatch(db, {
		isUnused: retries?.first,
		...changes(invitation, names, rows),
		...results,
		kept: retries?.last,
	});
	if (usedInvites.length === 0) return undefined;
	const [newKey] = key;
	if (newKey)
		await cache(c.env, newKey.hash, {
			...newKey,
			organizations: newKey.scoped_organizations,
			projects: newKey.scoped_projects,
		});
	const person = found(user[0]);
	if (invite.tells_admins && configured(c.env))
		c.executionCtx.waitUntil(
			Promise.all(
				admins.map(({ email }) => send(c.env, mailAdmins(email, person, invite.organization_name))),
			),
		);
	return {
		organization: membershipOf(invitation),
		user: person,
		personal_api_key: newKey ? toPersonalApiKey(newKey, rows.key.value) : null,
	};
}

const membershipOf = ({ invite }: Invitation) => ({
	id: invite.organization_id,
	name: invite.organization_name,
	slug: invite.slug,
	membership_level: invite.level,
});

/**
 * The response of a request that was killed after its batch. A request with an `Idempotency-Key`
 * has an API key, so its user needed no new one.
 * @param json the rows of the user
 */
async function acceptedBefore(invitation: Invitation, rows: NewRows, json: string) {
	const { db, serve } = invitation;
	serve([{ results: rowsOf(json) }]);
	const [[user]] = await db.batch([selectResults(invitation, rows).user]);
	return { organization: membershipOf(invitation), user: found(user), personal_api_key: null };
}

/**
 * SQL: the id of the user with the invite's address, who may be created earlier in the same batch.
 */
const userId = ({ invite }: Invitation) =>
	sql<number>`(select ${users.id} from ${users} where ${users.email} = ${invite.target_email})`;

/**
 * The changes, each with its condition: the member is added only if the invite is still open, and
 * the rest happens only if the member was added.
 */
function changes(invitation: Invitation, names: Names, rows: NewRows) {
	const { db, hash, key, invite } = invitation;
	const { organization_id, target_email, level } = invite;
	const user_id = userId(invitation);
	const keyWorks = key ? keyStillWorks(hash, key) : sql`1`;
	const isOpen = sql`exists (select 1 from ${invites} where ${invites.id} = ${invite.id} and ${inviterMayInvite}) and ${keyWorks}`;
	const isMember = sql`exists (select 1 from ${members} where ${members.id} = ${rows.member_id})`;
	const isNewUser = sql`exists (select 1 from ${users} where ${users.uuid} = ${rows.user_uuid})`;
	// A user created since the check may belong to somebody else, so the checks have to run again.
	const isSameUser =
		invite.user_id === null
			? isNewUser
			: sql`exists (select 1 from ${users} where ${users.id} = ${invite.user_id} and ${users.is_active})`;
	// Checked again: the address may have been verified since.
	const isTakenOver = sql`(${isTakeover(invitation)} and exists (
    select 1 from ${users} where ${users.email} = ${target_email} and not ${users.is_email_verified}))`;
	const byEmail = eq(users.email, target_email);
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
			.where(and(byEmail, isMember)),
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
 * Adds the invite's project memberships. Skips projects that were deleted, and those where the
 * inviter may no longer give the level.
 */
function joinProjects(invitation: Invitation, isMember: SQL) {
	const { db, invite } = invitation;
	const { created_by, private_project_access } = invite;
	if (private_project_access.length === 0) return undefined;
	// If a project is listed more than once, its first entry counts.
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
function selectResults(invitation: Invitation, rows: NewRows) {
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
					gte(members.level, ADMIN),
					eq(users.is_active, true),
					ne(users.email, invite.target_email),
				),
			),
	};
}
