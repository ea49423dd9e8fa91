import { env } from "cloudflare:workers";
import { compileFiles } from "../../src/plugins/compiler.ts";

/** What the compiler makes of a file, and the plugin's capabilities if it is a main file that compiles. */
export async function compile(filename: string, source: string) {
	const [output] = await compileFiles(env, [{ filename, source }]);
	if (!output) throw new Error("The compiler answered for no file.");
	return output;
}

/** The script that jobs run, of a plugin's main file. */
export const toScript = (source: string) => compile("index.js", source);
