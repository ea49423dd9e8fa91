import { X509Certificate } from "node:crypto";
import { ResponseError } from "./problem.ts";

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const UNREADABLE = "saml_x509_cert has something else than certificates with RSA keys.";

/**
 * Reads the field `saml_x509_cert`: PEM certificates, or Base64 without the lines around it, where an
 * empty line separates certificates.
 * @throws ResponseError if one of them can't be read, or has no RSA key
 */
export function readCertificates(text: string) {
	const blocks = text.match(PEM) ?? text.split(/\n\s*\n/).filter((block) => block.trim() !== "");
	const certificates = blocks.map((block) => {
		const base64 = block.replaceAll(/-----(BEGIN|END) CERTIFICATE-----|\s/g, "");
		return toPem(base64);
	});
	if (certificates.length === 0) throw new ResponseError(UNREADABLE, "not_configured");
	return certificates;
}

function toPem(base64: string) {
	try {
		const certificate = new X509Certificate(Buffer.from(base64, "base64"));
		if (certificate.publicKey.asymmetricKeyType === "rsa") return certificate.toString();
	} catch {
		// It isn't a certificate.
	}
	throw new ResponseError(UNREADABLE, "not_configured");
}
