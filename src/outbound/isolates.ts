import { digest } from "../auth/keys.ts";

const MAX_CPU_MS = 10_000;

/** The workers of `public/`, and the flags that they need. */
const FLAGS = { compiler: [], mcp: [], passkeys: [], saml: ["nodejs_compat"] };

/**
 * Reads a worker that scripts/assets.ts built, for `LOADER`
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
