import { logError } from "../../lib/log.ts";
import { readWorker } from "../../outbound/isolates.ts";
import type Compiler from "./worker.ts";
import type { Output, SourceFile } from "./worker.ts";

/** How long a call can take. It may have to wait for other calls in the same isolate. */
const TIMEOUT_MS = 15_000;

const compileIn = (worker: WorkerStub, files: SourceFile[]): Promise<Output[]> =>
	Promise.race([
		worker.getEntrypoint<Compiler>().compile(files),
		scheduler.wait(TIMEOUT_MS).then(() => {
			throw new Error(`Compiling took longer than ${TIMEOUT_MS / 1000} seconds.`);
		}),
	]);

/**
 * Compiles files of a plugin, in the order given (docs/internals/architecture.md#the-compiler). If
 * the isolate that all calls share ends or takes too long, perhaps because of another call, a new
 * isolate compiles them.
 * @returns null if the compiler itself failed, which says nothing about the files; it never throws
 */
export async function compileFiles(env: Env, files: SourceFile[]): Promise<Output[] | null> {
	if (files.length === 0) return [];
	try {
		const { id, code } = await readWorker(env, "compiler");
		const shared = env.LOADER.get(id, () => code);
		return await compileIn(shared, files).catch((error: unknown) => {
			logError("compiler", error);
			return compileIn(env.LOADER.load(code), files);
		});
	} catch (error) {
		logError("compiler", error);
		return null;
	}
}
