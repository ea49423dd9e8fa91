import { and, type Column, eq, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { inList } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { countWhere } from "../db/list.ts";
import { type AccessLevel, ADMIN } from "../db/schema/levels.ts";
import { organizations, projects } from "../db/schema/organizations.ts";
import { members, projectMembers, users } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import type { Key } from "../keys/keys.ts";
import { ADMIN_LEVEL, CALLER, everyoneIn, forCaller, mayView } from "./access_levels.ts";
import type { QueryScope } from "./query_scope.ts";
import { type Scope, scopesWith } from "./scopes.ts";

/**
 * SQL condition on `organizations`: it allows the app with this `client_id`, or there is none
 * because the key isn't an app's (docs/oauth.md#allowing-only-some-apps). Issuers that the
 * organization trusts aren't apps, but their ids are `client_id`s, too.
 */
export const allowsApp = (client_id: SQLWrapper): SQL => sql`(
  ${organizations.allowed_apps} is null or ${client_id} is null
  or exists (select 1 from json_each(${organizations.allowed_apps}) where value = ${client_id})
  or exists (select 1 from trusted_issuers as t where t.id = ${client_id} and t.organization_id = ${organizations.id}))`;

/** A tenant with the restrictions of its key, as recorded in KV. */
type Restricted = QueryScope & { key: Pick<Key, "organizations" | "projects"> };

/** SQL condition: the caller is an admin of the organization in the path. */
export const isAdmin = ({ key, organization }: QueryScope) => sql`exists (
  select 1 from ${members} where ${members.organization_id} = ${organization} and ${members.user_id} = ${key.user_id} and ${members.level} >= ${ADMIN})`;

/** Without parameters, because D1 allows 100 of them in a statement. */
const isProjectMember = sql`exists (select 1 from ${projectMembers}
  where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${members.user_id})`;
const PRIVACY = { isPrivate: projects.access_control, isProjectMember };

/**
 * SQL condition on `projects` and `members`: the member may view the project, or has `need`.
 * @param everyone SQL for `organizations.access`
 */
export const isOpen = (everyone: SQLWrapper, need?: AccessLevel) =>
	mayView(
		{ own: members.access, everyone, resource: "project", id: projects.id, privacy: PRIVACY },
		sql`case when ${members.level} >= ${ADMIN_LEVEL} then 4 when not ${projects.access_control} and ${everyone} is null then 3 end,`,
		need,
	);

/**
 * SQL condition on `projects`: the caller may view this project of the tenant's organization, or has
 * `need`.
 */
const isOpenHere = (tenant: QueryScope, need?: AccessLevel) => {
	const isProjectMember = sql`exists (select 1 from ${projectMembers}
  where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${tenant.key.user_id})`;
	const privacy = { isPrivate: projects.access_control, isProjectMember };
	const isOpen = mayView(
		{ ...CALLER, resource: "project", id: projects.id, privacy },
		sql`case when not ${projects.access_control} and ${CALLER.isWithout} then 3 end,`,
		need,
	);
	return forCaller(tenant, isOpen);
};

/** SQL condition on `projects`: the user can see the project, or has `need`. */
export const visibleTo = (
	user_id: number | Column | SQL<number>,
	need?: AccessLevel,
) => sql`exists (
  select 1 from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
  where ${members.organization_id} = ${projects.organization_id} and ${members.user_id} = ${user_id} and ${isOpen(organizations.access, need)})`;

const { client_id, scoped_organizations, scoped_projects } = personalApiKeys;

/** SQL condition: the key in use has the scope. */
export const keyHasScope = ({ key }: QueryScope, scope: Scope) => sql`exists (
  select 1 from ${personalApiKeys}, json_each(${personalApiKeys.scopes})
  where ${personalApiKeys.id} = ${key.id} and value in ${scopesWith(scope)})`;

/** FROM clause for `personal_api_keys`: the organizations that a key is restricted to, as `o`. */
const scopedIds = sql`json_each(${scoped_organizations}) join organizations as o on o.uuid = value`;

/** SQL condition on `projects`: the restrictions of the key in use include the project. */
const reachableProject = ({ key }: QueryScope) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_projects} = '[]' or ${projects.id} in (select value from json_each(${scoped_projects})))
    and (${scoped_organizations} = '[]' or ${projects.organization_id} in (select o.id from ${scopedIds}))
    and (${client_id} is null or exists (
      select 1 from ${organizations} where ${organizations.id} = ${projects.organization_id} and ${allowsApp(client_id)})))`;

/** SQL for FROM and WHERE: the projects of the tenant's organization that the caller can see. */
export const ofVisibleProjects = (tenant: QueryScope) => sql`
  from ${projects} where ${projects.organization_id} = ${tenant.organization} and ${isOpenHere(tenant)}`;

/** SQL condition: the caller can see the project, and the key's restrictions include it. */
export const visibleProject = (tenant: QueryScope) =>
	sql`${visibleTo(tenant.key.user_id)} and ${reachableProject(tenant)}`;

/** Like `visibleProject`, for the projects of the tenant's organization. */
export const visibleProjectHere = (tenant: QueryScope, need?: AccessLevel) =>
	sql`${isOpenHere(tenant, need)} and ${reachableProject(tenant)}`;

/** Selects the given projects that belong to the organization and that the caller can see. */
export const selectVisibleProjects = (tenant: QueryScope, ids: number[] = []) =>
	tenant.db
		.select({ id: projects.id })
		.from(projects)
		.where(
			and(
				eq(projects.organization_id, tenant.organization),
				inList(projects.id, ids),
				visibleProjectHere(tenant),
			),
		);

/** Returns SQL for a condition on the row of the key in use. */
const keyWhere = ({ key }: QueryScope, condition: SQL) =>
	sql`(select ${condition} from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id})`;

/**
 * SQL conditions for lists read with a restricted key. They start from the key's own lists of ids,
 * so that a page reads only what the key can access. Whether the key has restrictions is known from
 * the record in KV, which may be old: if the key has none in D1, the conditions include everything
 * of the caller.
 */
const listedOrganization = (tenant: QueryScope) => sql`${members.organization_id} in (
  select o.id from ${personalApiKeys}, ${scopedIds} where ${personalApiKeys.id} = ${tenant.key.id}
  union all select listed.organization_id from ${personalApiKeys}, json_each(${scoped_projects}) join projects as listed on listed.id = value
    where ${personalApiKeys.id} = ${tenant.key.id}
  union all select own.organization_id from ${personalApiKeys} join members as own on own.user_id = ${tenant.key.user_id}
    where ${personalApiKeys.id} = ${tenant.key.id} and ${scoped_organizations} = '[]' and ${scoped_projects} = '[]')`;
const listedProject = (tenant: QueryScope) => sql`${projects.id} in (
  select value from ${personalApiKeys}, json_each(${scoped_projects}) where ${personalApiKeys.id} = ${tenant.key.id}
  union all select mine.id from ${personalApiKeys} join members as own on own.user_id = ${tenant.key.user_id}
    join projects as mine on mine.organization_id = own.organization_id
    where ${personalApiKeys.id} = ${tenant.key.id} and ${scoped_projects} = '[]')`;

/**
 * Returns a list of the projects that the caller can see, for a select from `projects` joined with
 * `members` on `join`.
 * @param organization the condition on `members` for the organization; without it, the projects of
 * all organizations are listed
 * @param search only projects whose name contains this text
 */
export function visibleProjects(
	tenant: Restricted,
	organization: SQL | undefined,
	search?: string,
) {
	const { user_id } = tenant.key;
	const within = and(
		organization,
		tenant.key.organizations.length > 0 ? listedOrganization(tenant) : undefined,
	);
	const isMine = and(
		sql`${members.user_id} = ${user_id}`,
		within,
		reachableProject(tenant),
		search ? contains(projects.name, search) : undefined,
	);
	const isVisible =
		tenant.kind === "organization"
			? isOpenHere(tenant)
			: isOpen(everyoneIn(sql`${members.organization_id}`));
	// The + prevents SQLite from using the index of an organization's projects.
	const listed = {
		join: sql`${members.organization_id} = +${projects.organization_id}`,
		where: and(isMine, isVisible, listedProject(tenant)),
	};
	const counted = sql`(select count(*) from ${projects} join ${members} on ${listed.join} where ${listed.where})`;
	const total = search
		? counted
		: sql`iif(${keyWhere(tenant, sql`${scoped_projects} = '[]'`)}, ${visibleCount(tenant, PROJECTS, within)}, ${counted})`;
	return tenant.key.projects.length > 0
		? { ...listed, total }
		: {
				join: sql`${members.organization_id} = ${projects.organization_id}`,
				where: and(isMine, isVisible),
				total,
			};
}

/** The numbers of objects in all projects, in those that aren't private, and in one project. */
const ofOrganization = sql`select count(*) from projects as its where its.organization_id = ${members.organization_id}`;
const PROJECTS = {
	all: sql`(${ofOrganization})`,
	open: sql`(${ofOrganization} and not its.access_control)`,
	each: sql`1`,
};

/**
 * SQL for the number of objects in the projects that the caller can see: for an admin, all projects
 * of the organization; for others, those that aren't private and the private ones that they are a
 * member of, or those that access controls let them view.
 * @param within the condition on `members` for the memberships that count. The key's restrictions
 * to projects are ignored.
 */
function visibleCount(
	tenant: QueryScope,
	{ all, open, each }: Record<"all" | "open" | "each", SQL>,
	within: SQL | undefined,
) {
	const inPrivate = sql`coalesce((
    select sum(${each}) from project_members as own join ${projects} on ${projects.id} = own.project_id
    where own.organization_id = ${members.organization_id} and own.user_id = ${members.user_id} and ${projects.access_control}), 0)`;
	// No subquery about the key depends on the membership, so the row of the key isn't read for each.
	const isReachable = sql`(${keyWhere(tenant, sql`${scoped_organizations} = '[]' and ${client_id} is null`)}
    or ((${keyWhere(tenant, sql`${scoped_organizations} = '[]'`)} or ${members.organization_id} in (
      select o.id from ${personalApiKeys}, ${scopedIds} where ${personalApiKeys.id} = ${tenant.key.id}))
      and ${allowsApp(keyWhere(tenant, sql`${client_id}`))}))`;
	const counted = and(sql`${members.user_id} = ${tenant.key.user_id}`, within, isReachable);
	const controlled = sql`(select coalesce(sum(${each}), 0) from ${projects}
    where ${projects.organization_id} = ${members.organization_id} and ${isOpen(organizations.access)})`;
	const byPrivacy = sql`iif(${organizations.access} is null, ${open} + ${inPrivate}, ${controlled})`;
	return sql`(select coalesce(sum(iif(${members.level} >= ${ADMIN}, ${all}, ${byPrivacy})), 0)
    from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id} where ${counted})`;
}

/**
 * SQL condition: the key's restrictions include the organization or one of its projects, and the
 * organization allows the app, if the key is one's.
 */
export const reachableOrganization = ({ key }: QueryScope) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_organizations} = '[]' or ${organizations.uuid} in (select value from json_each(${scoped_organizations})))
    and (${scoped_projects} = '[]' or exists (
      select 1 from ${projects} where ${projects.organization_id} = ${organizations.id}
        and ${projects.id} in (select value from json_each(${scoped_projects}))))
    and ${allowsApp(client_id)})`;

/** Returns the organizations that the caller can see; joins `organizations` with `members`. */
export function visibleOrganizations(tenant: Restricted) {
	const { user_id, organizations: byId, projects: byProject } = tenant.key;
	const listed = and(listedOrganization(tenant), reachableOrganization(tenant));
	const isUnrestricted = keyWhere(
		tenant,
		sql`${scoped_organizations} = '[]' and ${scoped_projects} = '[]' and ${client_id} is null`,
	);
	return {
		where: byId.length > 0 || byProject.length > 0 ? listed : reachableOrganization(tenant),
		total: sql`iif(${isUnrestricted}, ${countWhere(members, sql`${members.user_id} = ${user_id}`)},
      (select count(*) from ${members} join ${organizations} on ${organizations.id} = ${members.organization_id}
        where ${members.user_id} = ${user_id} and ${listed}))`,
	};
}

/**
 * SQL for the id of the user with this value in a unique column, or 0, which no user has. One row
 * is read in both cases, so that `Server-Timing` doesn't reveal who has an account.
 */
export const userWith = (
	column: typeof users.email | typeof users.uuid,
	value: string,
): SQL<number> => sql`coalesce(
  (select found.id from users as found where found.${sql.raw(column.name)} = ${value}),
  (select 0 from users as other limit 1))`;

/** SQL for the id of the user whom a path names. */
export const idOf = ({ key }: QueryScope, uuid: string): SQL<number> =>
	uuid === "@me" ? sql`${key.user_id}` : userWith(users.uuid, uuid.toLowerCase());

/** SQL for the user's current organization: the chosen one, else the oldest membership's. */
export const currentOrganization = (
	user_id: number | Column | SQL<number>,
): SQL<number> => sql`coalesce(
  (select ${members.organization_id} from ${members} join ${users} on ${users.id} = ${members.user_id}
    where ${users.id} = ${user_id} and ${members.organization_id} = ${users.current_organization_id}),
  (select ${members.organization_id} from ${members} where ${members.user_id} = ${user_id} order by ${members.id} limit 1))`;

/** SQL for the user's current project: the chosen one, else the oldest visible one, or null. */
export const currentProject = (user_id: number | SQL<number>): SQL<number> => {
	const isCandidate = sql`${projects.organization_id} = ${currentOrganization(user_id)} and ${visibleTo(user_id)}`;
	return sql`coalesce(
    (select ${projects.id} from ${projects} join ${users} on ${users.id} = ${user_id}
      where ${projects.id} = ${users.current_project_id} and ${isCandidate}),
    (select ${projects.id} from ${projects} where ${isCandidate} order by ${projects.id} limit 1))`;
};

/** SQL condition on `users`: the caller, if a path names them by `@me` or their own uuid. */
export const isCaller = ({ key }: QueryScope, uuid: string) =>
	and(eq(users.id, key.user_id), uuid === "@me" ? undefined : eq(users.uuid, uuid.toLowerCase()));

/** Selects the caller, unless `uuid` is somebody else's. */
export const selectCaller = (tenant: QueryScope, uuid: string) =>
	tenant.db.select({ id: users.id }).from(users).where(isCaller(tenant, uuid));
