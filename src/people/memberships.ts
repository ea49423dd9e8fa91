import { and, eq, type SQL, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { type Database, insertEach, type Statement } from "../db/client.ts";
import { projects } from "../db/schema/organizations.ts";
import { members, projectMembers } from "../db/schema/people.ts";
import { now } from "../lib/time.ts";

/*
 * The door for memberships: no other file writes `members` or `project_members`, which
 * scripts/check/doors.ts verifies. Its functions return parts of the caller's write. Who may
 * do what is in levels.ts.
 */

/** How somebody becomes a member: `detail.trigger.via` of `member.created` (docs/events.md#types). */
type Via = "creation" | "invite" | "sso" | "scim" | "service_account";

type Joining = {
	organization: number | SQL<number>;
	user_id: number | SQL<number>;
	level: number;
	/** The email address, or the name of a service account. */
	name: string;
	via: Via;
};

/** Makes a user a member of an organization. The user may be created earlier in the batch. */
export function join(db: Database, { organization, user_id, level, name, via }: Joining) {
	const id = v7();
	// Set here, so that the trigger `members_insert` doesn't have to change it.
	const is_active = via !== "service_account";
	const row = { id, organization_id: organization, user_id, level, is_active };
	const entry = { scope: "Member", activity: "created", item_id: id, name } as const;
	const changes = [db.insert(members).values(row)] as const;
	return { changes, entries: [{ ...entry, values: { level }, trigger: { via } }] };
}

/** Sets the level of members. The caller writes the entry, with what else has changed. */
export const setLevel = (db: Database, where: SQL | undefined, level: number) =>
	db.update(members).set({ level, updated_at: now() }).where(where);

/**
 * Ends a membership, with those of the organization's projects.
 * @param name the email address
 */
export function leave(
	db: Database,
	{ id, name, level }: { id: string; name: string; level: number },
	where: SQL | undefined,
) {
	const entry = { scope: "Member", activity: "deleted", item_id: id, name } as const;
	return { changes: [db.delete(members).where(where)], entries: [{ ...entry, values: { level } }] };
}

/** A new membership of a project. */
type ProjectJoining = { id: string; project_id: number; level: number; user_id?: number };

/**
 * Makes members of the organization members of those projects that it still has.
 * @param user_id SQL for the user of all rows, if they have none
 * @param condition SQL condition for each row, in which `projects` is its project
 */
export function joinProjects(
	db: Database,
	rows: ProjectJoining[],
	{
		organization,
		user_id,
		condition,
	}: { organization: SQL<number>; user_id?: SQL<number>; condition?: SQL | undefined },
): Statement[] {
	if (rows.length === 0) return [];
	const isProject = and(
		sql`${projects.id} = value ->> 'project_id'`,
		eq(projects.organization_id, organization),
		condition,
	);
	return [
		insertEach(db, projectMembers, {
			rows,
			condition: sql`exists (select 1 from ${projects} where ${isProject})`,
			computed: { organization_id: organization, ...(user_id && { user_id }) },
		}),
	];
}

/** Ends memberships of projects. */
export const leaveProjects = (db: Database, where: SQL | undefined) =>
	db.delete(projectMembers).where(where);
