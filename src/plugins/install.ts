import type { Capabilities } from "../db/schema.ts";
import { invalid } from "../http/errors.ts";
import { unpack } from "./archive.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { compile, toScript } from "./compile.ts";
import { manifest } from "./manifest.ts";
import { download } from "./registries.ts";

/** Where the main file of a plugin is, wherever its package had it: the first that is there. */
export const MAINS = ["index.ts", "index.js"];

const MAX_SOURCE_BYTES = 2 ** 20;
/** Of a file and what is compiled of it: they are one row, for which D1 has 2,000,000 bytes. */
const MAX_ROW_BYTES = 1_950_000;

/** What is kept of an archive, besides the main file. */
const KEPT_FILES = ["plugin.json", "site.ts", "frontend.tsx"];

const bytesOf = (...texts: string[]) =>
	texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);

/** Throws where the files of a plugin are more than it may have. */
export function assertSize(files: ReadonlyMap<string, string>) {
	if (bytesOf(...files.values()) > MAX_SOURCE_BYTES)
		throw invalid(null, "The source of a plugin has at most 1 MiB.");
	return files;
}

/**
 * The capabilities of a plugin with this main file; what would be an empty list is left out. Of a source that can't be
 * read nothing can be said: they stay what they were.
 */
export const capabilities = (main: string, before: Capabilities = {}): Capabilities =>
	toScript(main).error === null
		? Object.fromEntries(
				Object.entries(capabilitiesOf(main)).filter(([, names]) => names.length > 0),
			)
		: before;

/** A file as it is stored, with what browsers run of it. */
export function toFile(filename: string, source: string) {
	const { compiled, error } = compile(filename, source);
	return bytesOf(filename, source, compiled ?? "") > MAX_ROW_BYTES
		? { filename, source, compiled: null, error: "It is too large to compile." }
		: { filename, source, compiled, error };
}

/** The plugin that the url leads to: what its plugin.json and its source say of it, and its files. */
export async function install(env: Env, url: string) {
	const { bytes, tag, latest_tag } = await download(env, url);
	const all = await unpack(bytes);
	const { main, ...facts } = manifest(all);
	const source = main === null ? undefined : all.get(main);
	const kept = [
		...KEPT_FILES.map((name) => [name, all.get(name)] as const),
		[main?.endsWith(".ts") ? "index.ts" : "index.js", source] as const,
	];
	const files = assertSize(
		new Map(kept.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]))),
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
