import { logError } from "../../lib/log.ts";
import { readWorker } from "../../outbound/isolates.ts";
import { SignInError } from "../sso/problems.ts";
import type Saml from "./worker.ts";
import type { Parties, Verdict } from "./worker.ts";

/** How long a call can take. It may have to wait for other calls in the same isolate. */
const TIMEOUT_MS = 15_000;

/** The methods of the isolate. */
type Service = {
	metadata(parties: Parties, id: string): Promise<string>;
	request(parties: Parties, id: string, relayState: string): Promise<string>;
	verify(parties: Parties, response: string): Promise<Verdict>;
};

const callIn = <T>(worker: WorkerStub, call: (saml: Service) => Promise<T>): Promise<T> =>
	Promise.race([
		call(worker.getEntrypoint<Saml>()),
		scheduler.wait(TIMEOUT_MS).then(() => {
			throw new Error(`SAML took longer than ${TIMEOUT_MS / 1000} seconds.`);
		}),
	]);

/**
 * Calls the isolate that speaks SAML (docs/internals/architecture.md#saml). If the isolate that all
 * domains share ends or takes too long, perhaps because of another call, the call is repeated in a
 * new isolate.
 * @throws SignInError if that fails, too, or there is no `LOADER`; the reason is logged
 */
export async function inIsolate<T>(env: Env, call: (saml: Service) => Promise<T>) {
	try {
		const { id, code } = await readWorker(env, "saml");
		return await callIn(
			env.LOADER.get(id, () => code),
			call,
		).catch((error: unknown) => {
			logError("saml", error);
			return callIn(env.LOADER.load(code), call);
		});
	} catch (error) {
		logError("saml", error);
		throw new SignInError("unavailable", "The isolate that speaks SAML failed.");
	}
}
