import { sql } from "drizzle-orm";
import type { TenantSql } from "../../access/sql.ts";
import { pluginConfigs } from "../../db/schema/plugin_configs.ts";
import { plugins } from "../../db/schema/plugins.ts";
import { projects } from "../../db/schema/projects.ts";

/** The configs of the organization's projects, for FROM. There are at most as many as an organization can have. */
const itsConfigs = ({ organization }: TenantSql) =>
	sql`${projects} join ${pluginConfigs} on ${pluginConfigs.project_id} = ${projects.id} and ${projects.organization_id} = ${organization}`;

/**
 * SQL condition on `plugins`: the organization can see the plugin, because it owns it, it is global, or
 * it is configured in one of its projects (docs/plugins.md#access).
 */
export const visiblePlugin = (tenant: TenantSql) => sql`(
  ${plugins.organization_id} = ${tenant.organization} or ${plugins.is_global} or exists (
    select 1 from ${itsConfigs(tenant)} where ${pluginConfigs.plugin_id} = ${plugins.id} and not ${pluginConfigs.deleted}))`;

/** Like `visiblePlugin`, for lists: SQLite finds the plugins by indexes. */
export const inVisiblePlugins = (tenant: TenantSql) => sql`${plugins.id} in (
	select id from plugins where organization_id = ${tenant.organization}
	union select id from plugins where is_global
	union select ${pluginConfigs.plugin_id} from ${itsConfigs(tenant)} where not ${pluginConfigs.deleted})`;

/** SQL condition on `plugins`: no project of the organization has an enabled config of it. */
export const isUnused = (tenant: TenantSql) => sql`not exists (
	select 1 from ${itsConfigs(tenant)} where ${pluginConfigs.plugin_id} = ${plugins.id} and ${pluginConfigs.enabled} and not ${pluginConfigs.deleted})`;
