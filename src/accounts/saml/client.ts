import { logError } from "../../lib/log.ts";
import { callIsolate } from "../../outbound/isolates.ts";
import { SignInError } from "../sso/problems.ts";
import type Saml from "./worker.ts";
import type { Parties, Provider, Verdict } from "./worker.ts";

/** The methods of the isolate. */
type Service = {
	metadata(parties: Parties, id: string): Promise<string>;
	request(parties: Parties, id: string, relayState: string): Promise<string>;
	verify(parties: Parties, response: string): Promise<Verdict>;
	provider(metadata: string): Promise<Provider>;
};

/**
 * Calls the isolate that speaks SAML (docs/internals/architecture.md#saml).
 * @throws SignInError if it fails; the reason is logged
 */
export async function inIsolate<T>(env: Env, call: (saml: Service) => Promise<T>) {
	try {
		return await callIsolate(env, "saml", (worker) => call(worker.getEntrypoint<Saml>()));
	} catch (error) {
		logError("saml", error);
		throw new SignInError("unavailable", "The isolate that speaks SAML failed.");
	}
}
