import { digest } from "../auth/keys.ts";
import { logError } from "../parts/parts.ts";
import type Compiler from "./compiler/worker.ts";
import type { Output, SourceFile } from "./compiler/worker.ts";

/** Built from `compiler/worker.ts` by scripts/assets.ts. */
const PATH = "/compiler/worker.js";

const MAX_CPU_MS = 10_000;

const failed = (error: string): Output => ({ compiled: null, error, capabilities: null });

async function compileIn(worker: WorkerStub, files: SourceFile[]): Promise<Output[]> {
	return worker.getEntrypoint<Compiler>().compile(files);
}

async function readCode({ ASSETS }: Env): Promise<WorkerLoaderWorkerCode> {
	const file = await ASSETS.fetch(new URL(PATH, "https://assets.invalid"));
	if (!file.ok) throw new Error(`${PATH} answered ${file.status}.`);
	return {
		compatibilityDate: "2026-08-01",
		mainModule: "worker.js",
		modules: { "worker.js": await file.text() },
		globalOutbound: null,
		limits: { cpuMs: MAX_CPU_MS, subRequests: 0 },
	};
}

/**
 * Compiles files of a plugin in the compiler's isolate, which all calls share. If the isolate ends, perhaps because of another
 * call, a new isolate that isn't shared compiles them.
 */
async function attempt(env: Env, files: SourceFile[]) {
	const code = await readCode(env);
	const id = `compiler:${await digest(String(code.modules["worker.js"]))}`;
	return compileIn(
		env.LOADER.get(id, () => code),
		files,
	).catch((error: unknown) => {
		logError("compiler", error);
		return compileIn(env.LOADER.load(code), files);
	});
}

/**
 * Compiles files of a plugin, in the order given (docs/architecture.md#the-compiler). Never throws: an error becomes the error
 * of each file.
 */
export async function compileFiles(env: Env, files: SourceFile[]): Promise<Output[]> {
	if (files.length === 0) return [];
	const { LOADER }: { LOADER?: WorkerLoader } = env;
	if (!LOADER)
		return files.map(() => failed("This runtime has no isolate for the compiler (LOADER)."));
	return attempt(env, files).catch((error: unknown) => {
		logError("compiler", error);
		return files.map(() => failed("The compiler failed or took too long."));
	});
}
