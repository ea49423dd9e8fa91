import { WorkerEntrypoint } from "cloudflare:workers";
import {
	type VerifiedAuthenticationResponse,
	type VerifiedRegistrationResponse,
	verifyAuthenticationResponse,
	verifyRegistrationResponse,
} from "@simplewebauthn/server";

/** The values that the browser must have signed. */
export type Expected = { challenge: string; origin: string; rp_id: string };

/** A new passkey, as the browser returns it; bytes are base64url. */
type Registration = {
	id: string;
	response: { clientDataJSON: string; attestationObject: string };
};

/** The use of a passkey, as the browser returns it; bytes are base64url. */
export type Assertion = {
	id: string;
	response: {
		clientDataJSON: string;
		authenticatorData: string;
		signature: string;
		userHandle?: string | null | undefined;
	};
};

type Known = { public_key: string; sign_count: number };

type Registered = Known & { credential_id: string; is_backed_up: boolean };

type Used = { sign_count: number; is_backed_up: boolean };

type Failed = { error: string };

/** The fields that are the same for each passkey. */
const FIXED = { type: "public-key" as const, clientExtensionResults: {} };

const expected = ({ challenge, origin, rp_id }: Expected) => ({
	expectedChallenge: challenge,
	expectedOrigin: origin,
	expectedRPID: rp_id,
});

const reasonOf = (error: unknown): Failed => ({
	error: error instanceof Error ? error.message : String(error),
});

/** Verifies passkeys (WebAuthn, sections 7.1 and 7.2) of any user, so it must not store anything. */
export default class Verifier extends WorkerEntrypoint {
	/** Returns what to store of a new passkey, or why it isn't valid. */
	async register(
		{ id, response }: Registration,
		signed: Expected,
		algorithms: number[],
	): Promise<Registered | Failed> {
		try {
			return toRegistered(
				await verifyRegistrationResponse({
					response: { ...FIXED, id, rawId: id, response },
					...expected(signed),
					// Without it, a passkey is still a second factor.
					requireUserVerification: false,
					supportedAlgorithmIDs: algorithms,
				}),
			);
		} catch (error) {
			return reasonOf(error);
		}
	}

	/**
	 * Returns what changes with the use of a passkey, or why it isn't valid.
	 * @param isUserVerified whether the device must have verified the user
	 */
	async authenticate(
		{ id, response: { userHandle: _, ...response } }: Assertion,
		{ public_key, sign_count }: Known,
		signed: Expected,
		isUserVerified: boolean,
	): Promise<Used | Failed> {
		try {
			return toUsed(
				await verifyAuthenticationResponse({
					response: { ...FIXED, id, rawId: id, response },
					...expected(signed),
					credential: {
						id,
						publicKey: Uint8Array.fromBase64(public_key, { alphabet: "base64url" }),
						counter: sign_count,
					},
					requireUserVerification: isUserVerified,
				}),
			);
		} catch (error) {
			return reasonOf(error);
		}
	}
}

function toRegistered({ registrationInfo }: VerifiedRegistrationResponse): Registered | Failed {
	if (!registrationInfo) return { error: "The attestation is invalid." };
	const { credential, credentialBackedUp } = registrationInfo;
	return {
		credential_id: credential.id,
		public_key: credential.publicKey.toBase64({ alphabet: "base64url", omitPadding: true }),
		sign_count: credential.counter,
		is_backed_up: credentialBackedUp,
	};
}

function toUsed({ verified, authenticationInfo }: VerifiedAuthenticationResponse): Used | Failed {
	if (!verified) return { error: "The signature is invalid." };
	const { newCounter, credentialBackedUp } = authenticationInfo;
	return { sign_count: newCounter, is_backed_up: credentialBackedUp };
}
