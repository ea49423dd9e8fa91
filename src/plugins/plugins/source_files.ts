import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import * as z from "zod";
import type { Tenant } from "../../access/tenant.ts";
import { assertExists, inList } from "../../db/client.ts";
import { pluginSourceFiles, plugins } from "../../db/schema/plugins.ts";
import { invalid, orNotFound } from "../../http/errors.ts";
import { text } from "../../http/fields.ts";
import { parseUnrounded } from "../../lib/lossless_json.ts";
import { now } from "../../lib/time.ts";
import { MAIN_FILES } from "../compiler/file_names.ts";
import { assertCodeAuthorized, authorizeCodeChange, codeStatus } from "./code.ts";
import { assertSize, capabilities, isUncompiled, storeFiles, toFiles } from "./install.ts";
import { resealIfSchemaChanged } from "./reseal.ts";
import { assertOwn, byId, type Row, select } from "./rows.ts";
import { configSchemaInput, type PluginSource, type source, toPlugin } from "./shape.ts";

/** Selects the files of a plugin, one per row: together they could exceed D1's size of a value. */
const filesOf = ({ db }: Tenant, condition: SQL | undefined) =>
	db
		.select({
			filename: pluginSourceFiles.filename,
			source: pluginSourceFiles.source,
			error: pluginSourceFiles.error,
		})
		.from(pluginSourceFiles)
		.innerJoin(plugins, eq(plugins.id, pluginSourceFiles.plugin_id))
		.where(condition)
		.orderBy(asc(pluginSourceFiles.filename));

async function read(tenant: Tenant, id: string) {
	const condition = byId(tenant, id);
	const [[row], rows, [code]] = await tenant.read(
		select(tenant).where(condition),
		filesOf(tenant, condition),
		codeStatus(tenant, id),
	);
	const files = new Map(rows.map(({ filename, source }) => [filename, source]));
	const errors = new Map(rows.map(({ filename, error }) => [filename, error]));
	return { row: orNotFound(row), files, errors, code };
}

type Texts = ReadonlyMap<string, string>;

/** @param errors the compile errors of files; null for files that compile */
const toSource = (
	row: Row,
	files: Texts,
	errors: ReadonlyMap<string, string | null>,
): z.infer<typeof PluginSource> => ({
	...toPlugin(row),
	files: Object.fromEntries(files),
	errors: Object.fromEntries(
		[...errors].flatMap(([name, error]) =>
			error === null || !files.has(name) ? [] : [[name, error]],
		),
	),
});

/** Returns the plugin with its files. */
export async function find(tenant: Tenant, id: string) {
	const { row, files, errors } = await read(tenant, id);
	return toSource(row, files, errors);
}

/**
 * Returns the plugin with its files, if the caller may change them.
 * @throws 400 if the plugin isn't of type source, and the errors of `authorizeCodeChange`
 */
export async function findEditable(tenant: Tenant, id: string) {
	const { row, files, errors, code } = await read(tenant, id);
	assertOwn(tenant, row);
	authorizeCodeChange(tenant, code);
	if (row.plugin_type !== "source")
		throw invalid(null, "Only plugins of type source can be edited.");
	return { row, files, errors };
}

const Manifest = z.object({ name: text(200).optional(), config: configSchemaInput().optional() });

/** Returns the columns that plugin.json sets. */
function parseManifest(text: string) {
	try {
		const { name, config } = Manifest.parse(parseUnrounded(text));
		return {
			...(name !== undefined && { name }),
			...(config !== undefined && { config_schema: config }),
		};
	} catch {
		throw invalid(
			"plugin.json",
			"Must be a JSON object. Its name must be a string, and its config a list or an object of at most 100 levels and 64 KiB, without numbers that a double would round.",
		);
	}
}

/** Compiles the changed files, and the main file if that may be another one now. */
async function compile(env: Env, files: Texts, names: string[]) {
	const changesMain = names.some((name) => MAIN_FILES.includes(name));
	const main = changesMain ? MAIN_FILES.find((name) => files.has(name)) : undefined;
	const needed = [...files].filter(([name]) => name === main || names.includes(name));
	const compiled = await toFiles(env, new Map(needed));
	// If the compiler failed, even a main file that the request doesn't change loses its output.
	const written = compiled.flatMap(({ row, isFailed }) =>
		names.includes(row.filename) || isFailed ? [row] : [],
	);
	return { compiled, written, changesMain };
}

/** Writes the files in the body and deletes those that are null. Other files don't change. */
export async function update(tenant: Tenant, id: string, body: z.infer<typeof source>) {
	const { row, files: before, errors } = await findEditable(tenant, id);
	const entries = Object.entries(body);
	const files = new Map(
		Object.entries({ ...Object.fromEntries(before), ...body }).flatMap(([name, text]) =>
			text === null ? [] : [[name, text]],
		),
	);
	assertSize(files);
	const facts = parseManifest(body["plugin.json"] ?? "{}");
	const changed = entries.filter(([name]) => before.get(name) !== files.get(name));
	if (changed.length === 0) return toSource(row, files, errors);
	const names = changed.map(([name]) => name);
	const { compiled, written, changesMain } = await compile(tenant.env, files, names);
	const changes = names.map((field) => {
		const action = !files.has(field) ? "deleted" : before.has(field) ? "changed" : "created";
		return { field, action, before: null, after: null } as const;
	});
	const set = {
		updated_at: now(),
		...facts,
		...(changesMain && { capabilities: capabilities(compiled, row.capabilities) }),
		compile_at: isUncompiled(compiled)
			? now()
			: sql`iif(${plugins.compile_at} is null, null, ${now()})`,
	};
	const { db } = tenant;
	const { plugin_id, filename } = pluginSourceFiles;
	const isDeleted = inList(
		filename,
		names.filter((name) => !files.has(name)),
	);
	const byRowId = eq(plugins.id, row.id);
	const name = facts.name ?? row.name;
	const after = await tenant.write({
		checks: [assertExists(db, plugins, byRowId), assertCodeAuthorized(tenant, row.id)],
		changes: [
			db.delete(pluginSourceFiles).where(and(eq(plugin_id, row.id), isDeleted)),
			...storeFiles(db, row.id, written),
			db.update(plugins).set(set).where(byRowId),
		],
		entries: [{ activity: "source_updated", scope: "Plugin", item_id: row.id, name, changes }],
		answer: select(tenant).where(byRowId),
	});
	resealIfSchemaChanged(tenant, row, after);
	for (const { filename, error } of written) errors.set(filename, error);
	return toSource(after, files, errors);
}
