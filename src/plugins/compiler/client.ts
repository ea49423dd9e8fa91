import { logError } from "../../lib/log.ts";
import { readWorker } from "../../outbound/isolates.ts";
import type Compiler from "./worker.ts";
import type { Output, SourceFile } from "./worker.ts";

/** How long a call can take. It may have to wait for other calls in the same isolate. */
const TIMEOUT_MS = 15_000;

async function compileIn(worker: WorkerStub, files: SourceFile[]): Promise<Output[]> {
	const timeout = Promise.withResolvers<never>();
	const timer = setTimeout(
		() => timeout.reject(new Error(`Compiling took longer than ${TIMEOUT_MS / 1000} seconds.`)),
		TIMEOUT_MS,
	);
	try {
		return await Promise.race([worker.getEntrypoint<Compiler>().compile(files), timeout.promise]);
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Compiles files of a plugin in the compiler's isolate, which all calls share. If the isolate ends or takes too long, perhaps
 * because of another call, a new isolate that isn't shared compiles them.
 */
async function attempt(env: Env, files: SourceFile[]) {
	const { id, code } = await readWorker(env, "compiler");
	return compileIn(
		env.LOADER.get(id, () => code),
		files,
	).catch((error: unknown) => {
		logError("compiler", error);
		return compileIn(env.LOADER.load(code), files);
	});
}

/**
 * Compiles files of a plugin, in the order given (docs/internals/architecture.md#the-compiler). Never throws.
 * @returns null if the compiler itself failed. That says nothing about the files, so it must not be stored as their error
 */
export async function compileFiles(env: Env, files: SourceFile[]): Promise<Output[] | null> {
	if (files.length === 0) return [];
	return attempt(env, files).catch((error: unknown) => {
		logError("compiler", error);
		return null;
	});
}
