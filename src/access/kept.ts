/** What is kept of each type of object (docs/internals/decisions/0022-deletions.md). */
import { type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { accessControls, roleMembers, roles } from "../db/schema/access.ts";
import type { KeptType } from "../db/schema/deletions.ts";
import type { Resource } from "../db/schema/levels.ts";
import { notifications } from "../db/schema/notifications.ts";
import { oauthClients, trustedIssuers } from "../db/schema/oauth.ts";
import { domains, organizations, projects } from "../db/schema/organizations.ts";
import { members, movedUsers, projectMembers, serviceAccounts } from "../db/schema/people.ts";
import { personalApiKeys } from "../db/schema/personal_api_keys.ts";
import {
	keepsSecrets,
	pluginConfigs,
	pluginSourceFiles,
	pluginStorage,
	plugins,
} from "../db/schema/plugins.ts";
import { scimGroupMembers, scimGroups, scimTokens, scimUsers } from "../db/schema/scim.ts";
import { webhooks } from "../db/schema/webhooks.ts";

/** The rows of a table that are kept. */
export type KeptTable = {
	name: string;
	table: SQLiteTable;
	where: SQL;
	/** SQL for the `plugin_id` in `deleted_rows`. */
	plugin_id?: SQL;
};

export type Kept = {
	/** Parents first, so that they can be inserted in this order. */
	tables: KeptTable[];
	/** Condition for the exports, which stay where they are. */
	exports?: SQL;
	/** Condition for the access controls about the object itself. */
	controls?: SQL;
	/** JSON: the `needs` in `deletions`. */
	needs?: SQL<[KeptType, number, number][]>;
	/** JSON of the ids of projects, whose events stay where they are. */
	projects?: SQL<number[]>;
};

type Find = (of: { id: SQL; item_id: string; organization: SQL<number> }) => Kept;

/** The configs that match a condition, with their storage. */
const configs = (where: SQL): KeptTable[] => [
	{
		name: "plugin_configs",
		table: pluginConfigs,
		where,
		plugin_id: sql`iif(${keepsSecrets}, plugin_id, null)`,
	},
	{
		name: "plugin_storage",
		table: pluginStorage,
		where: sql`plugin_config_id in (select id from plugin_configs where ${where})`,
	},
];

/** SQL for the plugins or projects that configs need. */
const needsOf = (type: "plugin" | "project", where: SQL): NonNullable<Kept["needs"]> => {
	const column = sql.raw(`${type}_id`);
	return sql`(select json_group_array(json_array(${sql.raw(`'${type}'`)}, ${column}, n))
		from (select ${column}, count(*) as n from plugin_configs where ${where} group by 1))`;
};

/** SQL condition on `access_controls`: about an object. */
const isAbout = (resource: Resource, item_id: string, organization: SQL) =>
	sql`organization_id = ${organization} and resource = ${sql.raw(`'${resource}'`)} and resource_id = ${item_id}`;

/** SQL condition on `access_controls`: about the exports that match a condition. */
export const isAboutExports = (organization: SQL, where: SQL) =>
	sql`organization_id = ${organization} and resource = 'batch_export'
		and resource_id in (select e.uuid from batch_exports as e where ${where} and not e.deleted)`;

const controlsWhere = (where: SQL): KeptTable => ({
	name: "access_controls",
	table: accessControls,
	where,
});

/** The rows of a table that belong to an organization. */
const ownedBy = (organization: SQL, name: string, table: SQLiteTable): KeptTable => ({
	name,
	table,
	where: sql`organization_id = ${organization}`,
});

/** The rows of a table that belong to an organization's domains. */
const ofDomains = (organization: SQL, name: string, table: SQLiteTable): KeptTable => ({
	name,
	table,
	where: sql`domain_id in (select id from domains where organization_id = ${organization})`,
});

const KEPT: Record<KeptType, Find> = {
	organization: ({ organization }) => {
		const own = (name: string, table: SQLiteTable) => ownedBy(organization, name, table);
		const ofDomain = (name: string, table: SQLiteTable) => ofDomains(organization, name, table);
		const [ownProjects, ownPlugins] = ["projects", "plugins"].map(
			(name) => sql`(select id from ${sql.raw(name)} where organization_id = ${organization})`,
		);
		return {
			tables: [
				{ name: "organizations", table: organizations, where: sql`id = ${organization}` },
				own("projects", projects),
				own("members", members),
				own("moved_users", movedUsers),
				own("domains", domains),
				own("project_members", projectMembers),
				own("roles", roles),
				own("role_members", roleMembers),
				controlsWhere(sql`organization_id = ${organization}`),
				own("service_accounts", serviceAccounts),
				own("trusted_issuers", trustedIssuers),
				{
					name: "personal_api_keys",
					table: personalApiKeys,
					where: sql`user_id in (select user_id from service_accounts where organization_id = ${organization})`,
				},
				own("oauth_clients", oauthClients),
				own("scim_tokens", scimTokens),
				ofDomain("scim_users", scimUsers),
				ofDomain("scim_groups", scimGroups),
				ofDomain("scim_group_members", scimGroupMembers),
				own("notifications", notifications),
				own("webhooks", webhooks),
				own("plugins", plugins),
				{
					name: "plugin_source_files",
					table: pluginSourceFiles,
					where: sql`plugin_id in ${ownPlugins}`,
				},
				// Other organizations have configs of global plugins.
				...configs(sql`project_id in ${ownProjects} or plugin_id in ${ownPlugins}`),
			],
			exports: sql`organization_id = ${organization}`,
			projects: sql`(select json_group_array(id) from projects where organization_id = ${organization})`,
			needs: needsOf(
				"plugin",
				sql`project_id in ${ownProjects} and plugin_id not in ${ownPlugins}`,
			),
		};
	},
	project: ({ id, item_id, organization }) => {
		const exports = sql`organization_id = ${organization} and project_id = ${id}`;
		const controls = isAbout("project", item_id, organization);
		return {
			tables: [
				{ name: "projects", table: projects, where: sql`id = ${id}` },
				{ name: "project_members", table: projectMembers, where: sql`project_id = ${id}` },
				...configs(sql`project_id = ${id}`),
				controlsWhere(sql`(${controls}) or (${isAboutExports(organization, exports)})`),
			],
			exports,
			controls,
			projects: sql`json_array(${id})`,
			needs: needsOf("plugin", sql`project_id = ${id}`),
		};
	},
	batch_export: ({ id, item_id, organization }) => {
		const controls = isAbout("batch_export", item_id, organization);
		return { tables: [controlsWhere(controls)], exports: sql`id = ${id}`, controls };
	},
	webhook: ({ id, item_id, organization }) => {
		const controls = isAbout("webhook", item_id, organization);
		return {
			tables: [
				{ name: "webhooks", table: webhooks, where: sql`id = ${id}` },
				controlsWhere(controls),
			],
			controls,
		};
	},
	plugin: ({ id, item_id, organization }) => {
		const controls = isAbout("plugin", item_id, organization);
		return {
			tables: [
				{ name: "plugins", table: plugins, where: sql`id = ${id}` },
				{ name: "plugin_source_files", table: pluginSourceFiles, where: sql`plugin_id = ${id}` },
				...configs(sql`plugin_id = ${id}`),
				controlsWhere(controls),
			],
			controls,
			needs: needsOf("project", sql`plugin_id = ${id}`),
		};
	},
	plugin_config: ({ id }) => ({
		tables: configs(sql`id = ${id}`),
		needs: needsOf("plugin", sql`id = ${id}`),
	}),
};

/**
 * Returns what is kept of an object.
 * @param item_id its id in the API
 * @param row the id of its row
 */
export const keptBy = (
	type: KeptType,
	{
		item_id,
		row,
		organization,
	}: { item_id: string; row: string | number | SQL; organization: SQL<number> },
) => {
	// D1 binds numbers as REAL, which would show in JSON.
	const id = typeof row === "number" ? sql`cast(${row} as integer)` : sql`${row}`;
	return KEPT[type]({ id, item_id, organization });
};
