/**
 * A software authenticator (WebAuthn), which makes ES256 passkeys without attestation. It can be
 * told to break each rule. Independent of the library that the product uses.
 */

const encoder = new TextEncoder();

// Node.js, in which npm run examples runs, lacks `Uint8Array.fromBase64`.
const fromBase64url = (text: string) => Uint8Array.from(Buffer.from(text, "base64url"));
const toBase64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

const concat = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));

const sha256 = async (data: Uint8Array | string) =>
	new Uint8Array(
		await crypto.subtle.digest("SHA-256", typeof data === "string" ? encoder.encode(data) : data),
	);

const uint = (value: number, bytes: 2 | 4) => {
	const view = new DataView(new ArrayBuffer(bytes));
	if (bytes === 2) view.setUint16(0, value);
	else view.setUint32(0, value);
	return new Uint8Array(view.buffer);
};

/** The head of a CBOR item (RFC 8949, section 3). */
const head = (major: number, value: number) =>
	value < 24
		? Uint8Array.of((major << 5) | value)
		: value < 256
			? Uint8Array.of((major << 5) | 24, value)
			: concat(Uint8Array.of((major << 5) | 25), uint(value, 2));

const int = (value: number) => (value < 0 ? head(1, -1 - value) : head(0, value));
const bytes = (value: Uint8Array) => concat(head(2, value.length), value);
const word = (value: string) => concat(head(3, value.length), encoder.encode(value));

/** Flags of authenticator data: user present, user verified, attested credential data. */
const UP = 1;
const UV = 4;
const AT = 64;

/** DER of an integer without sign (X.690, section 8.3). */
function der(value: Uint8Array) {
	const first = value.findIndex((byte) => byte !== 0);
	const digits = value.slice(first);
	const padded = (digits[0] ?? 0) >= 128 ? concat(Uint8Array.of(0), digits) : digits;
	return concat(Uint8Array.of(2, padded.length), padded);
}

/** Converts a signature from r and s to DER, as authenticators return it. */
function toDer(signature: Uint8Array) {
	const both = concat(der(signature.slice(0, 32)), der(signature.slice(32)));
	return concat(Uint8Array.of(0x30, both.length), both);
}

export const SITE = { origin: "https://app.tenantry.test", rp_id: "app.tenantry.test" };

type Options = {
	origin?: string;
	rp_id?: string;
	/** Whether the device verified the user. */
	isVerified?: boolean;
	/** The number of signatures that it tells. */
	count?: number;
	type?: string;
	userHandle?: string | null;
};

/** An authenticator with one passkey. */
export async function newAuthenticator({ count = 0 } = {}) {
	const pair = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
		"sign",
		"verify",
	])) as CryptoKeyPair;
	const { x = "", y = "" } = (await crypto.subtle.exportKey("jwk", pair.publicKey)) as JsonWebKey;
	const id = crypto.getRandomValues(new Uint8Array(32));
	let signatures = count;
	let handle: string | null = null;

	// COSE: kty 2 (EC2), alg -7 (ES256), crv 1 (P-256), x, y.
	const key = concat(
		head(5, 5),
		...[int(1), int(2), int(3), int(-7), int(-1), int(1)],
		...[int(-2), bytes(fromBase64url(x)), int(-3), bytes(fromBase64url(y))],
	);

	const clientData = (type: string, challenge: string, origin: string) =>
		encoder.encode(JSON.stringify({ type, challenge, origin, crossOrigin: false }));

	const authenticatorData = async (
		{ rp_id = SITE.rp_id, isVerified = true, count = signatures }: Options,
		attested?: Uint8Array,
	) =>
		concat(
			await sha256(rp_id),
			Uint8Array.of(UP | (isVerified ? UV : 0) | (attested ? AT : 0)),
			uint(count, 4),
			attested ?? new Uint8Array(),
		);

	return {
		id: toBase64url(id),
		/** Creates the passkey. */
		async register(
			{ challenge, user }: { challenge: string; user: { id: string } },
			options: Options = {},
		) {
			const { origin = SITE.origin, type = "webauthn.create" } = options;
			handle = user.id;
			const attested = concat(new Uint8Array(16), uint(id.length, 2), id, key);
			const data = await authenticatorData(options, attested);
			const attestation = concat(
				head(5, 3),
				...[word("fmt"), word("none"), word("attStmt"), head(5, 0)],
				...[word("authData"), bytes(data)],
			);
			return {
				id: toBase64url(id),
				rawId: toBase64url(id),
				type: "public-key",
				authenticatorAttachment: "platform",
				clientExtensionResults: {},
				response: {
					clientDataJSON: toBase64url(clientData(type, challenge, origin)),
					attestationObject: toBase64url(attestation),
					transports: ["internal", "quantum"],
				},
			};
		},
		/** Uses the passkey. */
		async use({ challenge }: { challenge: string }, options: Options = {}) {
			const { origin = SITE.origin, type = "webauthn.get", userHandle = handle } = options;
			if (signatures > 0) signatures += 1;
			const data = await authenticatorData({ count: signatures, ...options });
			const client = clientData(type, challenge, origin);
			const signature = await crypto.subtle.sign(
				{ name: "ECDSA", hash: "SHA-256" },
				pair.privateKey,
				concat(data, await sha256(client)),
			);
			return {
				id: toBase64url(id),
				rawId: toBase64url(id),
				type: "public-key",
				authenticatorAttachment: "platform",
				clientExtensionResults: {},
				response: {
					clientDataJSON: toBase64url(client),
					authenticatorData: toBase64url(data),
					signature: toBase64url(toDer(new Uint8Array(signature))),
					userHandle,
				},
			};
		},
	};
}

export type Authenticator = Awaited<ReturnType<typeof newAuthenticator>>;
