import { and, eq, not, or, sql } from "drizzle-orm";
import type * as z from "zod";
import { removeKept } from "../../access/deletions.ts";
import { assertRoom } from "../../access/objects.ts";
import { readPage } from "../../access/pages.ts";
import type { Tenant } from "../../access/tenant.ts";
import { retry } from "../../access/unit_of_work.ts";
import { changes, settable } from "../../db/changes.ts";
import { assertExists, rowId } from "../../db/client.ts";
import { contains } from "../../db/contains.ts";
import { isUniqueViolation } from "../../db/errors.ts";
import { PLUGINS_ROOT } from "../../db/schema/levels.ts";
import { organizations, projects } from "../../db/schema/organizations.ts";
import { pluginConfigs, pluginSourceFiles, plugins } from "../../db/schema/plugins.ts";
import { ApiError, forbidden, invalid, orNotFound } from "../../http/errors.ts";
import { mapResults, type Page } from "../../http/page.ts";
import { count } from "../../organizations/contents.ts";
import { assertCodeAuthorized, authorizeCodeChange, codeStatus } from "./code.ts";
import { type Family, familyNames, isIn } from "./families.ts";
import { install, storeFiles } from "./install.ts";
import { identify, latest } from "./registries.ts";
import { resealIfSchemaChanged } from "./reseal.ts";
import { assertOwn, byId, originOf, sealToken, select, tokenOf, visible } from "./rows.ts";
import {
	create,
	type filters,
	isPluginOrganization,
	pluginColumns,
	toPlugin,
	type update as Update,
} from "./shape.ts";

/** Lists the plugins of a family. */
export const list = async (tenant: Tenant, { condition }: Family, page: Page) =>
	mapResults(
		await readPage(tenant, page, {
			select: () => select(tenant).$dynamic(),
			...visible(tenant, condition),
		}),
		toPlugin,
	);

/** Lists all visible plugins, including those without a family. */
export const listAll = async (
	tenant: Tenant,
	page: Page,
	{ search, family }: z.infer<typeof filters>,
) => {
	const query = () =>
		tenant.db
			.select({ ...pluginColumns, families: familyNames })
			.from(plugins)
			.innerJoin(organizations, isPluginOrganization)
			.$dynamic();
	const texts = [plugins.name, plugins.description, plugins.url];
	const filter = and(
		family?.length ? isIn(family) : undefined,
		search ? or(...texts.map((text) => contains(text, search))) : undefined,
	);
	const rows = await readPage(tenant, page, { select: query, ...visible(tenant, filter) });
	return mapResults(rows, ({ families, ...row }) => ({ ...toPlugin(row), families }));
};

const read = (tenant: Tenant, id: string) => tenant.find(select(tenant).where(byId(tenant, id)));

export const find = async (tenant: Tenant, id: string) => toPlugin(await read(tenant, id));

export const findOwn = async (tenant: Tenant, id: string) =>
	assertOwn(tenant, await read(tenant, id));

/** Counts what stops when the plugin is removed. Only its own organization learns about others. */
export const contents = (tenant: Tenant, id: string) => {
	const { organization } = tenant;
	const { plugin_id, project_id, deleted } = pluginConfigs;
	return count(
		tenant,
		{
			// By project: all organizations together may have many configs of a global plugin.
			plugin_config: sql`${projects} cross join ${pluginConfigs} on ${project_id} = ${projects.id}
				where ${projects.organization_id} = ${organization} and +${plugin_id} = ${rowId(id)} and not ${deleted}`,
			plugin_config_elsewhere: sql`${plugins} cross join ${pluginConfigs} on ${plugin_id} = ${plugins.id}
				where ${plugins.id} = ${rowId(id)} and ${plugins.organization_id} = ${organization}
				and ${pluginConfigs.organization_id} <> ${organization} and not ${deleted}`,
		},
		[tenant.db.select({ id: plugins.id }).from(plugins).where(byId(tenant, id))],
	);
};

/** Reads a plugin that the caller may change, and what `authorizeCodeChange` needs. */
async function readOwn(tenant: Tenant, id: string) {
	const [[row], [code]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		codeStatus(tenant, id),
	);
	return { plugin: assertOwn(tenant, orNotFound(row)), code };
}

/** Finds a plugin whose code the caller may change. */
export async function findOwnCode(tenant: Tenant, id: string) {
	const { plugin, code } = await readOwn(tenant, id);
	authorizeCodeChange(tenant, code);
	return plugin;
}

function assertMayBeGlobal({ caller }: Tenant, requested: boolean) {
	if (requested && caller.plugins_access_level < PLUGINS_ROOT)
		throw forbidden("This organization can't manage global plugins!");
}

/** SQL for the id of the organization's newest plugin, such as one inserted in the same batch. */
const newestId = ({ organization }: Tenant) =>
	sql<number>`(select max(newest.id) from plugins as newest where newest.organization_id = ${organization})`;

/** The error for a URL that is already installed, with a link to that plugin. */
function alreadyInstalled(
	{ caller }: Tenant,
	{ name }: Family,
	address: string | null,
	{ id }: { id: number },
) {
	const path = `/api/organizations/${caller.organization_uuid}/${name}/${id}/`;
	return new ApiError({
		status: 400,
		type: "validation_error",
		code: "invalid_input",
		detail: `Plugin from URL "${address}" already installed!`,
		headers: { Link: `<${path}>; rel="item"` },
	});
}

/** Selects the plugin that the organization has installed from this URL. */
const installedFrom = ({ db, organization }: Tenant, address: string | null) =>
	db
		.select({ id: plugins.id })
		.from(plugins)
		.where(and(eq(plugins.organization_id, organization), eq(plugins.url, address ?? "")));

/** Handles the failure of a write that sets the URL of a plugin. */
const onConflict =
	(tenant: Tenant, family: Family, address: string | null) => async (error: unknown) => {
		if (isUniqueViolation(error, "plugins.url")) {
			const [[installed]] = await tenant.read(installedFrom(tenant, address));
			if (installed) throw alreadyInstalled(tenant, family, address, installed);
		}
		throw error;
	};

/** What the log says of a plugin. */
const valuesOf = (row: object) => settable(create, row);

export async function insert(
	tenant: Tenant,
	family: Family,
	{ url, ...body }: z.infer<typeof create>,
) {
	const { db, env } = tenant;
	const { address, token } = identify(url ?? "");
	const [[installed]] = await tenant.read(installedFrom(tenant, address));
	assertMayBeGlobal(tenant, body.is_global === true);
	if (installed) throw alreadyInstalled(tenant, family, address, installed);
	const { facts, files } = url ? await install(env, url) : { facts: {}, files: [] };
	const id = newestId(tenant);
	const { organization_uuid: organization_id } = tenant.caller;
	const row = {
		...body,
		plugin_type: body.plugin_type ?? (url ? "custom" : "source"),
		capabilities: body.capabilities ?? family.capabilities,
		...facts,
		organization_id: tenant.organization,
		url: address,
		private_token: await sealToken(env, { organization_id, url: address }, token),
	};
	const plugin = await tenant
		.write({
			checks: [assertRoom(tenant, plugins, eq(plugins.organization_id, tenant.organization))],
			changes: [db.insert(plugins).values(row), ...storeFiles(db, id, files)],
			entries: [
				{
					activity: "created",
					scope: "Plugin",
					item_id: id,
					name: row.name ?? "",
					values: valuesOf(row),
				},
			],
			answer: select(tenant).where(eq(plugins.id, id)),
		})
		.catch(onConflict(tenant, family, address));
	return toPlugin(plugin);
}

export async function update(tenant: Tenant, id: string, body: z.infer<typeof Update>) {
	const { plugin: before, code } = await readOwn(tenant, id);
	assertMayBeGlobal(tenant, body.is_global !== undefined);
	const { capabilities, public_jobs } = body;
	const isCodeChange = changes(before, { capabilities, public_jobs }).length > 0;
	if (isCodeChange) authorizeCodeChange(tenant, code);
	const byRowId = eq(plugins.id, before.id);
	const entry = { scope: "Plugin" as const, name: body.name ?? before.name };
	const after = await tenant.patch(before, body, entry, () => ({
		checks: [
			assertExists(tenant.db, plugins, byRowId),
			...(isCodeChange ? [assertCodeAuthorized(tenant, before.id)] : []),
		],
		changes: [
			tenant.db
				.update(plugins)
				// Capabilities that were set by hand stay (`compile_later.ts`).
				.set({ ...body, ...(capabilities && { compile_at: null }) })
				.where(byRowId),
		],
		answer: select(tenant).where(byRowId),
	}));
	resealIfSchemaChanged(tenant, before, after);
	return toPlugin(after);
}

/** SQL condition on `plugins`: another organization has a config of the plugin. */
const isUsedElsewhere = sql`exists (select 1 from plugin_configs as used where used.plugin_id = ${plugins.id}
  and used.organization_id <> ${plugins.organization_id} and not used.deleted)`;

/** Deletes the plugin, its source and its configs. */
export const remove = (tenant: Tenant, id: string) => retry(() => tryRemove(tenant, id));

async function tryRemove(tenant: Tenant, id: string) {
	const { db } = tenant;
	const condition = byId(tenant, id);
	const [[row], [found]] = await tenant.read(
		select(tenant).where(condition),
		db
			.select({ families: familyNames, is_used: sql<number>`${isUsedElsewhere}`.as("is_used") })
			.from(plugins)
			.where(condition),
	);
	const plugin = assertOwn(tenant, orNotFound(row));
	const { families, is_used } = orNotFound(found);
	if (plugin.is_global)
		throw invalid(null, "This plugin is marked as global! Make it local before uninstallation");
	if (is_used) throw invalid(null, "This plugin is used by other organizations.");
	await removeKept(
		tenant,
		{
			type: "plugin",
			item_id: plugin.id,
			name: plugin.name,
			values: valuesOf(plugin),
			shown: { ...toPlugin(plugin), families },
		},
		{
			table: plugins,
			where: and(eq(plugins.id, plugin.id), eq(plugins.is_global, false), not(isUsedElsewhere)),
		},
	);
}

/** Looks up the newest version, unless the plugin is another organization's. */
export async function checkForUpdates(tenant: Tenant, id: string) {
	const [[row], [token]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		tokenOf(tenant, id),
	);
	const plugin = orNotFound(row);
	const isOwn = plugin.organization_id === tenant.caller.organization_uuid;
	const url = isOwn ? await originOf(tenant, plugin, token?.private_token) : null;
	const latest_tag = url ? (await latest(tenant.env, url)).tag : plugin.latest_tag;
	if (latest_tag !== plugin.latest_tag)
		tenant.later((db) => db.update(plugins).set({ latest_tag }).where(eq(plugins.id, plugin.id)));
	return {
		...toPlugin(plugin),
		latest_tag,
		update_available: latest_tag !== null && latest_tag !== plugin.tag,
	};
}

/**
 * Returns the URL to install another version of a plugin from, with the current token by default.
 * @param origin the current URL; null if the plugin was written in place
 * @throws 400 if `url` is a URL of another package or repository
 */
function versionAt(origin: string | null, url: string | undefined) {
	if (url === undefined) return origin;
	const before = identify(origin ?? "");
	const after = identify(url);
	if (origin === null || before.project !== after.project)
		throw invalid(
			"url",
			before.project === null
				? "This plugin was not installed from a URL."
				: `Must be a version of ${before.project}.`,
		);
	const token = after.token || before.token;
	const query = token === "" ? "" : `?${new URLSearchParams({ private_token: token })}`;
	return `${after.address}${query}`;
}

/** Installs the plugin again from its URL, or from that of another version. */
export async function upgrade(
	tenant: Tenant,
	family: Family,
	id: string,
	version: string | undefined,
) {
	const [[row], [code], [token]] = await tenant.read(
		select(tenant).where(byId(tenant, id)),
		codeStatus(tenant, id),
		tokenOf(tenant, id),
	);
	const before = assertOwn(tenant, orNotFound(row));
	authorizeCodeChange(tenant, code);
	const url = versionAt(await originOf(tenant, before, token?.private_token), version);
	if (url === null) return toPlugin(before);
	const { db, env } = tenant;
	const { address, token: private_token } = identify(url);
	const { facts, files } = await install(env, url);
	const kept = facts.compile_at === null ? {} : { capabilities: before.capabilities };
	const sealed = await sealToken(env, { ...before, url: address }, private_token);
	const after = await tenant
		.write({
			checks: [
				assertExists(db, plugins, eq(plugins.id, before.id)),
				assertCodeAuthorized(tenant, before.id),
			],
			changes: [
				db.delete(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, before.id)),
				...storeFiles(db, before.id, files),
				db
					.update(plugins)
					.set({ ...facts, ...kept, url: address, private_token: sealed })
					.where(eq(plugins.id, before.id)),
			],
			entries: [
				{
					activity: "upgraded",
					scope: "Plugin",
					item_id: before.id,
					name: facts.name,
					changes: changes(before, { tag: facts.tag, url: address }),
				},
			],
			answer: select(tenant).where(eq(plugins.id, before.id)),
		})
		.catch(onConflict(tenant, family, address));
	resealIfSchemaChanged(tenant, before, after);
	return toPlugin(after);
}
