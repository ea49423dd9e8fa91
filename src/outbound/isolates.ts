import { digest } from "../keys/keys.ts";
import { logError } from "../lib/log.ts";
import { within } from "../lib/within.ts";

const MAX_CPU_MS = 10_000;

/** How long a call can take. It may have to wait for other calls in the same isolate. */
const TIMEOUT_MS = 15_000;

/** The workers of `public/`, and the flags that they need. */
const FLAGS = { compiler: [], mcp: [], passkeys: [], saml: ["nodejs_compat"] };

/**
 * Reads a worker that build/assets.ts built, for `LOADER`
 * (docs/internals/architecture.md#separate-isolates). It has no bindings and no network, and 10
 * seconds of CPU time for each call.
 * @returns its code, and an id for an isolate that all requests share. The id contains the hash of
 * the code
 */
export async function readWorker({ ASSETS }: Env, name: keyof typeof FLAGS) {
	const path = `/${name}/worker.js`;
	const file = await ASSETS.fetch(new URL(path, "https://assets.invalid"));
	if (!file.ok) throw new Error(`${path} answered ${file.status}.`);
	const script = await file.text();
	const code: WorkerLoaderWorkerCode = {
		compatibilityDate: "2026-08-01",
		compatibilityFlags: FLAGS[name],
		mainModule: "worker.js",
		modules: { "worker.js": script },
		globalOutbound: null,
		limits: { cpuMs: MAX_CPU_MS },
	};
	return { id: `${name}:${await digest(script)}`, code };
}

/**
 * Calls a worker in the isolate that all requests share. If the isolate ends or takes too long,
 * perhaps because of another call, the call is repeated in a new isolate.
 * @throws if that fails, too, or there is no `LOADER`
 */
export async function callIsolate<T>(
	env: Env,
	name: keyof typeof FLAGS,
	call: (worker: WorkerStub) => Promise<T>,
): Promise<T> {
	const { id, code } = await readWorker(env, name);
	const callIn = (worker: WorkerStub) => {
		const late = new Error(`The call of ${name} took longer than ${TIMEOUT_MS / 1000} seconds.`);
		return within(TIMEOUT_MS, late, () => call(worker));
	};
	return callIn(env.LOADER.get(id, () => code)).catch((error: unknown) => {
		logError(name, error);
		return callIn(env.LOADER.load(code));
	});
}
