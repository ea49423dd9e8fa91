import type { Capabilities } from "../db/schema.ts";
import { invalid } from "../http/errors.ts";
import { unpack } from "./archive.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { compile, toScript } from "./compile.ts";
import { manifest } from "./manifest.ts";
import { download } from "./registries.ts";

/**
 * Names under which a plugin's main file is stored, wherever its package had it. The first that
 * exists is used.
 */
export const MAINS = ["index.ts", "index.js"];

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
 * The capabilities of a plugin with this main file, without empty lists. If the source can't be
 * parsed, the capabilities from before.
 */
export const capabilities = (main: string, before: Capabilities = {}): Capabilities =>
	toScript(main).error === null
		? Object.fromEntries(
				Object.entries(capabilitiesOf(main)).filter(([, names]) => names.length > 0),
			)
		: before;

/** The row of a file, with its compiled output if browsers load it. */
export function toFile(filename: string, source: string) {
	const { compiled, error } = compile(filename, source);
	return bytesOf(filename, source, compiled ?? "") > MAX_ROW_BYTES
		? { filename, source, compiled: null, error: "The file is too large to compile." }
		: { filename, source, compiled, error };
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
	const files = assertSize(
		new Map(
			storedFiles.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const])),
		),
	);
	return {
		facts: {
			...facts,
			tag,
			latest_tag,
			capabilities: source === undefined ? {} : capabilities(source),
		},
		files: Array.from(files, ([name, text]) => toFile(name, text)),
	};
}
