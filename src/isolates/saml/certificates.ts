import { X509Certificate } from "node:crypto";

const PEM = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/g;

/** Returns the base64 of each certificate in a text; empty if it has something else in PEM. */
function piecesOf(text: string): string[] {
	if (text.replace(PEM, "").includes("-----")) return [];
	const blocks = [...text.matchAll(PEM)].map(([, base64 = ""]) => base64);
	const lines = text.split("\n").map((line) => line.trim());
	return blocks.length > 0 ? blocks : lines.join("\n").split(/\n\n+|,/);
}

/** Returns a certificate as PEM; undefined if the base64 isn't one with an RSA key. */
function parse(base64: string) {
	try {
		const certificate = new X509Certificate(Uint8Array.fromBase64(base64));
		const { asymmetricKeyType } = certificate.publicKey;
		return asymmetricKeyType === "rsa" ? certificate.toString() : undefined;
	} catch {
		return undefined;
	}
}

/** A provider has two certificates while it replaces one. */
export const MAX_CERTIFICATES = 2;

/**
 * Parses the certificates of a SAML provider: PEM or, as in its metadata, base64. An empty line or
 * a comma separates two in base64.
 * @returns them as PEM; empty if the text isn't one or two certificates
 */
export function certificatesIn(text: string): string[] {
	const pieces = piecesOf(text);
	if (pieces.length > MAX_CERTIFICATES) return [];
	const certificates = pieces.map(parse).filter((certificate) => certificate !== undefined);
	return certificates.length === pieces.length ? certificates : [];
}
