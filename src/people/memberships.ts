import { and, eq, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { v7 } from "uuid";
import { assertThat, type Database, insertEach, type Statement } from "../db/client.ts";
import { AUDITOR } from "../db/schema/access.ts";
import { ACCESS_LEVELS } from "../db/schema/levels.ts";
import { organizations, projects } from "../db/schema/organizations.ts";
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
	// Nobody but SCIM knows somebody who isn't a member: their groups may give roles.
	const access =
		via === "creation" || via === "service_account"
			? null
			: ownLevels(sql`${organization}`, sql`${user_id}`);
	const entry = { scope: "Member", activity: "created", item_id: id, name } as const;
	const changes = [db.insert(members).values({ ...row, access })] as const;
	return { changes, entries: [{ ...entry, values: { level }, trigger: { via } }] };
}

/** Sets the level of members. The caller writes the entry, with what else has changed. */
export const setLevel = (db: Database, where: SQL | undefined, level: number) =>
	db.update(members).set({ level, updated_at: now() }).where(where);

type Leaving = {
	id: string;
	/** The email address. */
	name: string;
	level: number;
	/** How much ends with it, if it was counted. `keys`: no longer reach the organization. */
	projects?: number;
	roles?: number;
	keys?: number;
};

/** Ends a membership, with those of the organization's projects. */
export function leave(
	db: Database,
	{ id, name, level, ...ending }: Leaving,
	where: SQL | undefined,
) {
	const entry = { scope: "Member", activity: "deleted", item_id: id, name } as const;
	const counts = Object.entries(ending).filter(([, count]) => count > 0);
	const values = { level, ...Object.fromEntries(counts) };
	return { changes: [db.delete(members).where(where)], entries: [{ ...entry, values }] };
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

/** Sets the level of memberships of projects. The caller writes the entry. */
export const setProjectLevel = (db: Database, where: SQL | undefined, level: number) =>
	db.update(projectMembers).set({ level, updated_at: now() }).where(where);

/** Ends memberships of projects. */
export const leaveProjects = (db: Database, where: SQL | undefined) =>
	db.delete(projectMembers).where(where);

/**
 * SQL for the ids of a user's roles in an organization: those given by people and by SCIM.
 * @param domain a condition on `domains as d`, whose groups count
 */
export const rolesOf = (organization: SQLWrapper, user_id: SQLWrapper, domain = sql`true`) => sql`
	select rm.role_id from role_members as rm indexed by role_members_user
	where rm.organization_id = ${organization} and rm.user_id = ${user_id}
	union select r.value from domains as d
	join scim_group_members as gm on gm.domain_id = d.id and gm.user_id = ${user_id}
	join scim_groups as g on g.domain_id = gm.domain_id and g.id = gm.group_id
	join json_each(g.roles) as r where d.organization_id = ${organization} and ${domain}`;

/** SQL for the ids of the roles of the member in `members`. */
export const ROLES_OF_MEMBER = rolesOf(sql`members.organization_id`, sql`members.user_id`);

/** SQL for the ids of the users who have a role in an organization. */
export const usersWithRole = (organization: SQLWrapper, role_id: SQLWrapper) => sql`
	select rm.user_id from role_members as rm
	where rm.organization_id = ${organization} and rm.role_id = ${role_id}
	union select gm.user_id from domains as d
	join scim_groups as g on g.domain_id = d.id
	join json_each(g.roles) as r on r.value = ${role_id}
	join scim_group_members as gm on gm.domain_id = g.domain_id and gm.group_id = g.id
	join members as m on m.organization_id = d.organization_id and m.user_id = gm.user_id
	where d.organization_id = ${organization}`;

/** SQL for the keys of `Levels` (src/access/access_levels.ts) and the highest level for each. */
const levelsWhere = (condition: SQL) => sql`
	select g.resource || iif(g.resource_id = '', '', ':' || g.resource_id) as key, max(g.access_level) as level
	from access_controls as g where ${condition} group by 1`;

/** SQL for `members.access` of a user in an organization. */
function ownLevels(organization: SQLWrapper, user_id: SQLWrapper) {
	const its = rolesOf(organization, user_id);
	return sql<string | null>`(
	select nullif(json_group_object(key, level order by key), '{}') from (
		${levelsWhere(sql`g.organization_id = ${organization}
			and (g.user_id = ${user_id} or g.role_id in (${its}))`)}
		union all select '*', ${ACCESS_LEVELS.viewer} where ${AUDITOR} in (${its})))`;
}

const OWN_LEVELS = ownLevels(sql`members.organization_id`, sql`members.user_id`);

const EVERYONES_LEVELS = sql`iif(
	exists (select 1 from access_controls as g where g.organization_id = organizations.id)
		or exists (select 1 from role_members as rm where rm.organization_id = organizations.id)
		or exists (select 1 from domains as d join scim_groups as g on g.domain_id = d.id and g.roles <> '[]'
			where d.organization_id = organizations.id),
	(select json_group_object(key, level order by key) from (
		${levelsWhere(sql`g.organization_id = organizations.id and g.role_id is null and g.user_id is null`)})),
	null)`;

/** The maximum size of what access controls give a member, in bytes: the guard reads it. */
const MAX_ACCESS_BYTES = 16_384;

/**
 * Brings `members.access` and `organizations.access` up to date, after a change of access controls,
 * of roles or of their members in the same batch. A request whose guard has read something else then
 * can't write (src/access/recheck.ts).
 * @param users SQL for the ids of the users whom the change is about
 * @throws (the batch) 409 `limit_reached` if there would be too much for one member
 */
export function applyAccess(
	db: Database,
	organization: SQL<number>,
	users: SQL = sql`select null`,
): Statement[] {
	const isUser = and(
		eq(members.organization_id, organization),
		sql`${members.user_id} in (${users})`,
	);
	const isTooMuch = sql`octet_length(access) > ${MAX_ACCESS_BYTES}`;
	return [
		db
			.update(members)
			// Not a change of the level, whose time this is.
			.set({ access: OWN_LEVELS, updated_at: sql`updated_at` })
			.where(and(isUser, sql`${members.access} is not ${OWN_LEVELS}`)),
		db
			.update(organizations)
			.set({ access: EVERYONES_LEVELS, updated_at: sql`updated_at` })
			.where(
				and(
					eq(organizations.id, organization),
					sql`${organizations.access} is not ${EVERYONES_LEVELS}`,
				),
			),
		assertThat(
			db,
			sql`not exists (select 1 from ${members} where ${isUser} and ${isTooMuch})
				and not exists (select 1 from ${organizations} where ${organizations.id} = ${organization} and ${isTooMuch})`,
			"has_room",
		),
	];
}
