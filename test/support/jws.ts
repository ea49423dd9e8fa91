/** Checks signatures with WebCrypto alone, without the library that makes them. */
const bytesOf = (base64url: string) => Uint8Array.fromBase64(base64url, { alphabet: "base64url" });

// biome-ignore lint/suspicious/noExplicitAny: each kind of statement has other fields
const json = (part = ""): any => JSON.parse(new TextDecoder().decode(bytesOf(part)));

/** The header and claims of a compact JWS, unchecked. */
export function decoded(jws: string) {
	const [header, claims] = jws.split(".");
	return { header: json(header), claims: json(claims) };
}

/** Returns the header and claims of a compact JWS. Throws if no key of the set has signed it. */
export async function checked(jws: string, { keys }: { keys: (JsonWebKey & { kid: string })[] }) {
	const [header = "", claims = "", signature = "", ...rest] = jws.split(".");
	const jwk = keys.find(({ kid }) => kid === json(header).kid);
	if (!jwk || rest.length > 0) throw new Error("No such key.");
	const { kty, crv, x } = jwk;
	const key = await crypto.subtle.importKey(
		"jwk",
		{ kty, crv, x } as JsonWebKey,
		"Ed25519",
		false,
		["verify"],
	);
	const signed = new TextEncoder().encode(`${header}.${claims}`);
	if (!(await crypto.subtle.verify("Ed25519", key, bytesOf(signature), signed)))
		throw new Error("The signature is wrong.");
	return decoded(jws);
}
