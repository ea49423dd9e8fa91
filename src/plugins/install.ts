import type { Capabilities } from "../db/schema/plugins.ts";
import { invalid } from "../http/errors.ts";
import { unpack } from "./archive.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { compile } from "./compile.ts";
import { MAINS } from "./main_file.ts";
import { manifest } from "./manifest.ts";
import { download } from "./registries.ts";

const MAX_SOURCE_BYTES = 2 ** 20;
/** A file and its compiled output share a row, and D1 limits a row to 2,000,000 bytes. */
const MAX_ROW_BYTES = 1_950_000;

/** Files of an archive that are stored besides the main file. */
const KEPT_FILES = ["plugin.json", "site.ts", "frontend.tsx"];

const bytesOf = (...texts: string[]) =>
	texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);

/** @throws 400 if a plugin's files are larger than 1 MiB together */
export function assertSize(files: ReadonlyMap<string, string>) {
	if (bytesOf(...files.values()) > MAX_SOURCE_BYTES)
		throw invalid(null, "The source of a plugin can be at most 1 MiB.");
	return files;
}

/**
 * The row of a file, with its compiled output. A main file that is too large to be stored with its
 * output has none, and no error: its jobs compile it.
 */
export function toFile(filename: string, source: string) {
	const { compiled, error } = compile(filename, source);
	if (bytesOf(filename, source, compiled ?? "") <= MAX_ROW_BYTES)
		return { filename, source, compiled, error };
	const tooLarge = MAINS.includes(filename) ? null : "The file is too large to compile.";
	return { filename, source, compiled: null, error: tooLarge };
}

/** The plugin's main file: one of the rows to write, or one that stays as it is. */
export function mainFile(files: ReadonlyMap<string, string>, written: ReturnType<typeof toFile>[]) {
	for (const name of MAINS) {
		const source = files.get(name);
		if (source !== undefined)
			return written.find(({ filename }) => filename === name) ?? toFile(name, source);
	}
	return undefined;
}

/**
 * The capabilities of a plugin with this main file, without empty lists. Without a main file, none.
 * If it doesn't compile, the capabilities from before.
 */
export function capabilities(
	main: ReturnType<typeof toFile> | undefined,
	before: Capabilities = {},
): Capabilities {
	if (!main) return {};
	if (main.error !== null) return before;
	return Object.fromEntries(
		Object.entries(capabilitiesOf(main.source)).filter(([, names]) => names.length > 0),
	);
}

/**
 * Downloads the plugin at this URL. `facts` are the columns that its manifest, version and source
 * determine.
 * @throws 400 if it can't be downloaded or isn't a plugin
 */
export async function install(env: Env, url: string) {
	const { bytes, tag, latest_tag } = await download(env, url);
	const archive = await unpack(bytes);
	const { main, ...facts } = manifest(archive);
	const source = main === null ? undefined : archive.get(main);
	const storedFiles = [
		...KEPT_FILES.map((name) => [name, archive.get(name)] as const),
		[main?.endsWith(".ts") ? "index.ts" : "index.js", source] as const,
	];
	const texts = assertSize(
		new Map(
			storedFiles.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
		),
	);
	const files = Array.from(texts, ([name, text]) => toFile(name, text));
	return {
		facts: {
			...facts,
			tag,
			latest_tag,
			capabilities: capabilities(files.find(({ filename }) => MAINS.includes(filename))),
		},
		files,
	};
}
