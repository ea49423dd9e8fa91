import { and, eq, sql } from "drizzle-orm";
import type * as z from "zod";
import { PLUGINS_ROOT } from "../auth/levels.ts";
import { cipherOf } from "../auth/secrets.ts";
import { changes } from "../db/changes.ts";
import { rowId } from "../db/client.ts";
import { organizations, pluginSourceFiles, plugins } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { visiblePlugin } from "../db/visible.ts";
import { forbidden, found, invalid, taken } from "../http/errors.ts";
import { each, type Page } from "../http/page.ts";
import { reseal } from "../plugin_configs/reseal.ts";
import type { Family } from "./families.ts";
import { install } from "./install.ts";
import { identify, latest } from "./registries.ts";
import {
	type create,
	itsOrganization,
	pluginColumns,
	toPlugin,
	type update as Update,
} from "./shape.ts";

export const select = ({ db }: Tenant) =>
	db
		.select(pluginColumns)
		.from(plugins)
		.innerJoin(organizations, itsOrganization);

export type Row = Awaited<ReturnType<typeof select>>[number];

export const one = (tenant: Tenant, { holds }: Family, id: string) =>
	and(eq(plugins.id, rowId(id)), holds, visiblePlugin(tenant));

export const newest = {
	by: [plugins.id],
	keys: ({ id }: { id: number }) => [id],
};

/** Newest first. */
export const list = async (tenant: Tenant, family: Family, page: Page) =>
	each(
		await tenant.page(page, select(tenant).$dynamic(), {
			where: and(family.holds, visiblePlugin(tenant)),
			...newest,
		}),
		toPlugin,
	);

async function read(tenant: Tenant, family: Family, id: string) {
	const [[row]] = await tenant.read(
		select(tenant).where(one(tenant, family, id)),
	);
	return found(row);
}

export const find = async (tenant: Tenant, family: Family, id: string) =>
	toPlugin(await read(tenant, family, id));

/** Throws unless the plugin is the organization's own to change. */
export function own<R extends { organization_id: string }>(
	{ caller }: Tenant,
	row: R,
) {
	if (row.organization_id !== caller.organization_id)
		throw forbidden(
			"This plugin installation is managed by another organization",
		);
	return row;
}

export const findOwn = async (tenant: Tenant, family: Family, id: string) =>
	own(tenant, await read(tenant, family, id));

function mayBeGlobal({ caller }: Tenant, asked: boolean) {
	if (asked && caller.plugins_access_level < PLUGINS_ROOT)
		throw forbidden("This organization can't manage global plugins!");
}

/** The organization's newest plugin, in the batch that makes it. */
const made = ({ organization }: Tenant) =>
	sql<number>`(select max(made.id) from plugins as made where made.organization_id = ${organization})`;

/** Seals a plugin's token. It is bound to what tells plugins apart and never changes: their id isn't known at first. */
const tokenCipher = (
	env: Env,
	organization_id: string | null,
	url: string | null,
) => cipherOf(env, "plugins", JSON.stringify([organization_id, url]));

export async function insert(
	tenant: Tenant,
	family: Family,
	{ url, ...body }: z.infer<typeof create>,
) {
	const { db, env } = tenant;
	const { address, token } = identify(url ?? "");
	const already = () =>
		invalid(null, `Plugin from URL "${address}" already installed!`);
	const [[there]] = await tenant.read(
		db
			.select({ id: plugins.id })
			.from(plugins)
			.where(
				and(
					eq(plugins.organization_id, tenant.organization),
					eq(plugins.url, address ?? ""),
				),
			),
	);
	mayBeGlobal(tenant, body.is_global === true);
	if (there) throw already();
	const { facts, files } = url
		? await install(env, url)
		: { facts: {}, files: [] };
	const id = made(tenant);
	const { organization_id } = tenant.caller;
	const cipher = tokenCipher(env, organization_id, address);
	const row = {
		...body,
		plugin_type: body.plugin_type ?? (url ? "custom" : "source"),
		capabilities: body.capabilities ?? family.capabilities,
		...facts,
		organization_id: tenant.organization,
		url: address,
		private_token:
			token === "" ? null : await cipher.seal("private_token", token),
	};
	const [plugin] = await tenant
		.write(
			{
				activity: "created",
				scope: "Plugin",
				item_id: id,
				name: row.name ?? "",
			},
			db.insert(plugins).values(row),
			...files.map((file) =>
				db.insert(pluginSourceFiles).values({ ...file, plugin_id: id }),
			),
			select(tenant).where(eq(plugins.id, id)),
		)
		.catch((error: unknown) => {
			throw taken(error, "plugins.url") ? already() : error;
		});
	return toPlugin(found(plugin));
}

export async function update(
	tenant: Tenant,
	family: Family,
	id: string,
	body: z.infer<typeof Update>,
) {
	const row = await findOwn(tenant, family, id);
	mayBeGlobal(tenant, body.is_global !== undefined);
	const same = eq(plugins.id, row.id);
	const told = { scope: "Plugin", name: body.name ?? row.name };
	const after = await tenant.patch(row, body, told, () => [
		tenant.db.update(plugins).set(body).where(same),
		select(tenant).where(same),
	]);
	followed(tenant, row, after);
	return toPlugin(after);
}

/** What became secret with a new schema is sealed at once, wherever the plugin is configured. */
export function followed(
	tenant: Tenant,
	before: Pick<Row, "config_schema">,
	{ id, config_schema }: Pick<Row, "id" | "config_schema">,
) {
	if (changes(before, { config_schema }).length > 0)
		tenant.later((db) => reseal(tenant.env, db, id, config_schema));
}

/** Its source and configs go along. */
export async function remove(tenant: Tenant, family: Family, id: string) {
	const row = await findOwn(tenant, family, id);
	if (row.is_global)
		throw invalid(
			null,
			"This plugin is marked as global! Make it local before uninstallation",
		);
	await tenant.write(
		{ activity: "deleted", scope: "Plugin", item_id: row.id, name: row.name },
		tenant.db
			.delete(plugins)
			.where(and(eq(plugins.id, row.id), eq(plugins.is_global, false))),
	);
}

/** The row's own secret, which no answer holds. */
const tokenOf = ({ db }: Tenant, id: string) =>
	db
		.select({ private_token: plugins.private_token })
		.from(plugins)
		.where(eq(plugins.id, rowId(id)));

/** A plugin, and the url to install it from again; null where it was not installed from one. */
async function installed(tenant: Tenant, family: Family, id: string) {
	const [[row], [secret]] = await tenant.read(
		select(tenant).where(one(tenant, family, id)),
		tokenOf(tenant, id),
	);
	const { url, plugin_type, organization_id } = found(row);
	const token = secret?.private_token;
	const cipher = tokenCipher(tenant.env, organization_id, url);
	const query = token
		? `?${new URLSearchParams({ private_token: await cipher.unseal("private_token", token) })}`
		: "";
	return {
		row: found(row),
		url:
			url && !["source", "local"].includes(plugin_type)
				? `${url}${query}`
				: null,
	};
}

/** Asks where the plugin came from for its newest tag, which is noted after the answer. */
export async function checkForUpdates(
	tenant: Tenant,
	family: Family,
	id: string,
) {
	const { row, url } = await installed(tenant, family, id);
	if (url === null) return { ...toPlugin(row), update_available: false };
	const { tag: latest_tag } = await latest(tenant.env, url);
	if (latest_tag !== row.latest_tag)
		tenant.later((db) =>
			db.update(plugins).set({ latest_tag }).where(eq(plugins.id, row.id)),
		);
	return {
		...toPlugin(row),
		latest_tag,
		update_available: latest_tag !== row.tag,
	};
}

/** Installs the plugin anew from where it came from; nothing happens to one that came from nowhere. */
export async function upgrade(tenant: Tenant, family: Family, id: string) {
	const { row, url } = await installed(tenant, family, id);
	own(tenant, row);
	if (url === null) return toPlugin(row);
	const { db, env } = tenant;
	const { facts, files } = await install(env, url);
	const [after] = await tenant.write(
		{
			activity: "upgraded",
			scope: "Plugin",
			item_id: row.id,
			name: facts.name,
			changes: changes({ tag: row.tag }, { tag: facts.tag }),
		},
		db.delete(pluginSourceFiles).where(eq(pluginSourceFiles.plugin_id, row.id)),
		...files.map((file) =>
			db.insert(pluginSourceFiles).values({ ...file, plugin_id: row.id }),
		),
		db.update(plugins).set(facts).where(eq(plugins.id, row.id)),
		select(tenant).where(eq(plugins.id, row.id)),
	);
	followed(tenant, row, found(after));
	return toPlugin(found(after));
}
