import { callIsolate } from "../../outbound/isolates.ts";
import type Worker from "./worker.ts";
import type { Parties, Provider, Verdict } from "./worker.ts";

/** The methods of the isolate. */
export type Saml = {
	metadata(parties: Parties, id: string): Promise<string>;
	request(parties: Parties, id: string, relayState: string): Promise<string>;
	verify(parties: Parties, response: string): Promise<Verdict>;
	provider(metadata: string): Promise<Provider>;
};

/** Calls the isolate that speaks SAML (docs/internals/architecture.md#saml). Throws if it fails. */
export const saml = <T>(env: Env, call: (saml: Saml) => Promise<T>) =>
	callIsolate(env, "saml", (worker) => call(worker.getEntrypoint<Worker>()));
