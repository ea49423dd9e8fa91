import { describe, expect, test } from "vitest";
import { email } from "../../../src/http/fields.ts";
import { create, update } from "../../../src/organizations/domains/shape.ts";
import { CERTIFICATE } from "../../support/certificate.ts";
import { problemOf } from "../../support/problems.ts";
import { newPair } from "../../support/saml.ts";

describe("the name of a domain", () => {
	test.each([
		["example.com"],
		["a.b.example.co.uk"],
		["x1.example"],
		["xn--bcher-kva.example"],
		["xn--e1afmkfd.xn--p1ai"],
		["q.xn--vermgensberatung-pwb"],
		[`${"a".repeat(63)}.example.com`],
		["EXAMPLE.net", "example.net"],
		[" example.org. ", "example.org"],
		["Q.XN--P1AI.", "q.xn--p1ai"],
	])("can be %j, also in addresses", async (given, domain = given) => {
		expect(await create.parseAsync({ domain: given })).toEqual({ domain });
		expect(email().parse(`anna@${given.trimStart()}`)).toBe(`anna@${domain}`);
	});

	test.each([
		...["example", "example.c", "exa_mple.com", "-a.example.com", "a-.example.com"],
		...["a..example.com", ".example.com", "example.com..", "example.123", "example.p1ai"],
		...["example.xn--", "пример.рф", "example。com", "https://example.com", "a b.com"],
		...["bücher.example", "co.uk", "github.io", `${"a".repeat(64)}.com`, "xn--.xn--"],
	])("can't be %j", async (domain) => {
		const detail = "Please enter a valid domain or subdomain name.";
		expect(await problemOf(create, { domain })).toMatchObject({ detail, attr: "domain" });
	});

	test.each([
		[undefined, "required"],
		[" ", "blank"],
		[`${"a.".repeat(70)}example.com`, "max_length"],
	])("%j is rejected as %s", async (domain, code) => {
		expect(await problemOf(create, { domain })).toMatchObject({ code, attr: "domain" });
	});
});

describe("the certificate of a domain", async () => {
	const one = CERTIFICATE;
	const [two, elliptic] = await Promise.all([newPair(), newPair("elliptic")]);
	const base64 = (pem: string) => pem.trim().split("\n").slice(1, -1).join("\n");
	const problem = (saml_x509_cert: string) =>
		problemOf(create, { domain: "example.com", saml_x509_cert });

	test.each([
		["PEM", one],
		["base64", base64(one)],
		["base64 in one line", base64(one).replaceAll("\n", "")],
		["PEM with text around it", `subject=CN = idp\n${one}\n`],
		["two as PEM", `${one}\n${two.cert}`],
		["two as base64, with an empty line between", `${base64(one)}\n  \n${base64(two.cert)}`],
		["PEM with Windows line ends", one.replaceAll("\n", "\r\n")],
	])("can be %s", async (_, certificate) => {
		expect(await problem(certificate)).toBeUndefined();
	});

	test.each([
		["is something else", "MII…"],
		["is only base64", btoa("not a certificate")],
		["has a key that isn't RSA", elliptic.cert],
		["is cut off", base64(one).slice(0, -40)],
		["comes with its private key", `${one}\n${two.key}`],
		["is one of three", `${one}\n${one}\n${two.cert}`],
		["is one of two, and the other isn't one", `${one}\n${two.cert.replace("MII", "AAA")}`],
	])("is rejected if it %s", async (_, certificate) => {
		expect(await problem(certificate)).toEqual({
			code: "invalid_input",
			detail:
				"Enter one or two X.509 certificates with RSA keys, as PEM or as the base64 in the provider's metadata.",
			attr: "saml_x509_cert",
		});
	});
});

test.each([
	...["idp.example.com", "ftp://idp.example.com", "https://user:password@idp.example.com"],
	...["https://idp.example.com/?tenant=1", "https://idp.example.com/#x"],
])("the issuer of a domain can't be %s", async (oidc_issuer) => {
	expect(await problemOf(update, { oidc_issuer })).toEqual({
		code: "invalid_input",
		detail: "Enter the URL of the issuer, without a user name, query or fragment.",
		attr: "oidc_issuer",
	});
});

test.each([
	[{ saml_entity_id: "x".repeat(513) }, "max_length", "saml_entity_id"],
	[{ sso_enforcement: "nonsense" }, "invalid_choice", "sso_enforcement"],
	[{ jit_provisioning_level: 15 }, "invalid_choice", "jit_provisioning_level"],
	[
		{ break_glass: Array.from({ length: 3 }, () => crypto.randomUUID()) },
		"max_length",
		"break_glass",
	],
])("%j is rejected", async (body, code, attr) => {
	expect(await problemOf(update, body)).toMatchObject({ code, attr });
});

test("the level of just-in-time members is 1 or 8", async () => {
	for (const [given, level] of [
		[8, 8],
		["1", 1],
	])
		expect(await update.parseAsync({ jit_provisioning_level: given })).toEqual({
			jit_provisioning_level: level,
		});
});
