import { constants, createHash, createVerify } from "node:crypto";
import { SignedXml } from "xml-crypto";
import { allElements, children, type XmlElement } from "./xml.ts";

/*
 * Signatures in XML (RFC 9231). The library knows neither SHA-384 nor RSA-PSS with more than
 * SHA-256. It would also accept SHA-1. So it gets the algorithms from here.
 */

const HASHES = {
	sha256: "http://www.w3.org/2001/04/xmlenc#sha256",
	sha384: "http://www.w3.org/2001/04/xmldsig-more#sha384",
	sha512: "http://www.w3.org/2001/04/xmlenc#sha512",
};

const hashing = (hash: string) =>
	class {
		getHash = (xml: string) => createHash(hash).update(xml, "utf8").digest("base64");
	};

const verifying = (hash: string, padding: object) =>
	class {
		verifySignature = (signed: string, key: string, signature: string) =>
			createVerify(hash)
				.update(signed)
				.verify({ key, ...padding }, signature, "base64");
	};

const PKCS1 = { padding: constants.RSA_PKCS1_PADDING };
/** The salt is as long as the hash (RFC 9231, 2.3.10). */
const PSS = {
	padding: constants.RSA_PKCS1_PSS_PADDING,
	saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
};

const HashAlgorithms = Object.fromEntries(
	Object.entries(HASHES).map(([hash, name]) => [name, hashing(hash)]),
);

const SignatureAlgorithms = Object.fromEntries(
	Object.keys(HASHES).flatMap((hash) => [
		[`http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`, verifying(hash, PKCS1)],
		[`http://www.w3.org/2007/05/xmldsig-more#${hash}-rsa-MGF1`, verifying(hash, PSS)],
	]),
);

/** The algorithms of signatures. SHA-1, HMAC, XPath and XSLT aren't among them. */
export const ALGORITHMS = new Set([
	...Object.keys(HashAlgorithms),
	...Object.keys(SignatureAlgorithms),
	"http://www.w3.org/2001/10/xml-exc-c14n#",
	"http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
	"http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
	"http://www.w3.org/2000/09/xmldsig#enveloped-signature",
]);

/** Enveloped, and the canonical form. */
const MAX_TRANSFORMS = 2;

/** Whether a signature is of the whole element, and of nothing else (saml-core 5.4.2). */
function isOf(signature: SignedXml, element: XmlElement, root: XmlElement) {
	const id = element.getAttribute("ID");
	const isUnique = allElements(root).filter((each) => each.getAttribute("ID") === id).length === 1;
	const [reference, ...others] = signature.getReferences();
	return id !== "" && isUnique && reference?.uri === `#${id}` && others.length === 0;
}

const hasFewTransforms = (signature: XmlElement) =>
	allElements(signature).filter(({ localName }) => localName === "Transform").length <=
	MAX_TRANSFORMS;

/** A document, and the text that it was parsed from. */
export type Document = { xml: string; root: XmlElement };

/**
 * Verifies the signature of an element of a document.
 * @param certificates PEM; one of them must have signed
 * @returns what was signed, as text; undefined if there is no valid signature
 */
export function signedContent(document: Document, element: XmlElement, certificates: string[]) {
	const [signature, ...others] = children(element, "ds:Signature");
	if (!signature || others.length > 0 || !hasFewTransforms(signature)) return undefined;
	// A parser of XML reads each line end as \n.
	const text = document.xml.replace(/\r\n?/g, "\n");
	for (const publicCert of certificates)
		try {
			const signed = new SignedXml({ publicCert });
			Object.assign(signed, { HashAlgorithms, SignatureAlgorithms });
			signed.loadSignature(signature);
			if (isOf(signed, element, document.root) && signed.checkSignature(text)) {
				const [content, ...more] = signed.getSignedReferences();
				return more.length === 0 ? content : undefined;
			}
		} catch {
			// The library throws for most signatures that aren't valid.
		}
	return undefined;
}
