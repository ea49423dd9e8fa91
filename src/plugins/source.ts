import { asc, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import { among } from "../db/client.ts";
import { now, pluginSourceFiles, plugins } from "../db/schema.ts";
import type { Tenant } from "../db/tenant.ts";
import { found, invalid } from "../http/errors.ts";
import { text } from "../http/fields.ts";
import type { Family } from "./families.ts";
import { bounded, capabilities, MAINS, toFile } from "./install.ts";
import { followed, one, own, select } from "./queries.ts";
import { type PluginSource, type source, toPlugin } from "./shape.ts";

/** The files of a plugin, each a row: as one value they might be more than D1 hands over. */
const filesOf = ({ db }: Tenant, plugin: SQL | undefined) =>
	db
		.select({
			filename: pluginSourceFiles.filename,
			source: pluginSourceFiles.source,
		})
		.from(pluginSourceFiles)
		.innerJoin(plugins, eq(plugins.id, pluginSourceFiles.plugin_id))
		.where(plugin)
		.orderBy(asc(pluginSourceFiles.filename));

const byName = (rows: { filename: string; source: string }[]) =>
	Object.fromEntries(rows.map(({ filename, source }) => [filename, source]));

async function read(tenant: Tenant, family: Family, id: string) {
	const which = one(tenant, family, id);
	const [[row], files] = await tenant.read(
		select(tenant).where(which),
		filesOf(tenant, which),
	);
	return { ...found(row), files: byName(files) };
}

const toSource = ({
	files,
	...row
}: Awaited<ReturnType<typeof read>>): z.infer<typeof PluginSource> => ({
	...toPlugin(row),
	files,
});

/** The plugin with its files. */
export const find = async (tenant: Tenant, family: Family, id: string) =>
	toSource(await read(tenant, family, id));

/** As `find`, for who may change it. */
export async function findOwn(tenant: Tenant, family: Family, id: string) {
	const row = own(tenant, await read(tenant, family, id));
	if (row.plugin_type !== "source")
		throw invalid(null, "Only plugins of type source can be edited.");
	return row;
}

const Manifest = z.object({
	name: text(200).optional(),
	config: z
		.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])
		.optional(),
});

/** What plugin.json says of the plugin itself. */
function manifest(text: string) {
	try {
		const { name, config } = Manifest.parse(JSON.parse(text));
		return {
			...(name !== undefined && { name }),
			...(config !== undefined && { config_schema: config }),
		};
	} catch {
		throw invalid(
			"plugin.json",
			"This is not the JSON of a plugin: an object whose name is a text and whose config is a list or a dictionary.",
		);
	}
}

/** Writes, and with null removes, files of the plugin; those that the body doesn't name stay. */
export async function update(
	tenant: Tenant,
	family: Family,
	id: string,
	body: z.infer<typeof source>,
) {
	const row = await findOwn(tenant, family, id);
	const changed = Object.entries(body).filter(
		([name, text]) => (row.files[name] ?? null) !== text,
	);
	const files = bounded(
		Object.fromEntries(
			Object.entries({ ...row.files, ...body }).flatMap(([name, text]) =>
				text === null ? [] : [[name, text]],
			),
		),
	);
	const facts = manifest(body["plugin.json"] ?? "{}");
	if (changed.length === 0) return toSource(row);
	const [main] = MAINS.flatMap((name) => files[name] ?? []);
	const { db } = tenant;
	const gone = changed.flatMap(([name, text]) => (text === null ? [name] : []));
	const written = changed.flatMap(([filename, text]) =>
		text === null ? [] : [{ ...toFile(filename, text), plugin_id: row.id }],
	);
	const [after] = await tenant.write(
		{
			activity: "source_updated",
			scope: "Plugin",
			item_id: row.id,
			name: facts.name ?? row.name,
			changes: changed.map(([field, text]) => ({
				field,
				action:
					text === null
						? "deleted"
						: field in row.files
							? "changed"
							: "created",
				before: null,
				after: null,
			})),
		},
		db
			.delete(pluginSourceFiles)
			.where(
				sql`${pluginSourceFiles.plugin_id} = ${row.id} and ${among(pluginSourceFiles.filename, gone)}`,
			),
		...written.map((file) =>
			db
				.insert(pluginSourceFiles)
				.values(file)
				.onConflictDoUpdate({
					target: [pluginSourceFiles.plugin_id, pluginSourceFiles.filename],
					set: file,
				}),
		),
		db
			.update(plugins)
			.set({
				updated_at: now(),
				...facts,
				...(changed.some(([name]) => MAINS.includes(name)) && {
					capabilities:
						main === undefined ? {} : capabilities(main, row.capabilities),
				}),
			})
			.where(eq(plugins.id, row.id)),
		select(tenant).where(eq(plugins.id, row.id)),
	);
	followed(tenant, row, found(after));
	return toSource({ ...found(after), files });
}
