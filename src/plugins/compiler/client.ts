import { logError } from "../../lib/log.ts";
import { callIsolate } from "../../outbound/isolates.ts";
import type { Output, SourceFile } from "./output.ts";
import type Compiler from "./worker.ts";

/**
 * Compiles files of a plugin, in the order given (docs/internals/architecture.md#the-compiler).
 * @returns null if the compiler itself failed, which says nothing about the files; it never throws
 */
export async function compileFiles(env: Env, files: SourceFile[]): Promise<Output[] | null> {
	if (files.length === 0) return [];
	try {
		return await callIsolate(env, "compiler", (worker) =>
			worker.getEntrypoint<Compiler>().compile(files),
		);
	} catch (error) {
		logError("compiler", error);
		return null;
	}
}
