import { expect, test } from "vitest";
import { readProvider } from "../../../src/isolates/saml/provider.ts";
import { newPair } from "../../support/saml.ts";
import { descriptor, entity, key, PROVIDER, SERVICES, service } from "./saml_metadata.ts";

const pairs = [newPair(), newPair(), newPair(), newPair("elliptic")];
const [one = "", two = "", three = "", elliptic = ""] = (await Promise.all(pairs)).map(({ cert }) =>
	key(cert),
);

const METADATA = entity(descriptor(one + SERVICES));

const listed = (inside: string) =>
	`<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${inside}</md:EntitiesDescriptor>`;

const certificatesIn = (xml: string) =>
	(xml.match(/(?<=X509Certificate>)[^<]+|(?<=BEGIN CERTIFICATE-----)[^-]+/g) ?? []).map((text) =>
		text.replace(/\s/g, ""),
	);

test.each<[string, string]>([
	["with a declaration", `<?xml version="1.0" encoding="UTF-8"?>\n${METADATA}\n`],
	[
		"with a byte order mark and comments",
		`\uFEFF<!-- Example -->${METADATA.replace("><", "><!-- x --><")}`,
	],
	[
		"with another key for encryption",
		entity(descriptor(two.replace("signing", "encryption") + one + SERVICES)),
	],
	["with a key for everything", METADATA.replace(' use="signing"', "")],
	["with the same key twice, and an elliptic one", METADATA.replace(one, one + one + elliptic)],
	[
		"that asks for signed requests",
		entity(descriptor(one + SERVICES, 'WantAuthnRequestsSigned="true"')),
	],
	["in a list of one", listed(METADATA)],
])("metadata %s has the fields of a domain", async (_, metadata) => {
	const { saml_x509_cert, ...provider } = await readProvider(metadata);
	expect(provider).toEqual(PROVIDER);
	expect(certificatesIn(saml_x509_cert)).toEqual(certificatesIn(one));
});

test("metadata with two certificates has both", async () => {
	const { saml_x509_cert } = await readProvider(METADATA.replace(one, one + two));
	expect(certificatesIn(saml_x509_cert)).toEqual(certificatesIn(one + two));
});

test.each<[string, string, string]>([
	["isn't XML", "<x", "well-formed"],
	["is another document", "<html/>", "isn't SAML metadata"],
	["is of a service", entity("<md:SPSSODescriptor/>"), "of a service"],
	[
		"is of a provider of SAML 1.1",
		METADATA.replace("SAML:2.0:protocol", "SAML:1.1:protocol"),
		"of a service",
	],
	["is of two providers", listed(METADATA + METADATA), "2 providers"],
	["has no entity ID", entity(descriptor(one + SERVICES), ""), "no entity ID"],
	["takes requests only by POST", entity(descriptor(one + service("HTTP-POST"))), "HTTP-Redirect"],
	[
		"names a script as its URL",
		entity(descriptor(one + service("HTTP-Redirect", "javascript:alert(1)"))),
		"HTTP-Redirect",
	],
	["has no certificate", METADATA.replace(one, ""), "no certificate"],
	["has only an elliptic certificate", METADATA.replace(one, elliptic), "no certificate"],
	["has three certificates", METADATA.replace(one, one + two + three), "3 certificates"],
	[
		"has a document type",
		`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${METADATA}`,
		"document type",
	],
	["has CDATA", METADATA.replace("<md:Sing", "<![CDATA[x]]><md:Sing"), "document type"],
	["is nested too deeply", entity("<a>".repeat(9_000) + "</a>".repeat(9_000)), "too many elements"],
])("metadata that %s is rejected", async (_, metadata, why) => {
	await expect(readProvider(metadata)).rejects.toThrow(why);
});
