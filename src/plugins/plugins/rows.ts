import { and, eq, type SQL } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { rowId } from "../../db/client.ts";
import { largeRows, sizeOf } from "../../db/large.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { plugins } from "../../db/schema/plugins.ts";
import { forbidden } from "../../http/errors.ts";
import { itsOrganization, pluginColumns } from "./shape.ts";
import { inVisiblePlugins, visiblePlugin } from "./visible.ts";

export const select = ({ db }: Tenant) =>
	db.select(pluginColumns).from(plugins).innerJoin(organizations, itsOrganization);

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

/** The condition for the visible plugin with this id, whatever its families. */
export const byId = (tenant: Tenant, id: string) =>
	and(eq(plugins.id, rowId(id)), visiblePlugin(tenant));

/** Returns how visible plugins that match the filter are listed, newest first. */
export const visible = (tenant: Tenant, filter: SQL | undefined) => ({
	where: and(inVisiblePlugins(tenant), filter),
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
