import { and, eq, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { keyStillWorks } from "../../access/recheck.ts";
import { visibleTo } from "../../access/visible.ts";
import { assertExists, assertThat } from "../../db/client.ts";
import { notMoving } from "../../db/schema/organizations.ts";
import { invites, members, users } from "../../db/schema/people.ts";
import { personalApiKeys } from "../../db/schema/personal_api_keys.ts";
import { endKeys, mint } from "../../keys/rows.ts";
import { needsMoreThanMail } from "../identities/sign_in_rules.ts";
import { highestProjectLevel, inviterMayInvite } from "../levels.ts";
import * as memberships from "../memberships.ts";
import { userColumns } from "../users/shape.ts";
import { levelOf } from "./access.ts";
import { type Invitation, isTakeover } from "./invitation.ts";
import type { accept } from "./shape.ts";

/** SQL for the id of the user with the invite's email address, who may be created by the batch. */
const userId = ({ invite }: Invitation) =>
	sql<number>`(select ${users.id} from ${users} where ${users.email} = ${invite.target_email})`;

/** Returns assertions that repeat the checks whose result may have changed. */
function checksOf(invitation: Invitation) {
	const { db, hash, key, invite } = invitation;
	const { organization_id, target_email, user_id, is_email_verified } = invite;
	const mayAccept = key
		? keyStillWorks(hash, key)
		: sql`not ${needsMoreThanMail(sql`${target_email}`)}`;
	const isMember = sql`exists (select 1 from ${members}
		where ${members.organization_id} = ${organization_id} and ${members.user_id} = ${userId(invitation)})`;
	return [
		assertExists(
			db,
			invites,
			and(
				eq(invites.organization_id, organization_id),
				eq(invites.id, invite.id),
				inviterMayInvite,
				notMoving(invites.organization_id),
				mayAccept,
			),
		),
		assertThat(db, sql`not ${isMember}`, "is_current"),
		user_id === null
			? // A user who was created since may belong to someone else.
				assertThat(db, sql`${userId(invitation)} is null`, "is_current")
			: assertExists(
					db,
					users,
					sql`${users.id} = ${user_id} and ${users.is_active} and ${users.is_email_verified} is ${is_email_verified}`,
				),
	];
}

/** Mints the key of a new user, or of one whose email address the invite verifies. */
export const firstKey = (invitation: Invitation) =>
	mint(invitation.db, { user_id: userId(invitation), label: "First key", scopes: ["*"] });

/** Returns the write that accepts an invite. */
export function acceptance(
	invitation: Invitation,
	names: z.infer<typeof accept>,
	key: Awaited<ReturnType<typeof firstKey>>,
) {
	const { db, invite } = invitation;
	const { organization_id, target_email, level } = invite;
	const user_id = userId(invitation);
	const newUser = {
		uuid: v7(),
		email: target_email,
		first_name: names.first_name ?? invite.first_name,
		last_name: names.last_name ?? "",
	};
	const revokeKeys = endKeys(db, eq(personalApiKeys.user_id, user_id));
	const isNewUser = invite.user_id === null;
	const joined = memberships.join(db, {
		organization: organization_id,
		user_id,
		level,
		name: target_email,
		via: "invite",
	});
	const signature = { user_id, organization: organization_id, project: null };
	return {
		checks: checksOf(invitation),
		changes: [
			...(isNewUser ? [db.insert(users).values(newUser)] : []),
			...joined.changes,
			...(isTakeover(invitation) ? [revokeKeys] : []),
			...(isNewUser || isTakeover(invitation) ? [key.insert] : []),
			db
				.update(users)
				.set({
					current_organization_id: organization_id,
					current_project_id: null,
					...(invite.emailing_attempt_made && { is_email_verified: true }),
				})
				.where(eq(users.email, target_email)),
			...joinProjects(invitation),
			db
				.delete(invites)
				.where(
					and(eq(invites.organization_id, organization_id), eq(invites.target_email, target_email)),
				),
		],
		entries: [
			{
				activity: "accepted" as const,
				scope: "Invite" as const,
				item_id: invite.id,
				name: target_email,
				...signature,
			},
			...joined.entries.map((entry) => ({ ...entry, ...signature })),
		],
		answers: {
			users: db.select(userColumns).from(users).where(eq(users.email, target_email)),
			/** None if the user keeps their keys. */
			keys: key.select,
		},
	};
}

/** Joins projects that still exist and whose level the inviter may still grant. */
function joinProjects(invitation: Invitation) {
	const { db, invite } = invitation;
	const { created_by, private_project_access } = invite;
	// If a project is listed more than once, its first entry is used.
	const levels = new Map(
		private_project_access.toReversed().map((access) => [access.id, levelOf(access)]),
	);
	const rows = Array.from(levels, ([project_id, level]) => ({ id: v7(), project_id, level }));
	const condition = and(
		visibleTo(created_by, "editor"),
		sql`value ->> 'level' <= ${highestProjectLevel(created_by)}`,
	);
	return memberships.joinProjects(db, rows, {
		organization: sql`${invite.organization_id}`,
		user_id: userId(invitation),
		condition,
	});
}
