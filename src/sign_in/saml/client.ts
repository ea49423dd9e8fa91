import { type Saml, saml } from "../../isolates/saml/client.ts";
import { logError } from "../../lib/log.ts";
import { SignInError } from "../provider/problems.ts";

/**
 * Calls the isolate that speaks SAML.
 * @throws SignInError if it fails; the reason is logged
 */
export async function inIsolate<T>(env: Env, call: (saml: Saml) => Promise<T>) {
	try {
		return await saml(env, call);
	} catch (error) {
		logError("saml", error);
		throw new SignInError("unavailable", "The isolate that speaks SAML failed.");
	}
}
