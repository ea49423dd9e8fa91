/**
 * The file of node-saml that verifies signatures. Its own types need those of a browser's DOM, which
 * contradict the types of Workers.
 */
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

	/**
	 * Returns the signed content of an element, as it was signed.
	 * @returns null if its signature is missing or not valid for any of the certificates
	 */
	export function getVerifiedXml(
		xml: string,
		element: XmlElement,
		certificates: string[],
	): string | null;

	/** Signs an element of a document, for tests. */
	export function signXml(
		xml: string,
		xpath: string,
		location: { reference: string; action: "after" },
		options: { privateKey: string; signatureAlgorithm: string; digestAlgorithm: string },
	): string;
}
