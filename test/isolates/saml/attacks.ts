/** Attacks with responses of SAML that are tried at several levels. */
import type { Changes } from "./responses.ts";

const SIGNATURE = /<Signature[\s\S]*<\/Signature>/;
const ASSERTION = /<saml:Assertion [\s\S]*<\/saml:Assertion>/;

/** Returns the XML without its signature. */
export const bare = (xml: string) => xml.replace(SIGNATURE, "");

const signatureIn = (xml: string) => SIGNATURE.exec(xml)?.[0] ?? "";

/** Returns the XML about another person. */
const forge = (xml: string) =>
	bare(xml)
		.replace(/<saml:NameID [\s\S]*?<\/saml:NameID>/, "<saml:NameID>eve</saml:NameID>")
		.replace("ada@", "eve@");

/** Returns the XML about another person, with another id. */
const forged = (xml: string) => forge(xml).replace(/\bID="[^"]*"/, 'ID="_forged"');

/** Puts something before the last of a text. */
const into = (xml: string, end: string, inserted: string) =>
	xml.slice(0, xml.lastIndexOf(end)) + inserted + xml.slice(xml.lastIndexOf(end));

/** Puts something before the subject of a forged assertion. */
const intoForged = (own: string, inserted: string) => into(forged(own), "<saml:Subject>", inserted);

const inSignature = (own: string, inserted: string) =>
	into(signatureIn(own), "</Signature>", inserted);

type Forgery = (xml: string) => string;

/** The attacks of "On Breaking SAML: Be Whoever You Want to Be", with the numbers of SAML Raider. */
const OF_RESPONSES: Record<string, Forgery> = {
	XSW1: (xml) => into(forged(xml), "<samlp:Status>", inSignature(xml, bare(xml))),
	XSW2: (xml) => into(forged(xml), "<samlp:Status>", bare(xml) + signatureIn(xml)),
};
const OF_ASSERTIONS: Record<string, Forgery> = {
	XSW3: (own) => forged(own) + own,
	XSW4: (own) => into(forged(own), "</saml:Assertion>", own),
	XSW5: (own) => intoForged(own, signatureIn(own)) + bare(own),
	XSW6: (own) => intoForged(own, inSignature(own, bare(own))),
	XSW7: (own) => `<samlp:Extensions>${forge(own)}</samlp:Extensions>${own}`,
	XSW8: (own) => intoForged(own, inSignature(own, `<Object>${bare(own)}</Object>`)),
};

/** Responses whose signature is of other elements than those that say who signs in. */
export const WRAPPED: [string, Changes][] = [
	...Object.entries(OF_RESPONSES).map(([name, after]): [string, Changes] => [
		name,
		{ signing: { element: "Response" }, after },
	]),
	...Object.entries(OF_ASSERTIONS).map(([name, of]): [string, Changes] => [
		name,
		{ after: (xml) => xml.replace(ASSERTION, of) },
	]),
];

/** Entities that each stand for ten of the one before. */
const LAUGHS = "bcdefghi".replaceAll(
	/./g,
	(name) => `<!ENTITY ${name} "${`&${String.fromCharCode(name.charCodeAt(0) - 1)};`.repeat(10)}">`,
);

const NESTED = `${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}<samlp:Status>`;

/** Responses that would take too much to read, with why they aren't. */
export const HUGE: [string, Changes, string][] = [
	[
		"entities that expand to gigabytes",
		{
			after: (xml) =>
				`<!DOCTYPE lolz [<!ENTITY a "${"ha".repeat(50)}">${LAUGHS}]>${xml.replace("ada@", "&i;@")}`,
		},
		"document type",
	],
	[
		"elements that are nested too deeply",
		{ after: (xml) => xml.replace("<samlp:Status>", NESTED) },
		"too many elements",
	],
];
