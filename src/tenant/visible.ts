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

/** Of a statement over `projects` and the `members` that the user is: the project is not private, or not to it (docs/organizations.md#projects). */
const isOpenTo = (user_id: number) => sql`(
  not ${projects.access_control} or ${members.level} >= ${ADMIN} or exists (
    select 1 from ${projectMembers}
    where ${projectMembers.project_id} = ${projects.id} and ${projectMembers.user_id} = ${user_id}))`;

/** Of a statement over `projects`: the user may know of the project. */
export const visibleTo = (user_id: number) => sql`exists (
  select 1 from ${members}
  where ${members.organization_id} = ${projects.organization_id} and ${members.user_id} = ${user_id} and ${isOpenTo(user_id)})`;

const { scoped_organizations, scoped_projects } = personalApiKeys;

/** Of a statement over `projects`: the key in use is not restricted away from the project. */
const reachableProject = ({ key }: Tenant) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_projects} = '[]' or ${projects.id} in (select value from json_each(${scoped_projects})))
    and (${scoped_organizations} = '[]' or ${projects.organization_id} in (select value from json_each(${scoped_organizations}))))`;

/** Of a statement over `projects`: the caller may know of the project, and its key reaches it. */
export const visibleProject = (tenant: Tenant) =>
	sql`${visibleTo(tenant.key.user_id)} and ${reachableProject(tenant)}`;

/** As `visibleProject`, of a statement over `members`, too: it finds the caller's projects instead of trying all. */
export const visibleToMember = (tenant: Tenant) =>
	sql`${members.user_id} = ${tenant.key.user_id} and ${isOpenTo(tenant.key.user_id)} and ${reachableProject(tenant)}`;

/** Of a statement over `organizations`: the key in use reaches the organization, or a project of it. */
export const reachableOrganization = ({ key }: Tenant) => sql`exists (
  select 1 from ${personalApiKeys} where ${personalApiKeys.id} = ${key.id}
    and (${scoped_organizations} = '[]' or ${organizations.id} in (select value from json_each(${scoped_organizations})))
    and (${scoped_projects} = '[]' or exists (
      select 1 from ${projects} where ${projects.organization_id} = ${organizations.id}
        and ${projects.id} in (select value from json_each(${scoped_projects})))))`;

/**
 * The id of the user with this value of a unique column; 0, which no user has, where there is none. Both read one row,
 * so that `Server-Timing` doesn't tell whether somebody whom the caller can't see has an account.
 */
export const userWith = (
	column: typeof users.email | typeof users.uuid,
	value: string,
): SQL<number> => sql`coalesce(
  (select found.id from users as found where found.${sql.raw(column.name)} = ${value}),
  (select 0 from users as other limit 1))`;

/**
 * Of a statement over `plugins`: the organization sees the plugin, which is its own, global, or configured in one of
 * its projects (docs/plugins.md#access).
 */
export const visiblePlugin = ({ organization }: Tenant) => sql`(
  ${plugins.organization_id} = ${organization} or ${plugins.is_global} or exists (
    select 1 from plugin_configs as used
    where used.organization_id = ${organization} and used.plugin_id = ${plugins.id} and not used.deleted))`;

/**
 * Selects the ids of visible plugins, newest first. Each of the three parts reads an index in that order, and no further
 * than the page needs.
 * @param filter which of them, of a statement over `plugins`
 * @param page how many at most, and the id that all are below; without it, all
 */
export function visiblePluginIds(
	{ organization }: Tenant,
	filter: SQL | undefined,
	page?: { before: string | number | undefined; limit: number },
) {
	const below = (id: SQL) => (page?.before === undefined ? undefined : sql`${id} < ${page.before}`);
	const kept = and(filter, below(sql`${plugins.id}`));
	const own = and(sql`${plugins.organization_id} = ${organization}`, kept);
	const global = and(sql`${plugins.is_global}`, kept);
	const used = and(
		sql`used.organization_id = ${organization} and not used.deleted`,
		filter,
		below(sql`used.plugin_id`),
	);
	return sql`select ${plugins.id} as id from ${plugins} where ${own}
  union select ${plugins.id} from ${plugins} where ${global}
  union select used.plugin_id from plugin_configs as used join ${plugins} on ${plugins.id} = used.plugin_id where ${used}
  order by 1 desc ${page ? sql`limit ${page.limit}` : sql``}`;
}

/** The id of the organization that the user works in: the one it chose, else its oldest; null without any. */
export const currentOrganization = (user_id: number | Column): SQL<string> => sql`coalesce(
  (select ${members.organization_id} from ${members} join ${users} on ${users.id} = ${members.user_id}
    where ${users.id} = ${user_id} and ${members.organization_id} = ${users.current_organization_id}),
  (select ${members.organization_id} from ${members} where ${members.user_id} = ${user_id} order by ${members.id} limit 1))`;

/** The id of the project that the user works in: the one it chose, else the oldest that it sees there; null without any. */
export const currentProject = (user_id: number): SQL<number> => {
	const there = sql`${projects.organization_id} = ${currentOrganization(user_id)} and ${visibleTo(user_id)}`;
	return sql`coalesce(
    (select ${projects.id} from ${projects} join ${users} on ${users.id} = ${user_id}
      where ${projects.id} = ${users.current_project_id} and ${there}),
    (select ${projects.id} from ${projects} where ${there} order by ${projects.id} limit 1))`;
};
