/*
 * Parts of libraries whose own types need those of a browser's DOM, which contradict the types of
 * Workers.
 */

/** The file of node-saml that parses XML. */
declare module "@node-saml/node-saml/lib/xml.js" {
	export type XmlElement = {
		nodeType: 1;
		namespaceURI: string | null;
		localName: string;
		attributes: ArrayLike<{ localName: string; value: string }>;
		childNodes: ArrayLike<XmlNode>;
		/** Returns "" if there is no such attribute. */
		getAttribute(name: string): string;
		hasAttribute(name: string): boolean;
	};
	export type XmlText = { nodeType: 3; data: string };
	export type XmlNode = XmlElement | XmlText;

	/** Rejects if the text isn't well-formed. */
	export function parseDomFromString(
		xml: string,
	): Promise<{ documentElement: XmlElement; childNodes: ArrayLike<XmlNode> }>;
}

declare module "xml-crypto" {
	import type { XmlElement } from "@node-saml/node-saml/lib/xml.js";

	type Options = {
		publicCert?: string;
		/** For tests, which sign. */
		privateKey?: string;
		signatureAlgorithm?: string;
		canonicalizationAlgorithm?: string;
	};

	export class SignedXml {
		constructor(options: Options);
		/** Each a class, by its name in XML. */
		HashAlgorithms: Record<string, unknown>;
		SignatureAlgorithms: Record<string, unknown>;
		loadSignature(signature: XmlElement): void;
		getReferences(): { uri?: string }[];
		/** Also throws if the signature isn't valid. */
		checkSignature(xml: string): boolean;
		/** Returns the text of what was signed, after `checkSignature`. */
		getSignedReferences(): string[];

		/** For tests. */
		addReference(reference: { xpath: string; digestAlgorithm: string; transforms: string[] }): void;
		computeSignature(
			xml: string,
			options: { location: { reference: string; action: "after" } },
		): void;
		getSignedXml(): string;
	}
}
