import { expect, test } from "vitest";
import { bare, HUGE, WRAPPED } from "./attacks.ts";
import { home, pairs, REQUEST, read, sign, signed, verify } from "./in_node.ts";
import { after, audienceOf, type Changes, type Parts } from "./responses.ts";

test.each(WRAPPED)("a wrapped signature is rejected: %s", async (_, changes) => {
	await expect(read(changes)).rejects.toThrow("assertion");
});

/** Changes a text after the response is signed. */
const swap = (from: string | RegExp, to: string): Changes => ({
	after: (xml) => xml.replace(from, to),
});

const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const NAME_END = "</saml:NameID>";

test.each<[string, Changes, string]>([
	...HUGE,
	["an assertion without a signature", { after: bare }, "signature"],
	["a signature by a stranger's key", { signing: { by: "two" } }, "No certificate of the domain"],
	["a changed name", swap(NAME_END, `x${NAME_END}`), "No certificate"],
	["a changed address", swap("ada@", "eve@"), "No certificate"],
	[
		"a SHA-1 signature",
		{ signing: { signatureAlgorithm: "http://www.w3.org/2000/09/xmldsig#rsa-sha1" } },
		"rsa-sha1",
	],
	[
		"a signature with RSA-PSS and SHA-1",
		{ signing: { signatureAlgorithm: "http://www.w3.org/2007/05/xmldsig-more#sha1-rsa-MGF1" } },
		"sha1-rsa-MGF1",
	],
	[
		"a SHA-1 digest",
		{ signing: { digestAlgorithm: "http://www.w3.org/2000/09/xmldsig#sha1" } },
		"xmldsig#sha1",
	],
	[
		"a signature with HMAC, whose key would be the certificate",
		swap(RSA_SHA256, "http://www.w3.org/2000/09/xmldsig#hmac-sha1"),
		"hmac-sha1",
	],
	[
		"a signature that says another hash than it was made with",
		swap("rsa-sha256", "rsa-sha512"),
		"No certificate",
	],
	[
		"a signature that says RSA-PSS but was made without",
		swap(RSA_SHA256, "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1"),
		"No certificate",
	],
	[
		"a signature of another element than its own",
		{
			after: (xml) =>
				xml.replace(/URI="#[^"]*"/, `URI="#${/<samlp:Response[^>]* ID="([^"]*)"/.exec(xml)?.[1]}"`),
		},
		"No certificate",
	],
	[
		"a transform with XSLT",
		swap(
			'<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>',
			'<Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>',
		),
		"xslt",
	],
	["a comment in the name", swap(NAME_END, `<!-- x -->${NAME_END}`), "comments"],
	["a comment in the address", swap("ada@", "ada<!-- x -->@"), "comments"],
	["a processing instruction", swap("ada@", "ada<?x y?>@"), "comments"],
	["CDATA", swap("ada@", "<![CDATA[ada]]>@"), "comments"],
	[
		"an external entity",
		{
			after: (xml) =>
				`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${xml.replace("ada@", "&e;@")}`,
		},
		"document type",
	],
	["an unknown entity", swap("ada@", "&e;@"), "well-formed"],
	["XML that ends early", { after: (xml) => xml.slice(0, -100) }, "well-formed"],
	["two documents", { after: (xml) => xml + xml }, "well-formed"],
	["another XML document", { after: () => "<a/>" }, "isn't a SAML response"],
	["an empty response", { after: () => "" }, "well-formed"],
])("%s is rejected", async (_, changes, why) => {
	await expect(read(changes)).rejects.toThrow(why);
});

test("a response whose own signature isn't valid is rejected, even if that of its assertion is", async () => {
	const xml = sign({ xml: await signed(), by: "two", element: "Response" });
	await expect(verify(xml)).rejects.toThrow("No certificate");
});

test("a response with another certificate than the domain's is rejected", async () => {
	const saml_x509_cert = pairs.two?.cert ?? "";
	await expect(verify(await signed(), { saml_x509_cert })).rejects.toThrow("No certificate");
});

const OTHER = "https://other.test";
const TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const HOLDER = "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key";

test.each<[string, Partial<Parts>, string]>([
	["of another issuer", { issuer: OTHER }, "issuer"],
	["in a response of another issuer", { response_issuer: OTHER }, "issuer"],
	["in a response of an empty issuer", { response_issuer: "" }, "issuer"],
	["in a response of an issuer that is no text", { response_issuer: "<b/>" }, "issuer"],
	["for another audience", { audience: audienceOf(OTHER) }, "audience"],
	["without an audience", { audience: "" }, "audience"],
	[
		"for this and no audience",
		{ audience: `${audienceOf(home.entity_id)}<saml:AudienceRestriction/>` },
		"audience",
	],
	["for another recipient", { recipient: `${OTHER}/acs` }, "recipient"],
	["without a recipient", { recipient: "" }, "recipient"],
	["in a response for another destination", { destination: `${OTHER}/acs` }, "destination"],
	["that isn't valid yet", { not_before: after(600) }, "isn't valid before"],
	["that has expired", { not_on_or_after: after(-600) }, "expired"],
	["whose confirmation has expired", { confirmed_until: after(-600) }, "expired"],
	["whose confirmation doesn't expire", { confirmed_until: "" }, "doesn't expire"],
	["of a session that has ended", { session_until: after(-600) }, "expired"],
	[
		"that was issued long ago",
		{ issued: after(-7200), confirmed_until: after(86_400), not_on_or_after: after(86_400) },
		"was issued at",
	],
	["from the future", { issued: after(600) }, "was issued at"],
	["with a time that isn't one", { not_before: "soon" }, "isn't a time"],
	["with an empty time", { not_on_or_after: "" }, "isn't a time"],
	["of a session that ends at an empty time", { session_until: "" }, "isn't a time"],
	["for the holder of a key", { method: HOLDER }, "bearer"],
	["with a name for one session", { format: TRANSIENT }, "transient"],
	["without a name", { name_id: "" }, "NameID"],
	["with a name that is too long", { name_id: "x".repeat(1_000) }, "NameID"],
	["with an element in the name", { name_id: "<b>x</b>" }, "NameID"],
	["in a response to another request", { in_response_to: "_x" }, "different requests"],
	["that responds to another request", { confirmed_request: "_x" }, "different requests"],
	["that responds to no request", { confirmed_request: "" }, "different requests"],
])("an assertion %s is rejected", async (_, change, why) => {
	await expect(read({ change })).rejects.toThrow(why);
});

/** Returns a subject confirmation that differs from a valid one. */
const confirmation = (changes: Record<string, string> = {}) => {
	const { Method = BEARER, ...data } = {
		...{ Recipient: home.acs_url, NotOnOrAfter: after(300), InResponseTo: REQUEST },
		...changes,
	};
	const attributes = Object.entries(data).map(([name, value]) => ` ${name}="${value}"`);
	return `<saml:SubjectConfirmation Method="${Method}"><saml:SubjectConfirmationData${attributes.join("")}/></saml:SubjectConfirmation>`;
};

/** Reads a response with these subject confirmations. */
const confirmedBy = (...confirmations: string[]) =>
	read({
		before: (xml) =>
			xml.replace(
				/<saml:SubjectConfirmation [\s\S]*<\/saml:SubjectConfirmation>/,
				confirmations.join(""),
			),
	});

const INVALID: [string, Record<string, string>, string][] = [
	["has expired", { NotOnOrAfter: after(-600) }, "expired"],
	["is for another recipient", { Recipient: `${OTHER}/acs` }, "recipient"],
	["is for the holder of a key", { Method: HOLDER }, "bearer"],
	["isn't valid for some minutes", { NotBefore: after(300) }, "isn't valid before"],
	["responds to another request", { InResponseTo: "_x" }, "different requests"],
	["has a time that isn't one", { NotOnOrAfter: "soon" }, "isn't a time"],
];

test.each(INVALID)("a confirmation that %s doesn't count", async (_, changes, why) => {
	const invalid = confirmation(changes);
	await expect(confirmedBy(invalid, invalid)).rejects.toThrow(why);
	await expect(confirmedBy(invalid, confirmation(), invalid)).resolves.toBeDefined();
});

test("confirmations that are each invalid in another way don't add up to a valid one", async () => {
	const each = INVALID.map(([, changes]) => confirmation(changes));
	await expect(confirmedBy(...each)).rejects.toThrow("expired");
});

test("a clock that is a minute and a half ahead or behind doesn't matter", async () => {
	for (const change of [
		{ issued: after(90), not_before: after(90) },
		{ not_on_or_after: after(-90), confirmed_until: after(-90) },
	])
		await expect(read({ change })).resolves.toMatchObject({ in_response_to: REQUEST });
});
