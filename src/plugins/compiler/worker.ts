import { WorkerEntrypoint } from "cloudflare:workers";
import { MAIN_FILES } from "../plugins/file_names.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { type Compiled, compile } from "./compile.ts";

export type SourceFile = { filename: string; source: string };

/** `capabilities` is null unless the file is a main file that compiles. */
export type Output = Compiled & { capabilities: ReturnType<typeof capabilitiesOf> | null };

/** Compiles plugins of any user, so it must not store anything from a call. */
export default class Compiler extends WorkerEntrypoint {
	compile(files: SourceFile[]): Output[] {
		return files.map(({ filename, source }) => {
			const compiled = compile(filename, source);
			const isMain = MAIN_FILES.includes(filename) && compiled.error === null;
			return { ...compiled, capabilities: isMain ? capabilitiesOf(source) : null };
		});
	}
}
