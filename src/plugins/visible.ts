import { and, type Column, or, type SQL, sql } from "drizzle-orm";
import { contains } from "../db/contains.ts";
import { plugins } from "../db/schema/plugins.ts";
import type { TenantSql } from "../tenant/sql.ts";
import { familyByFamily } from "./families.ts";

/**
 * Condition on `plugins`: the organization can see the plugin, because it owns it, it is global, or
 * it is configured in one of its projects (docs/plugins.md#access).
 */
export const visiblePlugin = ({ organization }: TenantSql) => sql`(
  ${plugins.organization_id} = ${organization} or ${plugins.is_global} or exists (
    select 1 from plugin_uses as used where used.organization_id = ${organization} and used.plugin_id = ${plugins.id}))`;

/** A list of visible plugins. */
export type VisiblePlugins = {
	/** The sum of the bits of the families; a plugin must have at least one of them. Undefined for all plugins. */
	families?: number | undefined;
	/** Only plugins without an enabled config in the organization. */
	unused?: boolean;
	/** Searches the name, the description and the URL. */
	search?: string | undefined;
};

/** Returns conditions on `plugins` and `plugin_uses` for the three kinds of visible plugins. A plugin has only one kind. */
function visibleKinds({ organization }: TenantSql, { unused }: VisiblePlugins) {
	const isUsed = sql`exists (select 1 from plugin_uses as enabled where enabled.organization_id = ${organization}
    and enabled.plugin_id = ${plugins.id} and enabled.enabled_configs > 0)`;
	const foreign = sql`${plugins.organization_id} <> ${organization}`;
	return {
		owned: and(
			sql`${plugins.organization_id} = ${organization}`,
			unused ? sql`not ${plugins.is_used}` : undefined,
		),
		global: and(sql`${plugins.is_global}`, foreign, unused ? sql`not ${isUsed}` : undefined),
		used: and(
			sql`used.organization_id = ${organization} and not used.is_own and not ${plugins.is_global}`,
			unused ? sql`used.enabled_configs = 0` : undefined,
		),
	};
}

const inFamilies = (families: number | undefined, column: SQL | Column = plugins.families) =>
	families === undefined ? undefined : sql`${column} & ${sql.raw(String(families))}`;

/**
 * Selects the ids of visible plugins, newest first. Each part reads an index in this order, only as far as the page needs.
 * @param page selects at most `limit` ids that are less than `before`; without it, selects all ids
 */
export function visiblePluginIds(
	tenant: TenantSql,
	list: VisiblePlugins,
	page?: { before: string | number | undefined; limit: number },
) {
	const { owned, global, used } = visibleKinds(tenant, list);
	const { families, search } = list;
	const below = (id: SQL) => (page?.before === undefined ? undefined : sql`${id} < ${page.before}`);
	const texts = [plugins.name, plugins.description, plugins.url];
	const filter = and(
		inFamilies(families),
		search ? or(...texts.map((text) => contains(text, search))) : undefined,
	);
	const some = (kind: SQL | undefined) =>
		(search ? [filter] : familyByFamily(families)).map(
			(condition) =>
				sql`select ${plugins.id} as id from ${plugins} where ${and(kind, condition, below(sql`${plugins.id}`))}`,
		);
	const parts = [
		...some(owned),
		...some(global),
		sql`select used.plugin_id from plugin_uses as used join ${plugins} on ${plugins.id} = used.plugin_id
    where ${and(used, filter, below(sql`used.plugin_id`))}`,
	];
	return sql`${sql.join(parts, sql` union all `)} order by 1 desc ${page ? sql`limit ${page.limit}` : sql``}`;
}

/** SQL for the number of visible plugins. Without a search, it uses the counters of owned and global plugins. */
export function countVisiblePlugins(tenant: TenantSql, list: VisiblePlugins) {
	if (list.search) return sql`(select count(*) from (${visiblePluginIds(tenant, list)}))`;
	const { organization } = tenant;
	const { used } = visibleKinds(tenant, list);
	const sum = (where: SQL | undefined) =>
		sql`(select coalesce(sum(counted.plugins), 0) from plugin_counts as counted where ${and(where, inFamilies(list.families, sql`counted.families`))})`;
	const uses = (where: SQL | undefined) =>
		sql`(select count(*) from plugin_uses as used join ${plugins} on ${plugins.id} = used.plugin_id where ${and(where, inFamilies(list.families))})`;
	const owned = sum(
		and(
			sql`counted.organization_id = ${organization}`,
			list.unused ? sql`not counted.is_used` : undefined,
		),
	);
	const global = sum(sql`counted.is_global and counted.organization_id <> ${organization}`);
	const usedGlobal = sql`used.organization_id = ${organization} and not used.is_own and ${plugins.is_global} and used.enabled_configs > 0`;
	return sql`${owned} + ${global} + ${uses(used)} - ${list.unused ? uses(usedGlobal) : sql`0`}`;
}
