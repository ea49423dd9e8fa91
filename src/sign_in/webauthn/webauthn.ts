import * as z from "zod";
import { rawText } from "../../http/fields.ts";

/*
 * JSON of WebAuthn (level 3, section 5.1), as browsers convert it. Its names are in camel case, and
 * bytes are base64url.
 */

/** The kinds of signatures that passkeys can make, by COSE number: EdDSA, ES256, RS256. */
export const ALGORITHMS = [-8, -7, -257];

const TRANSPORTS = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"] as const;

const base64url = (max: number) => rawText(max).min(1);

/** An authenticator's id has at most 1,023 bytes. */
const credentialId = () => base64url(1364);

const clientDataJSON = () => base64url(8192);

/** What browsers also return of each passkey. What the service needs is in the response, signed. */
const unused = {
	rawId: credentialId().optional(),
	type: z.literal("public-key").optional(),
	authenticatorAttachment: rawText(32).nullable().optional(),
	clientExtensionResults: z.record(z.string(), z.unknown()).optional(),
};

/** The new passkey that a browser returns (`RegistrationResponseJSON`). */
export const PasskeyRegistration = z
	.object({
		id: credentialId(),
		...unused,
		response: z.object({
			clientDataJSON: clientDataJSON(),
			attestationObject: base64url(65_536),
			transports: z.array(rawText(32)).max(20).optional(),
		}),
	})
	.meta({ id: "PasskeyRegistration" });

/** The use of a passkey that a browser returns (`AuthenticationResponseJSON`). */
export const PasskeyAssertion = z
	.object({
		id: credentialId(),
		...unused,
		response: z.object({
			clientDataJSON: clientDataJSON(),
			authenticatorData: base64url(8192),
			signature: base64url(8192),
			userHandle: rawText(128).nullable().optional(),
		}),
	})
	.meta({ id: "PasskeyAssertion" });

/** Names a passkey for a browser. */
export const PasskeyDescriptor = z
	.object({
		type: z.literal("public-key"),
		id: z.string(),
		transports: z.array(z.string()),
	})
	.meta({ id: "PasskeyDescriptor" });

const userVerification = () => z.enum(["required", "preferred"]);

/** What a browser needs for a new passkey (`PublicKeyCredentialCreationOptionsJSON`). */
export const PasskeyCreation = z
	.object({
		rp: z.object({ id: z.string(), name: z.string() }),
		user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
		challenge: z.string(),
		pubKeyCredParams: z.array(z.object({ type: z.literal("public-key"), alg: z.int() })),
		timeout: z.int(),
		excludeCredentials: z.array(PasskeyDescriptor),
		authenticatorSelection: z.object({
			residentKey: z.literal("preferred"),
			userVerification: userVerification(),
		}),
		attestation: z.literal("none"),
	})
	.meta({ id: "PasskeyCreation" });

/** What a browser needs to use a passkey (`PublicKeyCredentialRequestOptionsJSON`). */
export const PasskeyRequest = z
	.object({
		challenge: z.string(),
		rpId: z.string(),
		timeout: z.int(),
		allowCredentials: z.array(PasskeyDescriptor),
		userVerification: userVerification(),
	})
	.meta({ id: "PasskeyRequest" });

type Known = { credential_id: string; transports: string[] };

/** Names passkeys for a browser. */
export const descriptorsOf = (passkeys: Known[]) =>
	passkeys.map(({ credential_id, transports }) => ({
		type: "public-key" as const,
		id: credential_id,
		transports,
	}));

/** Keeps the transports that browsers know; others could be anything. */
export const knownTransports = (transports: string[] = []) =>
	TRANSPORTS.filter((known) => transports.includes(known));

/** Returns what a browser needs to use one of these passkeys, or any of the site's if it is empty. */
export const requestOf = (
	{ rp_id }: { rp_id: string },
	challenge: string,
	timeout: number,
	allowed?: Known[],
): z.infer<typeof PasskeyRequest> => ({
	challenge,
	rpId: rp_id,
	timeout,
	allowCredentials: descriptorsOf(allowed ?? []),
	userVerification: allowed ? "preferred" : "required",
});
