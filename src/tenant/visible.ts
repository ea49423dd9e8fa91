import { and, type Column, type SQL, sql } from "drizzle-orm";
import { ADMIN } from "../db/levels.ts";
import {
	members,
	organizations,
	personalApiKeys,
	plugins,
	projectMembers,
	projects,
	users,
} from "../db/schema.ts";
import type { Tenant } from "./tenant.ts";

/**
 * Condition on `projects` joined with the user's row of `members`: the project isn't private, or
 * the user has access (docs/organizations.md#projects).
 */
export const isOpenTo = (user_id: number | Column | SQL<number>) => sql`(
  not ${projects.access_control} or ${members.level} >= ${ADMIN} or exists (
    select 1 from ${projectMembers}
    where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${user_id}))`;

/** Condition on `projects`: the user can see the project. */
export const visibleTo = (user_id: number | Column | SQL<number>) => sql`exists (
  select 1 from ${members}
  where ${members.organization_id} = ${projects.organization_id} and ${members.user_id} = ${user_id} and ${isOpenTo(user_id)})`;

const { scoped_organizations, scoped_projects } = personalApiKeys;

/** Condition on `projects`: the restrictions of the key in use include the project. */
const reachableProject = ({ key }: Tenant) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_projects} = '[]' or ${projects.id} in (select value from json_each(${scoped_projects})))
    and (${scoped_organizations} = '[]' or ${projects.organization_id} in (select value from json_each(${scoped_organizations}))))`;

/**
 * Condition on `projects`: the caller can see the project, and the key's restrictions include it.
 */
export const visibleProject = (tenant: Tenant) =>
	sql`${visibleTo(tenant.key.user_id)} and ${reachableProject(tenant)}`;

/**
 * `visibleProject` for `projects` joined with `members`: it starts from the caller's memberships,
 * not from all projects.
 */
export const visibleToMember = (tenant: Tenant) =>
	sql`${members.user_id} = ${tenant.key.user_id} and ${isOpenTo(tenant.key.user_id)} and ${reachableProject(tenant)}`;

/**
 * Condition on `organizations`: the restrictions of the key in use include the organization, or one
 * of its projects.
 */
export const reachableOrganization = ({ key }: Tenant) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_organizations} = '[]' or ${organizations.id} in (select value from json_each(${scoped_organizations})))
    and (${scoped_projects} = '[]' or exists (
      select 1 from ${projects} where ${projects.organization_id} = ${organizations.id}
        and ${projects.id} in (select value from json_each(${scoped_projects})))))`;

/**
 * SQL for the id of the user with this value in a unique column; 0, which no user has, if there is
 * none. Either way one row is read, so that `Server-Timing` doesn't reveal whether somebody has an
 * account.
 */
export const userWith = (
	column: typeof users.email | typeof users.uuid,
	value: string,
): SQL<number> => sql`coalesce(
  (select found.id from users as found where found.${sql.raw(column.name)} = ${value}),
  (select 0 from users as other limit 1))`;

/**
 * Condition on `plugins`: the organization can see the plugin, because it owns it, it is global, or
 * it is configured in one of its projects (docs/plugins.md#access).
 */
export const visiblePlugin = ({ organization }: Tenant) => sql`(
  ${plugins.organization_id} = ${organization} or ${plugins.is_global} or exists (
    select 1 from plugin_configs as used
    where used.organization_id = ${organization} and used.plugin_id = ${plugins.id} and not used.deleted))`;

/**
 * Selects the ids of visible plugins, newest first. Each of the three parts reads an index in that
 * order, only as far as the page needs.
 * @param filter another condition on `plugins`
 * @param page at most `limit` ids, all less than `before`; without it, all ids
 */
export function visiblePluginIds(
	{ organization }: Tenant,
	filter: SQL | undefined,
	page?: { before: string | number | undefined; limit: number },
) {
	const below = (id: SQL) => (page?.before === undefined ? undefined : sql`${id} < ${page.before}`);
	const inPage = and(filter, below(sql`${plugins.id}`));
	const owned = and(sql`${plugins.organization_id} = ${organization}`, inPage);
	const global = and(sql`${plugins.is_global}`, inPage);
	const used = and(
		sql`used.organization_id = ${organization} and not used.deleted`,
		filter,
		below(sql`used.plugin_id`),
	);
	return sql`select ${plugins.id} as id from ${plugins} where ${owned}
  union select ${plugins.id} from ${plugins} where ${global}
  union select used.plugin_id from plugin_configs as used join ${plugins} on ${plugins.id} = used.plugin_id where ${used}
  order by 1 desc ${page ? sql`limit ${page.limit}` : sql``}`;
}

/**
 * SQL for the id of the user's current organization: the chosen one, else the oldest membership's;
 * null if there is none.
 */
export const currentOrganization = (user_id: number | Column): SQL<string> => sql`coalesce(
  (select ${members.organization_id} from ${members} join ${users} on ${users.id} = ${members.user_id}
    where ${users.id} = ${user_id} and ${members.organization_id} = ${users.current_organization_id}),
  (select ${members.organization_id} from ${members} where ${members.user_id} = ${user_id} order by ${members.id} limit 1))`;

/**
 * SQL for the id of the user's current project: the chosen one, else the oldest that it can see in
 * its current organization; null if there is none.
 */
export const currentProject = (user_id: number): SQL<number> => {
	const isCandidate = sql`${projects.organization_id} = ${currentOrganization(user_id)} and ${visibleTo(user_id)}`;
	return sql`coalesce(
    (select ${projects.id} from ${projects} join ${users} on ${users.id} = ${user_id}
      where ${projects.id} = ${users.current_project_id} and ${isCandidate}),
    (select ${projects.id} from ${projects} where ${isCandidate} order by ${projects.id} limit 1))`;
};
