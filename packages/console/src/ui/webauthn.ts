/** Passkeys, through the browser (docs/keys.md#passkeys). */
import type { PasskeyCreation, PasskeyRequest } from "tenantry-client";

/** Whether this browser has passkeys. */
export const hasPasskeys = () =>
	"PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;

const WORDS: Record<string, string> = {
	NotAllowedError: "No passkey was used. Try again, or choose another way.",
	InvalidStateError: "This device already has a passkey of your account.",
	SecurityError: "Passkeys don't work at this address: open the console at its usual one.",
};

/** Explains why the browser didn't use a passkey. */
function explain(error: unknown): never {
	const words = error instanceof DOMException ? WORDS[error.name] : undefined;
	throw words === undefined ? error : new Error(words, { cause: error });
}

/** Returns the JSON of a passkey that the browser made or used. */
function toJson(credential: Credential | null) {
	if (!(credential instanceof PublicKeyCredential)) throw noPasskey();
	return credential.toJSON();
}

const noPasskey = () => new Error(WORDS.NotAllowedError);

/** Makes a passkey. */
export async function makePasskey(options: PasskeyCreation) {
	const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
	const { id, response } = toJson(await navigator.credentials.create({ publicKey }).catch(explain));
	if (!("attestationObject" in response)) throw noPasskey();
	// Only what the service takes: browsers return more, which strict requests may not contain.
	const { clientDataJSON, attestationObject, transports } = response;
	return { id, response: { clientDataJSON, attestationObject, transports } };
}

/** Uses a passkey. */
export async function usePasskey(options: PasskeyRequest) {
	const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
	const { id, response } = toJson(await navigator.credentials.get({ publicKey }).catch(explain));
	if (!("signature" in response)) throw noPasskey();
	return { id, response };
}
