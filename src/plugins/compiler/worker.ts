import { WorkerEntrypoint } from "cloudflare:workers";
import { outputOf, type SourceFile } from "./output.ts";

/** Compiles plugins of any user, so it must not store anything from a call. */
export default class Compiler extends WorkerEntrypoint {
	compile(files: SourceFile[]) {
		return files.map(outputOf);
	}
}
