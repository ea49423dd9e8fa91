import { and, asc, eq, inArray, isNotNull, isNull, lte, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { pluginSourceFiles, plugins } from "../../db/schema/plugins.ts";
import { forEachLogged } from "../../lib/background.ts";
import { DAY_MS, iso, MINUTE_MS } from "../../lib/time.ts";
import { BROWSER_FILES, MAIN_FILES } from "../compiler/file_names.ts";
import { capabilities, isUncompiled, toFiles } from "./install.ts";

/** How many plugins a tick compiles. */
const BATCH_SIZE = 5;

type Due = Pick<typeof plugins.$inferSelect, "id" | "compile_at" | "updated_at" | "capabilities">;

/** Compiling isn't a change by a user. */
const updated_at = sql`${plugins.updated_at}`;

/** Compiles files whose compiler failed (docs/internals/architecture.md#the-compiler). */
export async function compileDue(env: Env, at: number) {
	const db = drizzle(env.DB);
	const { id, compile_at, capabilities } = plugins;
	const due = await db
		.select({ id, compile_at, capabilities, updated_at: plugins.updated_at })
		.from(plugins)
		.where(and(isNotNull(compile_at), lte(compile_at, iso(at))))
		.orderBy(asc(compile_at))
		.limit(BATCH_SIZE);
	await forEachLogged("plugins to compile", due, (plugin) => compile(env, db, plugin, at));
}

/** The delay of retries doubles, because a source may be why the compiler fails. */
const nextAttempt = ({ updated_at: saved }: Due, at: number) =>
	iso(at + Math.min(Math.max(at - Date.parse(saved), MINUTE_MS), DAY_MS));

async function compile(env: Env, db: Database, plugin: Due, at: number) {
	const lease_expires_at = nextAttempt(plugin, at);
	const [leased] = await db
		.update(plugins)
		.set({ compile_at: lease_expires_at, updated_at })
		.where(and(eq(plugins.id, plugin.id), eq(plugins.compile_at, plugin.compile_at ?? "")))
		.returning({ id: plugins.id });
	if (!leased) return;
	const files = await toFiles(env, await uncompiled(db, plugin));
	if (!isUncompiled(files)) await store(db, plugin, files, lease_expires_at);
}

/** Returns the sources without output and error. */
async function uncompiled(db: Database, { id }: Due) {
	const { plugin_id, filename, source, compiled, error } = pluginSourceFiles;
	const stored = await db
		.select({ filename, source })
		.from(pluginSourceFiles)
		.where(
			and(
				eq(plugin_id, id),
				inArray(filename, [...MAIN_FILES, ...BROWSER_FILES]),
				isNull(compiled),
				isNull(error),
			),
		);
	return new Map(stored.map((file) => [file.filename, file.source]));
}

/** Stores the output, unless the files or the capabilities have changed since the lease. */
async function store(
	db: Database,
	{ id, capabilities: before }: Due,
	files: Awaited<ReturnType<typeof toFiles>>,
	lease_expires_at: string,
) {
	const isSame = and(eq(plugins.id, id), eq(plugins.compile_at, lease_expires_at));
	const hasMain = files.some(({ row }) => MAIN_FILES.includes(row.filename));
	const outputs = files.map(({ row: { filename, compiled, error } }) =>
		db
			.update(pluginSourceFiles)
			.set({ compiled, error, updated_at: sql`${pluginSourceFiles.updated_at}` })
			.where(
				and(
					eq(pluginSourceFiles.plugin_id, id),
					eq(pluginSourceFiles.filename, filename),
					sql`exists (select 1 from ${plugins} where ${isSame})`,
				),
			),
	);
	const read = hasMain ? { capabilities: capabilities(files, before) } : {};
	const done = db
		.update(plugins)
		.set({ ...read, compile_at: null, updated_at })
		.where(isSame);
	const [first = done, ...others] = [...outputs, done];
	await db.batch([first, ...others]);
}
