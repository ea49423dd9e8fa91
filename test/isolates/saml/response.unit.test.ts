import { createPublicKey } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import type { Options } from "samlp";
import { describe, expect, test } from "vitest";
import { verify as verifyBase64 } from "../../../src/isolates/saml/verify.ts";
import { respond } from "../../support/saml.ts";
import { home, pairs, REQUEST, read, signed, verify } from "./in_node.ts";
import {
	ALGORITHMS,
	ada,
	attribute,
	base64Of,
	ISSUER,
	type Parts,
	PERSISTENT,
} from "./responses.ts";

const { one = { key: "", cert: "" } } = pairs;

/** Reads a response of samlp, a provider that others wrote. */
async function throughSamlp(options: Partial<Options> = {}, by = "one") {
	const { key, cert } = pairs[by] ?? one;
	const { entity_id, acs_url } = home;
	const addressed = { audience: entity_id, recipient: acs_url, destination: acs_url };
	const xml = await respond(
		{ issuer: ISSUER, key, cert, inResponseTo: REQUEST, ...addressed, ...options },
		ada("Ada@example.com"),
	);
	return verify(xml);
}

const DENIED = "urn:oasis:names:tc:SAML:2.0:status:RequestDenied";
const ENCRYPTED = {
	encryptionCert: one.cert,
	encryptionPublicKey: createPublicKey(one.key).export({ type: "spki", format: "pem" }).toString(),
};

describe("a response of samlp", () => {
	test.each<[string, Partial<Options>]>([
		["whose assertion is signed", {}],
		["that is signed", { signResponse: true, signAssertion: false }],
		["that is signed, and its assertion, too", { signResponse: true }],
	])("%s says who it is", async (_, options) => {
		const format = { nameIdentifierFormat: PERSISTENT };
		expect(await throughSamlp({ ...format, ...options })).toMatchObject({
			subject: `${PERSISTENT} ada-7`,
			email: "Ada@example.com",
			first_name: "Ada",
			last_name: "Lovelace",
			in_response_to: REQUEST,
		});
	});

	test.each<[string, Partial<Options>, string, string?]>([
		["that nothing signs", { signAssertion: false }, "signature"],
		["of a stranger", {}, "No certificate", "two"],
		["with a SHA-1 signature", { signatureAlgorithm: "rsa-sha1" }, "rsa-sha1"],
		["with a SHA-1 digest", { digestAlgorithm: "sha1" }, "sha1"],
		["that has expired", { lifetimeInSeconds: -600 }, "expired"],
		["that is encrypted", ENCRYPTED, "encrypted. Turn encryption off at the provider"],
		["that lets nobody in", { samlStatusCode: DENIED }, "RequestDenied"],
	])("%s is rejected", async (_, options, why, by) => {
		await expect(throughSamlp(options, by)).rejects.toThrow(why);
	});
});

test.each([
	["isn't Base64", "<>"],
	["isn't UTF-8", Buffer.from([0xff, 0xfe]).toString("base64")],
	["is compressed", deflateRawSync(await signed()).toString("base64")],
])("a response that %s is rejected", async (_, response) => {
	await expect(verifyBase64(home, response)).rejects.toThrow("isn't UTF-8 in Base64");
});

test.each(ALGORITHMS)("a signature with $signatureAlgorithm is verified", async (signing) => {
	await expect(read({ signing })).resolves.toBeDefined();
});

describe("the certificates of a domain", () => {
	const two = pairs.two?.cert ?? "";

	test.each([
		["two, while they change", `${one.cert}\n${two}`],
		["two in the other order", two + one.cert],
		["two without line breaks between them", two.trim() + one.cert.trim()],
		["Base64", base64Of(one.cert)],
		["Base64 on one line", base64Of(one.cert).replaceAll("\n", "")],
		["Base64 with Windows line ends", base64Of(one.cert).replaceAll("\n", "\r\n")],
		["two in Base64", `${base64Of(two)}\n\n${base64Of(one.cert)}`],
		["PEM with a text before it", `Subject: provider\n${one.cert}`],
	])("can be %s", async (_, saml_x509_cert) => {
		await expect(verify(await signed(), { saml_x509_cert })).resolves.toBeDefined();
	});

	test.each(["x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])(
		"can't be %j",
		async (saml_x509_cert) => {
			await expect(verify(await signed(), { saml_x509_cert })).rejects.toThrow("saml_x509_cert");
		},
	);
});

/** What the service reads in an assertion with these parts. */
const said = (change: Partial<Parts>) => read({ change });

const MICROSOFT = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims";

describe("what an assertion says", () => {
	test("the name with its format is who it is", async () => {
		expect(await said({ name_id: "7" })).toMatchObject({ subject: `${PERSISTENT} 7` });
		const format = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";
		expect(await said({ name_id: "7", format })).toMatchObject({ subject: `${format} 7` });
	});

	test("the address is the name if there is no attribute for it", async () => {
		expect(await said({ name_id: "Ada@x.example", email: "" })).toMatchObject({
			email: "Ada@x.example",
		});
	});

	test.each([
		...["Email", "E-Mail", "email_address", "User.Email", "mail"],
		...["urn:oid:1.2.840.113549.1.9.1", "urn:oid:0.9.2342.19200300.100.1.3"],
		...["URN:OID:0.9.2342.19200300.100.1.3", "urn:mace:dir:attribute-def:mail"],
		...["http://schemas.xmlsoap.org/claims/EmailAddress", `${MICROSOFT}/emailaddress`],
	])("the attribute %s is the address", async (name) => {
		const attributes = attribute(name, "eve@example.com");
		expect((await said({ email: "", attributes })).email).toBe("eve@example.com");
	});

	test.each([
		...["email2", "urn:oid:0.9.2342.19200300.100.1", "http://elsewhere.test/mail", "toString"],
	])("the attribute %s isn't the address", async (name) => {
		const attributes = attribute(name, "eve@example.com");
		expect((await said({ email: "", attributes, name_id: "7" })).email).toBe("7");
	});

	test.each([
		...["displayName", "cn", "urn:oid:2.16.840.1.113730.3.1.241"],
		"http://schemas.microsoft.com/identity/claims/displayname",
		"urn:mace:dir:attribute-def:displayName",
	])("the names come from the attribute %s if there is no other", async (name) => {
		expect(await said({ attributes: attribute(name, "Ada King Lovelace") })).toMatchObject({
			first_name: "Ada",
			last_name: "King Lovelace",
		});
	});

	test.each([
		["givenName", "sn"],
		["firstName", "lastName"],
		["First Name", "family-name"],
		["urn:oid:2.5.4.42", "urn:oid:2.5.4.4"],
		["urn:mace:dir:attribute-def:givenName", "urn:mace:dir:attribute-def:sn"],
		[`${MICROSOFT}/givenname`, `${MICROSOFT}/surname`],
	])("the attributes %s and %s are the names", async (first, last) => {
		const attributes = attribute(first, "Ada") + attribute(last, "Lovelace &amp; Co");
		expect(await said({ attributes })).toMatchObject({
			first_name: "Ada",
			last_name: "Lovelace & Co",
		});
	});

	test("text with markup stays text", async () => {
		const attributes = attribute("givenName", "&lt;b&gt;Ada&lt;/b&gt;");
		expect((await said({ attributes })).first_name).toBe("<b>Ada</b>");
	});

	const contexts = "urn:oasis:names:tc:SAML:2.0:ac:classes";
	test.each<[string, Partial<Parts>, boolean]>([
		["a password", {}, false],
		["a password twice", { context: `${contexts}:PreviousSession` }, false],
		["REFEDS MFA", { context: "https://refeds.org/profile/mfa" }, true],
		["a smartcard", { context: `${contexts}:SmartcardPKI` }, true],
		[
			"Microsoft's second factor",
			{
				attributes: attribute(
					"http://schemas.microsoft.com/claims/authnmethodsreferences",
					"http://schemas.microsoft.com/claims/multipleauthn",
				),
			},
			true,
		],
	])("whether there was a second factor: %s", async (_, change, has_factor) => {
		expect((await said(change)).has_factor).toBe(has_factor);
	});
});
