import { and, eq, inArray, sql } from "drizzle-orm";
import { v7 } from "uuid";
import type * as z from "zod";
import { viewable } from "../../access/access_levels.ts";
import { removeKept } from "../../access/deletions.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { visibleProjectHere } from "../../access/visible.ts";
import { isUnchanged, settable } from "../../db/changes.ts";
import { assertExists, assertThat, inList, rowId } from "../../db/client.ts";
import { largeRows } from "../../db/large.ts";
import { PLUGINS_CONFIG } from "../../db/schema/levels.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { pluginConfigs, pluginSourceFiles, plugins } from "../../db/schema/plugins.ts";
import { doesNotExist, invalid, orNotFound } from "../../http/errors.ts";
import type { Page } from "../../http/page.ts";
import { now } from "../../lib/time.ts";
import { logSystem } from "../jobs/run_log.ts";
import { compiledColumns, compiledOf } from "../plugins/compiled_file.ts";
import { assertComplete, configCipher, fieldsOf, merge } from "../plugins/config.ts";
import {
	configColumns,
	listedConfigBytes,
	listedConfigColumns,
	toListedConfig,
	toPluginConfig,
} from "../plugins/plugin_config.ts";
import { visiblePlugin } from "../plugins/rows.ts";
import { isPluginOrganization } from "../plugins/shape.ts";
import {
	create,
	type filters,
	type rearrange as Rearrange,
	type update as Update,
} from "./shape.ts";

export const select = ({ db }: Tenant) =>
	db
		.select(configColumns())
		.from(pluginConfigs)
		.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
		.innerJoin(organizations, isPluginOrganization);

/** SQL condition: the organization's plugin access level is high enough for configs. */
const available = ({ organization }: Tenant) =>
	sql`(select o.plugins_access_level from organizations as o where o.id = ${organization}) >= ${PLUGINS_CONFIG}`;

/** The configs of the project; none if the organization's plugin access level is too low. */
const ofProject = (tenant: Tenant) =>
	and(eq(pluginConfigs.project_id, tenant.project), available(tenant));

/** The configs of the organization, including those that are marked as deleted. */
const ofOrganization = ({ db, organization }: Tenant) =>
	inArray(
		pluginConfigs.project_id,
		db.select({ id: projects.id }).from(projects).where(eq(projects.organization_id, organization)),
	);

export const byId = (tenant: Tenant, id: string) =>
	and(eq(pluginConfigs.id, rowId(id)), ofProject(tenant));

/** @throws 400 if the organization's plugin access level is too low for configs */
export function assertAvailable({ caller }: Tenant) {
	if (caller.plugins_access_level < PLUGINS_CONFIG)
		throw invalid(null, "Plugin configuration is not available for the current organization!");
}

/** The configs of all projects that the caller can see; none if the access level is too low. */
const visibleConfigs = (tenant: Tenant) =>
	and(
		inArray(
			pluginConfigs.project_id,
			tenant.db
				.select({ id: projects.id })
				.from(projects)
				.where(and(eq(projects.organization_id, tenant.organization), visibleProjectHere(tenant))),
		),
		available(tenant),
	);

/**
 * Lists the configs that aren't deleted: those of a project by their `order`, those of an
 * organization by project first.
 */
export const list = (tenant: Tenant, page: Page, { plugin }: z.infer<typeof filters> = {}) => {
	const query = () =>
		tenant.db
			.select(listedConfigColumns())
			.from(pluginConfigs)
			.innerJoin(plugins, eq(plugins.id, pluginConfigs.plugin_id))
			.innerJoin(organizations, isPluginOrganization)
			.$dynamic();
	const isWithin = tenant.kind === "project" ? ofProject(tenant) : visibleConfigs(tenant);
	const { project_id, order, id } = pluginConfigs;
	const listed = {
		where: and(
			isWithin,
			eq(pluginConfigs.deleted, false),
			viewable(tenant, "plugin", pluginConfigs.plugin_id),
			plugin === undefined ? undefined : eq(pluginConfigs.plugin_id, plugin),
		),
		by: tenant.kind === "project" ? [order, id] : [project_id, order, id],
		keys: ({ team_id, order, id }: { team_id: number; order: number; id: number }) =>
			tenant.kind === "project" ? [order, id] : [team_id, order, id],
		order: "asc" as const,
		large: largeRows(
			listedConfigBytes(),
			sql`${pluginConfigs} join ${plugins} on ${eq(plugins.id, pluginConfigs.plugin_id)}`,
		),
	};
	return readPage(tenant, page, { select: query, ...listed, to: toListedConfig });
};

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

/** Finds a config, even if it is marked as deleted. */
export const find = async (tenant: Tenant, id: string) => toPluginConfig(await read(tenant, id));

type Config = Record<string, unknown>;

/**
 * Jobs can connect to the hosts in `allowed_hosts`, with the secrets of the config. So who may name
 * them is told apart from who may change the config.
 * @throws 403 if `allowed_hosts` changes and the caller isn't a manager of the plugin
 */
function requireManagerForHosts(
	tenant: Tenant,
	plugin_id: number,
	{ before, after }: { before: Config; after: Config },
) {
	const hosts = ({ allowed_hosts = null }: Config) => JSON.stringify(allowed_hosts);
	if (hosts(before) !== hosts(after)) tenant.requireAccess("manager", "plugin", plugin_id);
}

/** The log messages for a change of `enabled` and `config`. */
const messages = (before: boolean, after: boolean, isConfigured: boolean) => [
	...(isConfigured ? ["The config was changed."] : []),
	...(before === after ? [] : [`The plugin was ${after ? "enabled" : "disabled"}.`]),
];

export const insert = (tenant: Tenant, body: z.infer<typeof create>) =>
	retry(() => tryInsert(tenant, body));

async function tryInsert(
	tenant: Tenant,
	{ plugin: plugin_id, config = {}, ...body }: z.infer<typeof create>,
) {
	const { db, project, organization } = tenant;
	const isVisible = and(eq(plugins.id, plugin_id), visiblePlugin(tenant));
	const [[plugin]] = await tenant.read(
		db
			.select({ name: plugins.name, config_schema: plugins.config_schema })
			.from(plugins)
			.where(isVisible),
	);
	assertAvailable(tenant);
	if (!plugin) throw doesNotExist("plugin", plugin_id);
	tenant.requireAccess("editor", "plugin", plugin_id);
	const fields = fieldsOf(plugin.config_schema);
	const enabled = body.enabled === true && body.deleted !== true;
	const uuid = v7();
	const cipher = configCipher(tenant.env, { uuid });
	const merged = await merge(cipher, fields, {}, config);
	requireManagerForHosts(tenant, plugin_id, { before: {}, after: merged });
	if (enabled) assertComplete(fields, merged);
	const id = sql<number>`(select max(newest.id) from plugin_configs as newest where newest.project_id = ${project})`;
	const name = body.name ?? plugin.name;
	const row = await tenant.write({
		checks: [
			// Another request may have deleted the plugin, or made it local.
			assertExists(db, plugins, isVisible),
			assertRoom(tenant, pluginConfigs, ofOrganization(tenant)),
		],
		changes: [
			db.insert(pluginConfigs).values({
				...body,
				uuid,
				enabled,
				enabled_at: enabled ? now() : null,
				plugin_id,
				project_id: project,
				organization_id: organization,
				config: merged,
			}),
			...(enabled ? [logSystem(db, id, messages(false, true, false))] : []),
		],
		entries: [
			{
				activity: "created",
				scope: "PluginConfig",
				item_id: id,
				name,
				values: { ...body, plugin: plugin_id, config },
			},
		],
		answer: select(tenant).where(
			and(eq(pluginConfigs.project_id, project), eq(pluginConfigs.id, id)),
		),
	});
	return toPluginConfig(row);
}

export const update = (tenant: Tenant, id: string, body: z.infer<typeof Update>) =>
	retry(() => tryUpdate(tenant, id, body));

async function tryUpdate(tenant: Tenant, id: string, { config, ...body }: z.infer<typeof Update>) {
	const row = await read(tenant, id);
	const { db } = tenant;
	const fields = fieldsOf(row.plugin.config_schema);
	const merged =
		config === undefined
			? row.config
			: await merge(configCipher(tenant.env, row), fields, row.config, config);
	requireManagerForHosts(tenant, row.plugin.id, { before: row.config, after: merged });
	const deleted = body.deleted ?? row.deleted;
	const enabled = (body.enabled ?? row.enabled) && !deleted;
	if (enabled && (!row.enabled || config !== undefined)) assertComplete(fields, merged);
	const set = {
		...body,
		...(config !== undefined && { config: merged }),
		enabled: enabled === row.enabled ? undefined : enabled,
	};
	const enabledAt = enabled && !row.enabled ? { enabled_at: now() } : {};
	const entry = {
		scope: "PluginConfig" as const,
		name: body.name ?? row.name ?? row.plugin.name,
	};
	const isConfigured = JSON.stringify(merged) !== JSON.stringify(row.config);
	const news = messages(row.enabled, enabled, isConfigured);
	// The values that the change was computed from.
	const unchanged = and(
		byId(tenant, id),
		isUnchanged(pluginConfigs, row, ["enabled", "deleted", "config"]),
	);
	const after = await tenant.patch(row, set, entry, () => ({
		checks: [assertExists(db, pluginConfigs, unchanged)],
		changes: [
			db
				.update(pluginConfigs)
				.set({ ...set, ...enabledAt })
				.where(byId(tenant, id)),
			...(news.length > 0 ? [logSystem(db, row.id, news)] : []),
		],
		answer: select(tenant).where(byId(tenant, id)),
	}));
	return toPluginConfig(after);
}

/** Deletes a config. Its log isn't kept. */
export async function remove(tenant: Tenant, id: string) {
	const row = await read(tenant, id);
	await removeKept(
		tenant,
		{
			type: "plugin_config",
			item_id: row.id,
			name: row.name ?? row.plugin.name,
			project: row.team_id,
			values: settable(create, { ...row, plugin: row.plugin.id }),
			shown: toListedConfig(row),
		},
		{ table: pluginConfigs, where: byId(tenant, id) },
	);
}

/** Sets the order of the enabled configs in `orders`, and ignores other ids. */
export const rearrange = (tenant: Tenant, body: z.infer<typeof Rearrange>) =>
	retry(() => tryRearrange(tenant, body));

async function tryRearrange(tenant: Tenant, body: z.infer<typeof Rearrange>) {
	const { db } = tenant;
	const orders = new Map(Object.entries(body.orders ?? {}));
	const enabled = and(
		eq(pluginConfigs.project_id, tenant.project),
		eq(pluginConfigs.enabled, true),
		inList(pluginConfigs.id, [...orders.keys()].map(rowId)),
	);
	const [rows] = await tenant.read(
		db
			.select({
				id: pluginConfigs.id,
				plugin_id: pluginConfigs.plugin_id,
				before: pluginConfigs.order,
			})
			.from(pluginConfigs)
			.where(and(enabled, viewable(tenant, "plugin", pluginConfigs.plugin_id)))
			.orderBy(pluginConfigs.id),
	);
	assertAvailable(tenant);
	const moves = rows.flatMap(({ id, plugin_id, before }) => {
		const after = orders.get(String(id)) ?? before;
		if (after === before) return [];
		tenant.requireAccess("editor", "plugin", plugin_id);
		return [{ id, before, after }];
	});
	if (moves.length === 0) return moves;
	const moving = sql`json_each(${JSON.stringify(moves)})`;
	const unchanged = sql`(select count(*) from ${moving} join plugin_configs as config on config.id = value ->> 'id'
		where config.enabled and config."order" = value ->> 'before') = ${moves.length}`;
	const ids = moves.map(({ id }) => id);
	await tenant.write({
		checks: [assertThat(db, unchanged, "is_current")],
		changes: [
			db
				.update(pluginConfigs)
				.set({
					order: sql`(select value ->> 'after' from ${moving} where value ->> 'id' = ${pluginConfigs.id})`,
				})
				.where(and(eq(pluginConfigs.project_id, tenant.project), inList(pluginConfigs.id, ids))),
		],
		entries: [
			{
				activity: "rearranged",
				scope: "PluginConfigOrder",
				item_id: String(tenant.caller.project_id),
				name: "Plugin configs",
				changes: moves.map(({ id, before, after }) => ({
					field: String(id),
					action: "changed",
					before,
					after,
				})),
			},
		],
	});
	return moves;
}

/** @throws 400 always, because no migrations exist yet */
export async function migrate(tenant: Tenant, id: string) {
	await read(tenant, id);
	throw invalid(null, "No migration available for this plugin");
}

/** `script` is the compiled frontend.tsx; null if there is no such file or it doesn't compile. */
export async function frontend(tenant: Tenant, id: string) {
	const { db } = tenant;
	const [[row], [file]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		db
			.select(compiledColumns)
			.from(pluginSourceFiles)
			.innerJoin(pluginConfigs, eq(pluginConfigs.plugin_id, pluginSourceFiles.plugin_id))
			.where(and(byId(tenant, id), eq(pluginSourceFiles.filename, "frontend.tsx"))),
	);
	const { id: config, team_id } = orNotFound(row);
	const script = file ? (await compiledOf(tenant.env, file)).compiled : null;
	return { id: config, team_id, script };
}
