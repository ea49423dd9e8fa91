import { sql } from "drizzle-orm";
import { pluginSourceFiles } from "../../db/schema/plugins.ts";
import { compileFiles } from "../compiler/client.ts";
import type { Compiled } from "../compiler/compile.ts";

const { filename, source, compiled, error } = pluginSourceFiles;

/** The columns of a stored file that `compiledOf` needs. */
export const compiledColumns = {
	filename,
	compiled,
	error,
	/** Null unless the file has to be compiled. */
	source: sql<
		string | null
	>`case when ${compiled} is null and ${error} is null then ${source} end`.as("uncompiled"),
};

type StoredFile = Pick<typeof pluginSourceFiles.$inferSelect, "filename" | "compiled" | "error"> & {
	source: string | null;
};

/** Returns the output of a stored file, which is compiled now if it wasn't yet. */
export async function compiledOf(env: Env, file: StoredFile): Promise<Compiled> {
	const { filename, compiled, error, source } = file;
	if (compiled !== null) return { compiled, error: null };
	if (error !== null) return { compiled, error };
	const outputs = await compileFiles(env, [{ filename, source: source ?? "" }]);
	return outputs?.[0] ?? { compiled: null, error: "The compiler failed or took too long." };
}
