import { digest } from "../auth/keys.ts";
import { logError } from "../log/log.ts";
import type Compiler from "./compiler/worker.ts";
import type { Output, SourceFile } from "./compiler/worker.ts";

/** Built from `compiler/worker.ts` by scripts/assets.ts. */
const PATH = "/compiler/worker.js";

const MAX_CPU_MS = 10_000;

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
 * Compiles files of a plugin in the compiler's isolate, which all calls share. If the isolate ends or takes too long, perhaps
 * because of another call, a new isolate that isn't shared compiles them.
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
 * Compiles files of a plugin, in the order given (docs/architecture.md#the-compiler). Never throws.
 * @returns null if the compiler itself failed. That says nothing about the files, so it must not be stored as their error
 */
export async function compileFiles(env: Env, files: SourceFile[]): Promise<Output[] | null> {
	if (files.length === 0) return [];
	return attempt(env, files).catch((error: unknown) => {
		logError("compiler", error);
		return null;
	});
}
