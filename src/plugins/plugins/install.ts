import type { SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { type Capabilities, pluginSourceFiles } from "../../db/schema/plugins.ts";
import { invalid } from "../../http/errors.ts";
import { now } from "../../lib/time.ts";
import { compileFiles } from "../compiler/client.ts";
import { isCompiled, MAIN_FILES } from "../compiler/file_names.ts";
import { unpack } from "./archive.ts";
import { manifest } from "./manifest.ts";
import { download } from "./registries.ts";

const MAX_SOURCE_BYTES = 2 ** 20;
/** A file and its compiled output share a row, and D1 limits a row to 2,000,000 bytes. */
const MAX_ROW_BYTES = 1_950_000;

/** Files of an archive that are stored in addition to the main file. */
const KEPT_FILES = ["plugin.json", "site.ts", "frontend.tsx"];

const bytesOf = (...texts: string[]) =>
	texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);

/** @throws 400 if the total size of a plugin's files is more than 1 MiB */
export function assertSize(files: ReadonlyMap<string, string>) {
	if (bytesOf(...files.values()) > MAX_SOURCE_BYTES)
		throw invalid(null, "The source of a plugin can be at most 1 MiB.");
}

type File = Awaited<ReturnType<typeof toFiles>>[number];

/** Whether the compiler itself failed for one of the files. */
export const isUncompiled = (files: File[]) => files.some(({ isFailed }) => isFailed);

/**
 * Compiles the files that need it, and returns their rows without the plugin's id. A file has
 * neither output nor error if the compiler failed, or if it is a main file that is too large to be
 * stored with its output. Such a file is compiled when it is used.
 */
export async function toFiles(env: Env, texts: ReadonlyMap<string, string>) {
	const files = Array.from(texts, ([filename, source]) => ({ filename, source }));
	const needed = files.filter(({ filename }) => isCompiled(filename));
	const outputs = await compileFiles(env, needed);
	return files.map((file) => {
		const { filename, source } = file;
		const output = outputs?.[needed.indexOf(file)];
		const isFailed = outputs === null && isCompiled(filename);
		const { compiled = null, error = null, capabilities = null } = output ?? {};
		const fits = bytesOf(filename, source, compiled ?? "") <= MAX_ROW_BYTES;
		const tooLarge = MAIN_FILES.includes(filename) ? null : "The file is too large to compile.";
		const stored = fits ? { compiled, error } : { compiled: null, error: tooLarge };
		return { row: { filename, source, ...stored }, capabilities, isFailed };
	});
}

/** Returns the capabilities; those of `before` if the main file doesn't compile. */
export function capabilities(files: File[], before: Capabilities = {}): Capabilities {
	const main = MAIN_FILES.map((name) => files.find(({ row }) => row.filename === name)).find(
		Boolean,
	);
	if (!main) return {};
	if (main.capabilities === null) return before;
	return Object.fromEntries(
		Object.entries(main.capabilities).filter(([, names]) => names.length > 0),
	);
}

/** Statements that store files of a plugin. */
export const storeFiles = (db: Database, plugin_id: number | SQL<number>, files: File["row"][]) =>
	files.map((file) =>
		db
			.insert(pluginSourceFiles)
			.values({ ...file, plugin_id })
			.onConflictDoUpdate({
				target: [pluginSourceFiles.plugin_id, pluginSourceFiles.filename],
				set: file,
			}),
	);

/** Downloads a plugin. `facts`: the columns that it sets. Throws 400 if this fails. */
export async function install(env: Env, url: string) {
	const { bytes, tag, latest_tag } = await download(env, url);
	const archive = await unpack(bytes);
	// Before it is parsed, because larger JSON can need more memory than an isolate has.
	assertSize(new Map([["plugin.json", archive.get("plugin.json") ?? ""]]));
	const { main, ...facts } = manifest(archive);
	const stored = new Map(KEPT_FILES.map((name) => [name, archive.get(name)]));
	if (main !== null) stored.set(main.endsWith(".ts") ? "index.ts" : "index.js", archive.get(main));
	const texts = new Map(
		[...stored].flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
	);
	assertSize(texts);
	const files = await toFiles(env, texts);
	return {
		facts: {
			...facts,
			tag,
			latest_tag,
			capabilities: capabilities(files),
			compile_at: isUncompiled(files) ? now() : null,
		},
		files: files.map(({ row }) => row),
	};
}
