import { capabilitiesOf } from "./capabilities.ts";
import { type Compiled, compile } from "./compile.ts";
import { MAIN_FILES } from "./file_names.ts";

export type SourceFile = { filename: string; source: string };

/** `capabilities` is null unless the file is a main file that compiles. */
export type Output = Compiled & { capabilities: ReturnType<typeof capabilitiesOf> | null };

/** Compiles a file of a plugin, and infers the plugin's capabilities from a main file. */
export function outputOf({ filename, source }: SourceFile): Output {
	const compiled = compile(filename, source);
	const isMain = MAIN_FILES.includes(filename) && compiled.error === null;
	return { ...compiled, capabilities: isMain ? capabilitiesOf(source) : null };
}
