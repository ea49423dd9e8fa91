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

const ID = `The authenticator's id of the passkey, in base64url.`;

/** An authenticator's id has at most 1,023 bytes. */
const credentialId = base64url(1364).describe(ID);

const clientDataJSON = base64url(8192).describe(`What the browser had signed, in base64url.`);

/**
 * The fields that browsers also return of each passkey. Those that the service needs are in the
 * response, signed.
 */
const unused = {
	rawId: credentialId.optional().describe("The same as `id`. Not used."),
	type: z.literal("public-key").optional().describe("Always `public-key`."),
	authenticatorAttachment: rawText(32)
		.nullable()
		.optional()
		.describe(
			"Where the authenticator is: `platform` (in the device) or `cross-platform`. Not used.",
		),
	clientExtensionResults: z
		.record(z.string(), z.unknown())
		.optional()
		.describe("What extensions of WebAuthn returned. Not used."),
};

/** The new passkey that a browser returns (`RegistrationResponseJSON`). */
export const PasskeyRegistration = z
	.object({
		id: credentialId,
		...unused,
		response: z
			.object({
				clientDataJSON,
				attestationObject: base64url(65_536).describe(
					`The public key and its properties, in base64url.`,
				),
				transports: z
					.array(rawText(32))
					.max(20)
					.optional()
					.describe("How the browser can reach the authenticator."),
			})
			.describe("The response of the authenticator."),
	})
	.meta({ id: "PasskeyRegistration" });

/** The use of a passkey that a browser returns (`AuthenticationResponseJSON`). */
export const PasskeyAssertion = z
	.object({
		id: credentialId,
		...unused,
		response: z
			.object({
				clientDataJSON,
				authenticatorData: base64url(8192).describe(
					`What the authenticator says about itself and the user, in base64url.`,
				),
				signature: base64url(8192).describe(`The signature of both, in base64url.`),
				userHandle: rawText(128)
					.nullable()
					.optional()
					.describe(
						`The user for whom the passkey was made, in base64url; null if the authenticator doesn't say.`,
					),
			})
			.describe("The response of the authenticator."),
	})
	.meta({ id: "PasskeyAssertion" });

/** Names a passkey for a browser. */
const PasskeyDescriptor = z
	.object({
		type: z.literal("public-key").describe("Always `public-key`."),
		id: z.string().describe(ID),
		transports: z.array(z.string()).describe("How the browser can reach the authenticator."),
	})
	.meta({ id: "PasskeyDescriptor" });

const challenge = z.string().describe(`A random value that the authenticator signs, in base64url.`);

const timeout = z.int().describe("How long the challenge is valid, in milliseconds.");

const userVerification = z
	.enum(["required", "preferred"])
	.describe("Whether the device must verify the user.");

/** The options for a new passkey (`PublicKeyCredentialCreationOptionsJSON`). */
export const PasskeyCreation = z
	.object({
		rp: z
			.object({ id: z.string().describe("Its host."), name: z.string().describe("Its name.") })
			.describe("The site."),
		user: z
			.object({
				id: z.string().describe(`The bytes of your uuid, in base64url.`),
				name: z.string().describe("Your email address."),
				displayName: z.string().describe("Your email address."),
			})
			.describe("You."),
		challenge,
		pubKeyCredParams: z
			.array(
				z.object({
					type: z.literal("public-key").describe("Always `public-key`."),
					alg: z.int().describe("The number of the algorithm in COSE."),
				}),
			)
			.describe("The signatures that the service can verify."),
		timeout,
		excludeCredentials: z
			.array(PasskeyDescriptor)
			.describe("The passkeys that you have: the browser doesn't make another one there."),
		authenticatorSelection: z
			.object({
				residentKey: z
					.literal("preferred")
					.describe("Whether it should list the passkey without being told its id."),
				userVerification,
			})
			.describe("What the authenticator should be able to do."),
		attestation: z.literal("none").describe("The service doesn't ask who made the authenticator."),
	})
	.meta({ id: "PasskeyCreation" });

/** The options to use a passkey (`PublicKeyCredentialRequestOptionsJSON`). */
export const PasskeyRequest = z
	.object({
		challenge,
		rpId: z.string().describe("The host of the site."),
		timeout,
		allowCredentials: z
			.array(PasskeyDescriptor)
			.describe(
				"The passkeys that can be used. If the list is empty, any passkey of the site can be used.",
			),
		userVerification,
	})
	.meta({ id: "PasskeyRequest" });

export type KnownPasskey = { credential_id: string; transports: string[] };

/** Names passkeys for a browser. */
export const descriptorsOf = (passkeys: KnownPasskey[]) =>
	passkeys.map(({ credential_id, transports }) => ({
		type: "public-key" as const,
		id: credential_id,
		transports,
	}));

/** Keeps the transports that browsers know; others could be anything. */
export const knownTransports = (transports: string[] = []) =>
	TRANSPORTS.filter((known) => transports.includes(known));
