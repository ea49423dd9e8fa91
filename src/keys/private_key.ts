import { createPrivateKey } from "node:crypto";
import { toBase64url } from "../lib/bytes.ts";

const BEGIN = "-----BEGIN PRIVATE KEY-----";
const END = "-----END PRIVATE KEY-----";

/** Returns the bytes of a PKCS#8 key in PEM (RFC 7468, section 10), or null. */
function bytesOf(pem: string): Uint8Array<ArrayBuffer> | null {
	const text = pem.trim();
	const end = text.indexOf(END);
	if (!text.startsWith(BEGIN) || end !== text.length - END.length) return null;
	try {
		// White space is skipped.
		return Uint8Array.fromBase64(text.slice(BEGIN.length, end));
	} catch {
		return null;
	}
}

/** Whether the text is a PEM-encoded PKCS#8 private RSA key. */
export function isRsaPrivateKey(pem: string) {
	try {
		return bytesOf(pem) !== null && createPrivateKey(pem).asymmetricKeyType === "rsa";
	} catch {
		return false;
	}
}

const encoder = new TextEncoder();

/**
 * Creates a JSON Web Token (RFC 7519), signed with RS256.
 * @param pem a PEM-encoded PKCS#8 private RSA key
 * @param kid the key id for the header; omitted if undefined
 */
export async function signJwt(
	pem: string,
	kid: string | undefined,
	claims: Record<string, string | number>,
): Promise<string> {
	const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
	const key = await crypto.subtle.importKey(
		"pkcs8",
		bytesOf(pem) ?? new Uint8Array(),
		algorithm,
		false,
		["sign"],
	);
	const signed = [{ alg: "RS256", typ: "JWT", ...(kid && { kid }) }, claims]
		.map((part) => toBase64url(encoder.encode(JSON.stringify(part))))
		.join(".");
	const signature = await crypto.subtle.sign(algorithm, key, encoder.encode(signed));
	return `${signed}.${toBase64url(new Uint8Array(signature))}`;
}
