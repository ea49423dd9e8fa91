import { readWorker } from "../../outbound/isolates.ts";
import type Verifier from "./worker.ts";

/** Built from `worker.ts` by build/assets.ts. */
let built: Awaited<ReturnType<typeof readWorker>> | undefined;

/**
 * Returns the verifier of passkeys, in an isolate that all requests share
 * (docs/internals/architecture.md#passkeys).
 */
export async function verifier(env: Env) {
	if (!env.LOADER) throw new Error("This runtime has no LOADER, which passkeys require.");
	built ??= await readWorker(env, "passkeys");
	const { id, code } = built;
	return env.LOADER.get(id, () => code).getEntrypoint<Verifier>();
}
