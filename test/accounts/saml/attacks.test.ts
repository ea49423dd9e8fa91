import { eq } from "drizzle-orm";
import { v7 } from "uuid";
import { expect, test } from "vitest";
import { signInStates, signIns } from "../../../src/db/schema/sign_in.ts";
import { users } from "../../../src/db/schema/users.ts";
import { db } from "../../support/world.ts";
import {
	after,
	type Changes,
	type Connected,
	connected,
	follow,
	newestFailure,
	type Parts,
	post,
	signed,
	signIn,
	start,
	succeeds,
} from "./support.ts";

const REJECTED = "/console/sign_in#problem=invalid_response";

/** A sign-in is rejected, nothing is created, and the admins find out why. */
async function expectRejected(home: Connected, changes: Changes, why: string | RegExp) {
	expect(await signIn(home, changes)).toBe(REJECTED);
	expect(
		await db
			.select()
			.from(users)
			.where(eq(users.email, `ada@${home.domain}`)),
	).toEqual([]);
	expect(
		await db
			.select()
			.from(users)
			.where(eq(users.email, `eve@${home.domain}`)),
	).toEqual([]);
	expect(
		await db
			.select()
			.from(signIns)
			.where(eq(signIns.connection, `saml:${home.id}`)),
	).toEqual([]);
	expect((await newestFailure(home)).detail).toMatch(why);
}

const SIGNATURE = /<Signature[\s\S]*<\/Signature>/;
const ASSERTION = /<saml:Assertion [\s\S]*<\/saml:Assertion>/;
const bare = (xml: string) => xml.replace(SIGNATURE, "");
const part = (xml: string, pattern: RegExp) => pattern.exec(xml)?.[0] ?? "";

/** Returns the XML with another person, and another id. */
const forge = (xml: string) =>
	bare(xml)
		.replace(/<saml:NameID [\s\S]*?<\/saml:NameID>/, "<saml:NameID>eve</saml:NameID>")
		.replace("ada@", "eve@");
const renamed = (xml: string) => xml.replace(/\bID="[^"]*"/, 'ID="_forged"');

/** Puts something before the end of an element. */
const into = (xml: string, end: string, inserted: string) =>
	xml.slice(0, xml.lastIndexOf(end)) + inserted + xml.slice(xml.lastIndexOf(end));

type Forgery = (xml: string) => string;

/** The attacks of "On Breaking SAML: Be Whoever You Want to Be", with the numbers of SAML Raider. */
const WRAPPINGS: [name: string, element: "Response" | "Assertion", forgery: Forgery][] = [
	[
		"XSW1",
		"Response",
		(xml) =>
			into(
				renamed(forge(xml)),
				"<samlp:Status>",
				into(part(xml, SIGNATURE), "</Signature>", bare(xml)),
			),
	],
	[
		"XSW2",
		"Response",
		(xml) => into(renamed(forge(xml)), "<samlp:Status>", bare(xml) + part(xml, SIGNATURE)),
	],
	["XSW3", "Assertion", (xml) => xml.replace(ASSERTION, (own) => renamed(forge(own)) + own)],
	[
		"XSW4",
		"Assertion",
		(xml) => xml.replace(ASSERTION, (own) => into(renamed(forge(own)), "</saml:Assertion>", own)),
	],
	[
		"XSW5",
		"Assertion",
		(xml) =>
			xml.replace(
				ASSERTION,
				(own) => into(renamed(forge(own)), "<saml:Subject>", part(own, SIGNATURE)) + bare(own),
			),
	],
	[
		"XSW6",
		"Assertion",
		(xml) =>
			xml.replace(ASSERTION, (own) =>
				into(
					renamed(forge(own)),
					"<saml:Subject>",
					into(part(own, SIGNATURE), "</Signature>", bare(own)),
				),
			),
	],
	[
		"XSW7",
		"Assertion",
		(xml) =>
			xml.replace(ASSERTION, (own) => `<samlp:Extensions>${forge(own)}</samlp:Extensions>${own}`),
	],
	[
		"XSW8",
		"Assertion",
		(xml) =>
			xml.replace(ASSERTION, (own) =>
				into(
					renamed(forge(own)),
					"<saml:Subject>",
					into(part(own, SIGNATURE), "</Signature>", `<Object>${bare(own)}</Object>`),
				),
			),
	],
];

test.each(WRAPPINGS)("a wrapped signature is rejected: %s", async (_, element, forgery) => {
	const home = await connected();
	await expectRejected(home, { signing: { element }, after: forgery }, "assertion");
});

test.each<[string, Changes, string | RegExp]>([
	["an assertion without a signature", { after: bare }, "signature"],
	[
		"a signature by a key that isn't the domain's",
		{ signing: { by: "two" } },
		"No certificate of the domain",
	],
	[
		"a changed name",
		{ after: (xml) => xml.replace("</saml:NameID>", "x</saml:NameID>") },
		"No certificate",
	],
	["a changed address", { after: (xml) => xml.replace("ada@", "eve@") }, "No certificate"],
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
		{
			after: (xml) =>
				xml.replace(
					"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
					"http://www.w3.org/2000/09/xmldsig#hmac-sha1",
				),
		},
		"hmac-sha1",
	],
	[
		"a signature that says another hash than it was made with",
		{ after: (xml) => xml.replace("rsa-sha256", "rsa-sha512") },
		"No certificate",
	],
	[
		"a signature that says RSA-PSS but was made without",
		{
			after: (xml) =>
				xml.replace(
					"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
					"http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
				),
		},
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
		{
			after: (xml) =>
				xml.replace(
					'<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>',
					'<Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>',
				),
		},
		"xslt",
	],
	[
		"a comment in the name",
		{ after: (xml) => xml.replace("</saml:NameID>", "<!-- x --></saml:NameID>") },
		"comments",
	],
	[
		"a comment in the address",
		{ after: (xml) => xml.replace("ada@", "ada<!-- x -->@") },
		"comments",
	],
	["a processing instruction", { after: (xml) => xml.replace("ada@", "ada<?x y?>@") }, "comments"],
	["CDATA", { after: (xml) => xml.replace("ada@", "<![CDATA[ada]]>@") }, "comments"],
	[
		"entities that expand to gigabytes",
		{
			after: (xml) =>
				`<!DOCTYPE lolz [<!ENTITY a "${"ha".repeat(50)}">${"bcdefghi".replaceAll(/./g, (name) => `<!ENTITY ${name} "${`&${String.fromCharCode(name.charCodeAt(0) - 1)};`.repeat(10)}">`)}]>${xml.replace("ada@", "&i;@")}`,
		},
		"document type",
	],
	[
		"an external entity",
		{
			after: (xml) =>
				`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${xml.replace("ada@", "&e;@")}`,
		},
		"document type",
	],
	["an unknown entity", { after: (xml) => xml.replace("ada@", "&e;@") }, "well-formed"],
	["XML that ends early", { after: (xml) => xml.slice(0, -100) }, "well-formed"],
	["two documents", { after: (xml) => xml + xml }, "well-formed"],
	[
		"elements that are nested too deeply",
		{
			after: (xml) =>
				xml.replace(
					"<samlp:Status>",
					`${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}<samlp:Status>`,
				),
		},
		"too many elements",
	],
	["another XML document", { after: () => "<a/>" }, "isn't a SAML response"],
	["an empty response", { after: () => "" }, "well-formed"],
])("%s is rejected", async (_, changes, why) => {
	await expectRejected(await connected(), changes, why);
});

test.each<[string, (home: Connected) => Partial<Parts>, string]>([
	["of another issuer", () => ({ issuer: "https://other.test" }), "issuer"],
	["in a response of another issuer", () => ({ response_issuer: "https://other.test" }), "issuer"],
	["in a response of an empty issuer", () => ({ response_issuer: "" }), "issuer"],
	["in a response of an issuer that is no text", () => ({ response_issuer: "<b/>" }), "issuer"],
	[
		"for another audience",
		() => ({
			audience:
				"<saml:AudienceRestriction><saml:Audience>https://other.test</saml:Audience></saml:AudienceRestriction>",
		}),
		"audience",
	],
	["without an audience", () => ({ audience: "" }), "audience"],
	[
		"for this and no audience",
		({ entity_id }) => ({
			audience: `<saml:AudienceRestriction><saml:Audience>${entity_id}</saml:Audience></saml:AudienceRestriction><saml:AudienceRestriction/>`,
		}),
		"audience",
	],
	["for another recipient", () => ({ recipient: "https://other.test/acs" }), "recipient"],
	["without a recipient", () => ({ recipient: "" }), "recipient"],
	[
		"in a response for another destination",
		() => ({ destination: "https://other.test/acs" }),
		"destination",
	],
	["that isn't valid yet", () => ({ not_before: after(600) }), "isn't valid before"],
	["that has expired", () => ({ not_on_or_after: after(-600) }), "expired"],
	["whose confirmation has expired", () => ({ confirmed_until: after(-600) }), "expired"],
	["whose confirmation doesn't expire", () => ({ confirmed_until: "" }), "doesn't expire"],
	["of a session that has ended", () => ({ session_until: after(-600) }), "expired"],
	[
		"that was issued long ago",
		() => ({
			issued: after(-7200),
			confirmed_until: after(86_400),
			not_on_or_after: after(86_400),
		}),
		"was issued at",
	],
	["from the future", () => ({ issued: after(600) }), "was issued at"],
	["with a time that isn't one", () => ({ not_before: "soon" }), "isn't a time"],
	["with an empty time", () => ({ not_on_or_after: "" }), "isn't a time"],
	["of a session that ends at an empty time", () => ({ session_until: "" }), "isn't a time"],
	[
		"for the holder of a key",
		() => ({ method: "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key" }),
		"bearer",
	],
	[
		"with a name for one session",
		() => ({ format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" }),
		"transient",
	],
	["without a name", () => ({ name_id: "" }), "NameID"],
	["with a name that is too long", () => ({ name_id: "x".repeat(1_000) }), "NameID"],
	["with an element in the name", () => ({ name_id: "<b>x</b>" }), "NameID"],
	["in a response to another request", () => ({ in_response_to: "_x" }), "different requests"],
	["that responds to another request", () => ({ confirmed_request: "_x" }), "different requests"],
	["that responds to no request", () => ({ confirmed_request: "" }), "different requests"],
])("an assertion %s is rejected", async (_, change, why) => {
	const home = await connected();
	await expectRejected(home, { change: change(home) }, why);
});

/** Returns a subject confirmation that differs from a valid one. */
const confirmation = (home: Connected, request: string, changes: Record<string, string> = {}) => {
	const { Method = BEARER, ...data } = {
		...{ Recipient: home.acs_url, NotOnOrAfter: after(300), InResponseTo: request },
		...changes,
	};
	const attributes = Object.entries(data).map(([name, value]) => ` ${name}="${value}"`);
	return `<saml:SubjectConfirmation Method="${Method}"><saml:SubjectConfirmationData${attributes.join("")}/></saml:SubjectConfirmation>`;
};

const BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const HOLDER = "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key";

/** Replaces the subject confirmations. */
const withConfirmations = (...confirmations: string[]) => ({
	before: (xml: string) =>
		xml.replace(
			/<saml:SubjectConfirmation [\s\S]*<\/saml:SubjectConfirmation>/,
			confirmations.join(""),
		),
});

const INVALID: [string, () => Record<string, string>, string][] = [
	["has expired", () => ({ NotOnOrAfter: after(-600) }), "expired"],
	["is for another recipient", () => ({ Recipient: "https://other.test/acs" }), "recipient"],
	["is for the holder of a key", () => ({ Method: HOLDER }), "bearer"],
	["isn't valid for some minutes", () => ({ NotBefore: after(300) }), "isn't valid before"],
	["responds to another request", () => ({ InResponseTo: "_x" }), "different requests"],
	["has a time that isn't one", () => ({ NotOnOrAfter: "soon" }), "isn't a time"],
];

test.each(INVALID)("a confirmation that %s doesn't count", async (_, changes, why) => {
	const home = await connected();
	const { cookie, request } = await start(home);
	const invalid = confirmation(home, request, changes());
	const none = await signed(home, request, withConfirmations(invalid, invalid));
	expect((await post(home, none)).headers.get("location")).toBe(REJECTED);
	expect((await newestFailure(home)).detail).toMatch(why);
	const valid = confirmation(home, request);
	const both = await signed(home, request, withConfirmations(invalid, valid, invalid));
	expect(await follow(await post(home, both), cookie)).toMatch(succeeds);
});

test("confirmations that are each invalid in another way don't add up to a valid one", async () => {
	const home = await connected();
	const { request } = await start(home);
	const each = INVALID.map(([, changes]) => confirmation(home, request, changes()));
	const xml = await signed(home, request, withConfirmations(...each));
	expect((await post(home, xml)).headers.get("location")).toBe(REJECTED);
});

test("an assertion whose second confirmation is valid for longer works once, too", async () => {
	const home = await connected({ saml_idp_initiated: true });
	const confirmed = (seconds: number) =>
		`<saml:SubjectConfirmation Method="${BEARER}"><saml:SubjectConfirmationData Recipient="${home.acs_url}" NotOnOrAfter="${after(seconds)}"/></saml:SubjectConfirmation>`;
	const xml = await signed(home, "", withConfirmations(confirmed(30), confirmed(3000)));
	expect((await post(home, xml)).headers.get("location")).toMatch(/^\/sso\/finish/);
	const rows = await db.select().from(signInStates).where(eq(signInStates.kind, "response"));
	expect(rows.some(({ expires_at }) => expires_at > after(3000 + 120))).toBe(true);
});

test("a clock that is a minute and a half ahead or behind doesn't matter", async () => {
	const home = await connected();
	const name_id = v7();
	const ahead = { name_id, issued: after(90), not_before: after(90) };
	expect(await signIn(home, { change: ahead })).toMatch(succeeds);
	const behind = { name_id, not_on_or_after: after(-90), confirmed_until: after(-90) };
	expect(await signIn(home, { change: behind })).toMatch(succeeds);
});
