import { env } from "cloudflare:workers";
import { compileFiles } from "../../src/plugins/compiler/client.ts";

/**
 * Compiles a file. Returns the output, and the plugin's capabilities if it is a main file that
 * compiles.
 */
export async function compile(filename: string, source: string) {
	const outputs = await compileFiles(env, [{ filename, source }]);
	if (!outputs?.[0]) throw new Error("The compiler failed.");
	const [output] = outputs;
	return output;
}

/** Returns the script that jobs run, from a plugin's main file. */
export const toScript = (source: string) => compile("index.js", source);
