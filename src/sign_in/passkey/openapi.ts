import { describe, type OpenApi } from "../../http/openapi.ts";
import { PROVE_ADDRESS } from "../totp/openapi.ts";
import { OptionalProof } from "../totp/shape.ts";
import {
	PasskeyAssertion,
	PasskeyCreation,
	PasskeyDescriptor,
	PasskeyRegistration,
	PasskeyRequest,
} from "../webauthn/webauthn.ts";
import type passkeys from "./routes.ts";
import { create, NewPasskey, Passkey, update } from "./shape.ts";

const ATTEMPTS =
	"A user may send ten wrong codes and passkeys an hour; more are a 429 with `Retry-After`.";

const MAY_NOT =
	"You already have 20 passkeys, or the operator hasn't set `APP_URL`, the site that passkeys belong to.";

const WRONG_CODE = "The code is wrong, or was used before.";

const KEY =
	"A passkey signs in to everything that you can access, so the key in use must be a session's, or have the scope `*` without restrictions and expiry date. Others get a 403.";

export default {
	tag: {
		name: "Passkeys",
		description:
			"Your passkeys (WebAuthn credentials). A passkey is a second factor when you sign in by mail. If the device verifies you, for example with a fingerprint or PIN, it is all that you need to sign in. Service accounts have none and get a 403.",
	},
	operations: {
		"GET /": {
			id: "listPasskeys",
			summary: "List your passkeys",
			description: "Lists your passkeys, newest first.",
		},
		"POST /begin": {
			id: "beginPasskey",
			summary: "Start to register a passkey",
			description: `Returns what a browser needs for a new passkey: convert it with \`PublicKeyCredential.parseCreationOptionsFromJSON\`, and pass it to \`navigator.credentials.create\`. Valid for ten minutes. ${KEY}`,
			errors: { invalid_input: MAY_NOT, verification_required: PROVE_ADDRESS },
		},
		"POST /": {
			id: "createPasskey",
			summary: "Register a passkey",
			description: `Registers the passkey that the browser made. If you have a second factor already, this requires a proof of it. If you have none, the passkey becomes your second factor: your other sessions end, and the response has recovery codes, which are shown only here. ${KEY} ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey:
					"The new passkey is invalid, or its challenge is unknown, expired or used (`attr` is `credential`); or the one that should prove your second factor (`attr` is `passkey`).",
				invalid_input: MAY_NOT,
				two_factor_required: "You have a second factor, and the body has no proof.",
				unique: "This passkey is registered already.",
				verification_required: PROVE_ADDRESS,
			},
		},
		"POST /challenge": {
			id: "challengePasskey",
			summary: "Start to prove your second factor with a passkey",
			description:
				"Returns what a browser needs to use one of your passkeys as a proof: convert it with `PublicKeyCredential.parseRequestOptionsFromJSON`, and pass it to `navigator.credentials.get`. Valid for ten minutes, and once.",
			errors: { invalid_input: "You have no passkeys, or the operator hasn't set `APP_URL`." },
		},
		"GET /:id": {
			id: "getPasskey",
			summary: "Retrieve a passkey",
			description: "Returns the passkey. Passkeys of others are a 404.",
		},
		"PATCH /:id": {
			id: "updatePasskey",
			summary: "Rename a passkey",
			description: "Changes the name. Returns the passkey.",
		},
		"POST /:id/remove": {
			id: "removePasskey",
			summary: "Remove a passkey",
			description: `Requires a code, a recovery code or a passkey. Your other sessions end. If it was your last factor, the recovery codes are deleted, too. ${ATTEMPTS}`,
			errors: {
				invalid_code: WRONG_CODE,
				invalid_passkey: "The passkey isn't yours, or its signature or challenge isn't valid.",
				invalid_input:
					"It is your only second factor, and an organization that you belong to requires one; or the operator hasn't set `APP_URL`.",
			},
		},
	},
} satisfies OpenApi<typeof passkeys>;

const NAME = "A name to recognize it by, of at most 100 characters.";

describe(
	create,
	{ name: NAME, credential: "The new passkey, as `toJSON()` returns it in the browser." },
	OptionalProof,
);

describe(update, { name: NAME });

describe(Passkey, {
	id: "Identifies the passkey, in paths too.",
	name: NAME,
	transports:
		"How a browser can reach the authenticator: `internal`, `hybrid`, `usb`, `nfc`, `ble`, `smart-card` or `cable`.",
	is_backed_up: "Whether it is synchronized between devices.",
	created_at: "When it was registered.",
	last_used_at: "When it was last used; null if it never was.",
});

describe(
	NewPasskey,
	{
		recovery_codes:
			"Ten codes, each of which works once in place of a second factor, if this is your first factor; else null.",
	},
	Passkey,
);

const BYTES = "base64url";
const ID = `The authenticator's id of the passkey, in ${BYTES}.`;
const CLIENT_DATA = `What the browser had signed, in ${BYTES}.`;
const CHALLENGE = `A random value that the authenticator signs, in ${BYTES}.`;
const TIMEOUT = "How long the challenge is valid, in milliseconds.";

const UNUSED = {
	rawId: "The same as `id`. Not used.",
	type: "Always `public-key`.",
	authenticatorAttachment:
		"Where the authenticator is: `platform` (in the device) or `cross-platform`. Not used.",
	clientExtensionResults: "What extensions of WebAuthn returned. Not used.",
};

describe(PasskeyRegistration, {
	id: ID,
	...UNUSED,
	response: [
		"The response of the authenticator.",
		{
			clientDataJSON: CLIENT_DATA,
			attestationObject: `The public key and its properties, in ${BYTES}.`,
			transports: "How the browser can reach the authenticator.",
		},
	],
});

describe(PasskeyAssertion, {
	id: ID,
	...UNUSED,
	response: [
		"The response of the authenticator.",
		{
			clientDataJSON: CLIENT_DATA,
			authenticatorData: `What the authenticator says about itself and the user, in ${BYTES}.`,
			signature: `The signature of both, in ${BYTES}.`,
			userHandle: `The user for whom the passkey was made, in ${BYTES}; null if the authenticator doesn't say.`,
		},
	],
});

describe(PasskeyDescriptor, {
	type: "Always `public-key`.",
	id: ID,
	transports: "How the browser can reach the authenticator.",
});

const VERIFICATION = "Whether the device must verify the user.";

describe(PasskeyCreation, {
	rp: ["The site.", { id: "Its host.", name: "Its name." }],
	user: [
		"You.",
		{
			id: `The bytes of your uuid, in ${BYTES}.`,
			name: "Your email address.",
			displayName: "Your email address.",
		},
	],
	challenge: CHALLENGE,
	pubKeyCredParams: [
		"The signatures that the service can verify.",
		{ type: "Always `public-key`.", alg: "The number of the algorithm in COSE." },
	],
	timeout: TIMEOUT,
	excludeCredentials: "The passkeys that you have: the browser doesn't make another one there.",
	authenticatorSelection: [
		"What the authenticator should be able to do.",
		{
			residentKey: "Whether it should list the passkey without being told its id.",
			userVerification: VERIFICATION,
		},
	],
	attestation: "The service doesn't ask who made the authenticator.",
});

describe(PasskeyRequest, {
	challenge: CHALLENGE,
	rpId: "The host of the site.",
	timeout: TIMEOUT,
	allowCredentials:
		"The passkeys that can be used. If the list is empty, any passkey of the site can be used.",
	userVerification: VERIFICATION,
});
