import { env } from "cloudflare:workers";
import { compileFiles } from "../../src/plugins/compiler.ts";

/** Compiles a file. Returns the output, and the plugin's capabilities if it is a main file that compiles. */
export async function compile(filename: string, source: string) {
	const [output] = await compileFiles(env, [{ filename, source }]);
	if (!output) throw new Error("The compiler returned no file.");
	return output;
}

/** Returns the script that jobs run, from a plugin's main file. */
export const toScript = (source: string) => compile("index.js", source);
