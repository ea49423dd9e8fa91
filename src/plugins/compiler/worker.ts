import { WorkerEntrypoint } from "cloudflare:workers";
import { MAIN_FILES } from "../file_names.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { type Compiled, compile } from "./compile.ts";

export type SourceFile = { filename: string; source: string };

/** `capabilities` are null unless it is a main file that compiles. */
export type Output = Compiled & { capabilities: ReturnType<typeof capabilitiesOf> | null };

/**
 * Compiles plugins' files, in an isolate of its own (docs/architecture.md#the-compiler). It must keep nothing of a call: the
 * next one may be another user's.
 */
export default class Compiler extends WorkerEntrypoint {
	compile(files: SourceFile[]): Output[] {
		return files.map(({ filename, source }) => {
			const compiled = compile(filename, source);
			const isMain = MAIN_FILES.includes(filename) && compiled.error === null;
			return { ...compiled, capabilities: isMain ? capabilitiesOf(source) : null };
		});
	}
}
