import { and, eq, type SQL, sql } from "drizzle-orm";
import { viewable } from "../../access/access_levels.ts";
import type { QueryScope } from "../../access/query_scope.ts";
import type { Tenant } from "../../access/tenant.ts";
import { rowId } from "../../db/client.ts";
import { largeRows, sizeOf } from "../../db/large.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { pluginConfigs, plugins } from "../../db/schema/plugins.ts";
import { forbidden } from "../../http/errors.ts";
import { cipherOf } from "../../keys/secrets.ts";
import { isPluginOrganization, pluginColumns } from "./shape.ts";

export const select = ({ db }: Tenant) =>
	db.select(pluginColumns).from(plugins).innerJoin(organizations, isPluginOrganization);

export type Row = Awaited<ReturnType<typeof select>>[number];

/** SQL for the size of a plugin in bytes. */
export const pluginBytes = sizeOf(
	plugins.description,
	plugins.icon,
	plugins.config_schema,
	plugins.capabilities,
	plugins.metrics,
	plugins.public_jobs,
);

/** The configs of the organization's projects, for FROM. */
const organizationConfigs = ({ organization }: QueryScope) =>
	sql`${projects} join ${pluginConfigs} on ${pluginConfigs.project_id} = ${projects.id} and ${projects.organization_id} = ${organization}`;

/**
 * SQL condition: an own, global or configured plugin (docs/plugins.md#access) that the caller may
 * view.
 */
export const visiblePlugin = (tenant: QueryScope) =>
	sql`(${viewable(tenant, "plugin", plugins.id)} and ${isHere(tenant)})`;

const isHere = (tenant: QueryScope) => sql`(
  ${plugins.organization_id} = ${tenant.organization} or ${plugins.is_global} or exists (
    select 1 from ${organizationConfigs(tenant)} where ${pluginConfigs.plugin_id} = ${plugins.id} and not ${pluginConfigs.deleted}))`;

/** SQL condition on `plugins`: no project of the organization has an enabled config of it. */
export const isUnused = (tenant: QueryScope) => sql`not exists (
	select 1 from ${organizationConfigs(tenant)} where ${pluginConfigs.plugin_id} = ${plugins.id} and ${pluginConfigs.enabled} and not ${pluginConfigs.deleted})`;

/** The plugin in the path, whatever its families. The guard has checked its access control. */
export const byId = (tenant: Tenant, id: string) => and(eq(plugins.id, rowId(id)), isHere(tenant));

/** Returns how visible plugins that match the filter are listed, newest first. */
export const visible = (tenant: Tenant, filter: SQL | undefined) => ({
	// Like `visiblePlugin`, but SQLite finds the plugins by indexes.
	where: and(
		sql`${plugins.id} in (
			select id from plugins where organization_id = ${tenant.organization}
			union select id from plugins where is_global
			union select ${pluginConfigs.plugin_id} from ${organizationConfigs(tenant)} where not ${pluginConfigs.deleted})`,
		viewable(tenant, "plugin", plugins.id),
		filter,
	),
	by: [plugins.id],
	large: largeRows(pluginBytes, plugins),
	keys: ({ id }: { id: number }) => [id],
});

/** @throws 403 if the plugin belongs to another organization */
export function assertOwn<R extends { organization_id: string }>({ caller }: Tenant, row: R) {
	if (row.organization_id !== caller.organization_uuid)
		throw forbidden("This plugin installation is managed by another organization");
	return row;
}

/** The cipher of a plugin's token. It uses the unique URL: the id isn't known before the insert. */
const tokenCipher = (env: Env, organization_id: string | null, url: string | null) =>
	cipherOf(env, "plugins", JSON.stringify([organization_id, url]));

/** Encrypts the token of a plugin with this URL; null if there is no token. */
export const sealToken = async (
	env: Env,
	{ organization_id, url }: { organization_id: string | null; url: string | null },
	token: string,
) =>
	token === "" ? null : await tokenCipher(env, organization_id, url).seal("private_token", token);

/** Selects the plugin's encrypted token, which responses never contain. */
export const tokenOf = ({ db }: Tenant, id: string) =>
	db
		.select({ private_token: plugins.private_token })
		.from(plugins)
		.where(eq(plugins.id, rowId(id)));

/** Returns the URL that the plugin was installed from, with its token; null if there is none. */
export async function originOf(
	{ env }: Tenant,
	{ organization_id, url, plugin_type }: Pick<Row, "organization_id" | "url" | "plugin_type">,
	token: string | null | undefined,
) {
	if (!url || ["source", "local"].includes(plugin_type)) return null;
	if (!token) return url;
	const cipher = tokenCipher(env, organization_id, url);
	const private_token = await cipher.unseal("private_token", token);
	return `${url}?${new URLSearchParams({ private_token })}`;
}
