import { and, desc, eq, lt, sql } from "drizzle-orm";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { visibleProjectHere } from "../../access/visible.ts";
import { matches } from "../../activity/activity_log/filters.ts";
import { toEntryFor } from "../../activity/activity_log/queries.ts";
import { entryColumns } from "../../activity/activity_log/shape.ts";
import { aliased, inList } from "../../db/client.ts";
import { fits, largeRows, sizeOf } from "../../db/large.ts";
import { countWhere } from "../../db/list.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { pluginConfigs, plugins } from "../../db/schema/plugins.ts";
import { type Envelope, envelope, mapResults, type Page } from "../../http/page.ts";
import { destination, type Family } from "./families.ts";
import { configColumns, toListedConfig } from "./plugin_config.ts";
import { identify } from "./registries.ts";
import { repository } from "./repository.ts";
import { isUnused, pluginBytes, type Row, select, visible } from "./rows.ts";
import {
	type activityFilters,
	isPluginOrganization,
	Plugin,
	pluginColumns,
	toPlugin,
} from "./shape.ts";

function nulls<T extends object>(shape: T): Record<keyof T, null>;
function nulls(shape: object) {
	return Object.fromEntries(Object.keys(shape).map((name) => [name, null]));
}

const NO_PLUGIN = nulls(Plugin.shape);

/** Adds the fields of a plugin to a page (docs/api.md#responses-with-extra-fields). */
const withPlugin = <T>(plugin: Row | null | undefined, page: Envelope<T>) => ({
	...NO_PLUGIN,
	...(plugin && toPlugin(plugin)),
	...page,
});

/** Lists the activity log of the family's plugins, newest first. */
export async function activity(
	tenant: Tenant,
	{ condition }: Family,
	page: Page,
	filters: z.infer<typeof activityFilters>,
) {
	const { organization_id, item_id, scope, created_at, position, is_system } = activityLog;
	// With a cross join, SQLite reads plugins first, and finds their entries in the index of items.
	const from = sql`${plugins} cross join ${activityLog}`;
	const where = and(
		sql`${item_id} = cast(${plugins.id} as text)`,
		eq(plugins.organization_id, tenant.organization),
		eq(organization_id, tenant.organization),
		eq(scope, "Plugin"),
		// Without a parameter, because the index is partial.
		sql`not ${is_system}`,
		matches(tenant, filters),
		viewable(tenant, "plugin", plugins.id),
		condition,
	);
	const [last] = page.after?.keys ?? [];
	const isLater = last === undefined ? undefined : lt(position, Number(last));
	const shown = sql`
		select ${position} as position, ${sizeOf(activityLog.changes)} + ${pluginBytes} as bytes
		from ${from} where ${and(where, isLater)}
		order by ${position} desc limit ${page.limit + 1} offset ${isLater ? 0 : page.offset}`;
	const count = page.after ? sql<number>`${page.after.count}` : countWhere(from, where);
	const [rows, [counted]] = await tenant.read(
		tenant.db
			.select({
				...entryColumns,
				position,
				created_at: aliased(created_at, "entry_created_at"),
				plugin: pluginColumns,
			})
			.from(activityLog)
			.innerJoin(plugins, eq(plugins.id, sql`cast(${item_id} as integer)`))
			.innerJoin(organizations, isPluginOrganization)
			.leftJoin(users, eq(users.id, activityLog.user_id))
			.where(fits(position, "desc", shown))
			.orderBy(desc(position)),
		tenant.db.select({ count: sql<number>`${count}`.as("count") }).from(sql`(select 1)`),
	);
	const entries = envelope(page, {
		rows,
		count: counted?.count ?? 0,
		keys: ({ position }) => [position],
	});
	return withPlugin(
		rows[0]?.plugin,
		mapResults(entries, ({ plugin: _, position: __, ...entry }) => toEntryFor(tenant)(entry)),
	);
}

/** Lists visible plugins without an enabled config in the organization. */
export async function unused(tenant: Tenant, { condition }: Family, page: Page) {
	const rows = await readPage(tenant, page, {
		select: () => select(tenant).$dynamic(),
		...visible(tenant, and(condition, isUnused(tenant))),
	});
	return withPlugin(rows.results[0], mapResults(rows, toPlugin));
}

/** Lists enabled configs of destinations that the caller can see, newest first. */
export async function exportConfigs(tenant: Tenant, { condition }: Family, page: Page) {
	const isProject = eq(projects.id, pluginConfigs.project_id);
	const isPlugin = eq(plugins.id, pluginConfigs.plugin_id);
	const rows = await readPage(tenant, page, {
		select: () =>
			tenant.db
				.select(configColumns())
				.from(pluginConfigs)
				.innerJoin(projects, isProject)
				.innerJoin(plugins, isPlugin)
				.innerJoin(organizations, isPluginOrganization)
				.$dynamic(),
		where: and(
			eq(projects.organization_id, tenant.organization),
			eq(pluginConfigs.enabled, true),
			eq(pluginConfigs.deleted, false),
			destination.condition,
			condition,
			visibleProjectHere(tenant),
			viewable(tenant, "plugin", plugins.id),
		),
		names: ["config_id"],
		by: [pluginConfigs.id],
		keys: ({ id }) => [id],
		large: largeRows(
			sql`${sizeOf(pluginConfigs.config)} + ${pluginBytes}`,
			sql`${pluginConfigs} join ${projects} on ${isProject} join ${plugins} on ${isPlugin}`,
		),
		to: (row) => ({ plugin: row.plugin, config: toListedConfig(row) }),
	});
	return withPlugin(
		rows.results[0]?.plugin,
		mapResults(rows, ({ config }) => config),
	);
}

/** Lists the plugins that can be installed, and whether the organization has installed them. */
export async function listRepository(tenant: Tenant, page: Page) {
	// Check the caller's access before requesting a remote list.
	if (tenant.env.PLUGIN_REPOSITORY_URL !== "") await tenant.read();
	const catalog = await repository(tenant.env);
	const shown = catalog.slice(page.offset, page.offset + page.limit + 1);
	const urls = shown.map(({ url }) => identify(url).address);
	const [rows] = await tenant.read(
		select(tenant).where(
			and(
				eq(plugins.organization_id, tenant.organization),
				inList(plugins.url, urls),
				viewable(tenant, "plugin", plugins.id),
			),
		),
	);
	const byUrl = new Map(rows.map((plugin) => [plugin.url, plugin]));
	const installed = urls.map((url) => (url === null ? undefined : byUrl.get(url)));
	const entries = shown.map((entry, i) => ({ ...entry, installed: installed[i] !== undefined }));
	return withPlugin(
		installed[0],
		envelope(page, { rows: entries, count: catalog.length, keys: () => [] }),
	);
}
