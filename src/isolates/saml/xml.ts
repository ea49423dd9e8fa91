import { parseDomFromString, type XmlElement } from "@node-saml/node-saml/lib/xml.js";

/** As in `SignInError`. */
type Code = "invalid_response" | "not_configured" | "provider_denied";

/**
 * Why a response is rejected. It is thrown inside the isolate of SAML, whose caller gets a code and
 * the detail for the admin.
 */
export class ResponseError extends Error {
	override name = "ResponseError";
	readonly code: Code;
	constructor(detail: string, code: Code = "invalid_response") {
		super(detail);
		this.code = code;
	}
}

export type { XmlElement };

const ELEMENT = 1;
const TEXT = 3;

/** Real responses have a depth of about ten. Libraries visit elements recursively. */
const MAX_DEPTH = 50;
const MAX_ELEMENTS = 5_000;

const DECLARATION = /^\s*<\?xml\s[^<>?]*\?>/;

/**
 * Parses XML without comments, CDATA, processing instructions, a document type and entities, all of
 * which start with `<!` or `<?`. Providers don't use them in responses, and signatures don't cover
 * comments.
 * @param mayHaveComments whether comments are accepted, as metadata has them
 * @throws ResponseError for other XML
 */
export async function parse(xml: string, { mayHaveComments = false } = {}): Promise<XmlElement> {
	const unwanted = mayHaveComments ? /<(!(?!--)|\?)/ : /<[!?]/;
	if (unwanted.test(xml.replace(DECLARATION, "")))
		throw new ResponseError(
			"The XML has a document type, comments, CDATA or processing instructions.",
		);
	const { documentElement, childNodes } = await parseDomFromString(xml).catch(() => {
		throw new ResponseError("The XML isn't well-formed.");
	});
	const roots = Array.from(childNodes).filter(({ nodeType }) => nodeType === ELEMENT);
	if (roots.length !== 1) throw new ResponseError("The XML isn't well-formed.");
	return documentElement;
}

const elementsIn = (parent: XmlElement) =>
	Array.from(parent.childNodes).filter((node) => node.nodeType === ELEMENT);

/**
 * Returns an element and all elements in it.
 * @throws ResponseError if there are too many, or they are nested too deeply
 */
export function allElements(root: XmlElement) {
	const found: XmlElement[] = [];
	let level = [root];
	for (let depth = 0; level.length > 0; depth++) {
		found.push(...level);
		if (depth > MAX_DEPTH || found.length > MAX_ELEMENTS)
			throw new ResponseError("The XML has too many elements.");
		level = level.flatMap(elementsIn);
	}
	return found;
}

/** The namespaces of SAML (saml-core 1.2, saml-metadata 1.1) and of signatures. */
const NAMESPACES = {
	md: "urn:oasis:names:tc:SAML:2.0:metadata",
	samlp: "urn:oasis:names:tc:SAML:2.0:protocol",
	saml: "urn:oasis:names:tc:SAML:2.0:assertion",
	ds: "http://www.w3.org/2000/09/xmldsig#",
};

type Name = `${keyof typeof NAMESPACES}:${string}`;

export const isNamed = ({ namespaceURI, localName }: XmlElement, name: Name) =>
	Object.entries(NAMESPACES).some(
		([prefix, namespace]) => namespaceURI === namespace && `${prefix}:${localName}` === name,
	);

/** Returns the child elements with a name. */
export const children = (parent: XmlElement, name: Name) =>
	elementsIn(parent).filter((element) => isNamed(element, name));

/** Returns the only child element with a name. Throws ResponseError if there isn't exactly one. */
export function child(parent: XmlElement, name: Name) {
	const found = children(parent, name);
	const [element] = found;
	if (!element || found.length > 1)
		throw new ResponseError(`The response has ${found.length} elements ${name}, instead of one.`);
	return element;
}

/** Returns the text of an element; null if it contains anything else. */
export function textOf({ childNodes }: XmlElement) {
	const nodes = Array.from(childNodes);
	const texts = nodes.filter((node) => node.nodeType === TEXT);
	if (texts.length < nodes.length) return null;
	return texts
		.map(({ data }) => data)
		.join("")
		.trim();
}
