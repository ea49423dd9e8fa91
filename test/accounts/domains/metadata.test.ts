import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/domains.ts";
import { CERTIFICATES, domainName, ELLIPTIC, insertDomain } from "../../support/domains.ts";
import { call, cost, db, join, world } from "../../support/world.ts";
import { getPage } from "../saml/support.ts";

const PROVIDER = {
	saml_entity_id: "https://idp.example.com/metadata",
	saml_acs_url: "https://idp.example.com/sso?tenant=7&x=1",
};
const [ONE, TWO, THREE] = CERTIFICATES;

const base64 = (pem: string) => pem.split("\n").slice(1, -1).join("\n      ");

const key = (pem: string, use = ' use="signing"') =>
	`<md:KeyDescriptor${use}><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>
      ${base64(pem)}
    </ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;

const service = (binding: string, location = PROVIDER.saml_acs_url) =>
	`<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:${binding}" Location="${location.replaceAll("&", "&amp;")}"/>`;

const descriptor = (inside: string, more = "") =>
	`<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" ${more}>${inside}</md:IDPSSODescriptor>`;

const entity = (inside: string, id = PROVIDER.saml_entity_id) =>
	`<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${id}">${inside}</md:EntityDescriptor>`;

const SERVICES = service("HTTP-POST", "https://idp.example.com/post") + service("HTTP-Redirect");

const METADATA = entity(descriptor(key(ONE) + SERVICES));

/** A tenant with a domain, and a function that changes it. */
async function home() {
	const tenant = await world();
	const id = await insertDomain(tenant.id, { domain: domainName() });
	const patch = (saml_metadata: string, more: object = {}, options: object = {}) =>
		tenant.here("PATCH", `/domains/${id}`, { body: { saml_metadata, ...more }, ...options });
	const stored = async () => (await db.select().from(domains).where(eq(domains.id, id)))[0];
	return { ...tenant, domain_id: id, patch, stored };
}

describe("metadata of a SAML provider", () => {
	test.each<[string, string]>([
		["with a declaration", `<?xml version="1.0" encoding="UTF-8"?>\n${METADATA}\n`],
		[
			"with a byte order mark and comments",
			`\uFEFF<!-- Example -->${METADATA.replace("><", "><!-- x --><")}`,
		],
		[
			"with another key for encryption",
			entity(descriptor(key(TWO, ' use="encryption"') + key(ONE) + SERVICES)),
		],
		["with a key for everything", entity(descriptor(key(ONE, "") + SERVICES))],
		[
			"with the same key twice, and an elliptic one",
			entity(descriptor(key(ONE) + key(ONE) + key(ELLIPTIC) + SERVICES)),
		],
		[
			"that asks for signed requests",
			entity(descriptor(key(ONE) + SERVICES, 'WantAuthnRequestsSigned="true"')),
		],
		[
			"in a list of one",
			`<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${METADATA}</md:EntitiesDescriptor>`,
		],
	])("%s fills in the fields", async (_, metadata) => {
		const { patch } = await home();
		const response = await patch(metadata);
		const { body } = response;
		expect(body).toMatchObject({ ...PROVIDER, has_saml: true });
		expect(body.saml_x509_cert.replace(/\s/g, "")).toBe(ONE.replace(/\s/g, ""));
		expect(body).not.toHaveProperty("saml_metadata");
		expect(cost(response).trips).toBe(2);
	});

	test("can be given when a domain is created, and fields beside it count more", async () => {
		const { here } = await home();
		const given = { saml_metadata: METADATA, saml_entity_id: "https://other.example.com" };
		const { body } = await here("POST", "/domains", { body: { domain: domainName(), ...given } });
		expect(body).toMatchObject({
			saml_entity_id: "https://other.example.com",
			saml_acs_url: PROVIDER.saml_acs_url,
			has_saml: true,
		});
	});

	test("with two certificates has both", async () => {
		const { patch } = await home();
		const { body } = await patch(entity(descriptor(key(ONE) + key(TWO) + SERVICES)));
		expect(body.saml_x509_cert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
	});

	test.each<[string, string, RegExp]>([
		["isn't XML", "<x", /well-formed/],
		["is another document", "<html/>", /isn't SAML metadata/],
		["is a text", "metadata", /as XML, or its https URL/],
		["is a URL with a password", "https://a:b@idp.example.com/", /as XML, or its https URL/],
		["is of a service", entity("<md:SPSSODescriptor/>"), /of a service/],
		[
			"is of a provider of SAML 1.1",
			METADATA.replace("SAML:2.0:protocol", "SAML:1.1:protocol"),
			/of a service/,
		],
		[
			"is of two providers",
			`<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${METADATA}${METADATA}</md:EntitiesDescriptor>`,
			/2 providers/,
		],
		[
			"has an entity ID of 513 characters",
			METADATA.replace(PROVIDER.saml_entity_id, "x".repeat(513)),
			/saml_entity_id: .*512/,
		],
		["has no entity ID", entity(descriptor(key(ONE) + SERVICES), ""), /no entity ID/],
		[
			"takes requests only by POST",
			entity(descriptor(key(ONE) + service("HTTP-POST"))),
			/HTTP-Redirect/,
		],
		[
			"names a script as its URL",
			entity(descriptor(key(ONE) + service("HTTP-Redirect", "javascript:alert(1)"))),
			/HTTP-Redirect/,
		],
		["has no certificate", entity(descriptor(SERVICES)), /no certificate/],
		[
			"has only an elliptic certificate",
			entity(descriptor(key(ELLIPTIC) + SERVICES)),
			/no certificate/,
		],
		[
			"has three certificates",
			entity(descriptor(key(ONE) + key(TWO) + key(THREE) + SERVICES)),
			/3 certificates/,
		],
		[
			"has a document type",
			`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${METADATA}`,
			/document type/,
		],
		["has CDATA", METADATA.replace("<md:Sing", "<![CDATA[x]]><md:Sing"), /document type/],
		[
			"is nested too deeply",
			entity("<a>".repeat(9_000) + "</a>".repeat(9_000)),
			/too many elements/,
		],
	])("that %s is rejected, and changes nothing", async (_, metadata, words) => {
		const { patch, stored } = await home();
		expect(await patch(metadata)).toMatchObject({
			status: 400,
			body: { attr: "saml_metadata", detail: expect.stringMatching(words) },
		});
		expect(await stored()).toMatchObject({ saml_entity_id: null, saml_x509_cert: null });
	});

	test("of more than 262,144 bytes is rejected", async () => {
		const { patch } = await home();
		expect(await patch(METADATA + " ".repeat(10) + "<!--x-->".repeat(40_000))).toMatchObject({
			status: 400,
			body: { code: "max_length", attr: "saml_metadata" },
		});
	});

	test("of this service is rejected, and so are its URLs as those of the provider", async () => {
		const { patch, domain_id } = await home();
		const { body: own } = await getPage(`/sso/saml/${domain_id}/metadata`);
		expect((await patch(String(own))).body.detail).toMatch(/of a service/);
		for (const attr of ["saml_acs_url", "saml_entity_id"])
			expect(await patch("", { [attr]: `${env.APP_URL}/sso/saml/${domain_id}/acs` })).toMatchObject(
				{ status: 400, body: { attr } },
			);
	});

	test("isn't fetched from a private host, without https, or for a member", async () => {
		const { patch, id, domain_id } = await home();
		const strict = { env: { ALLOW_PRIVATE_DESTINATIONS: "false" } };
		for (const [url, words] of [
			["https://127.0.0.1/metadata", /private address/],
			["https://metadata.internal/", /private network/],
			["http://idp.example.com/", /https URL/],
		] as const)
			expect(await patch(url, {}, strict)).toMatchObject({
				status: 400,
				body: { attr: "saml_metadata", detail: expect.stringMatching(words) },
			});
		const { key } = await join(id, 1);
		const path = `/api/organizations/${id}/domains/${domain_id}`;
		const body = { saml_metadata: `${env.LIAR_URL}/metadata` };
		expect((await call("PATCH", path, { key, body })).status).toBe(403);
	});

	test("can be given by its URL", async () => {
		const { patch } = await home();
		const hosted = Buffer.from(METADATA).toString("hex");
		const { body } = await patch(`${env.LIAR_URL}/text/${hosted}`);
		expect(body).toMatchObject({ ...PROVIDER, has_saml: true });
	});

	test.each([
		["an error", "/nothing", /answered 404/],
		["a redirect", "/redirect", /answered 302/],
		["10 MB", "/huge", /more than 262144 bytes/],
		["something else", "/broken", /well-formed/],
	])("isn't read from a URL with %s", async (_, path, words) => {
		const { patch } = await home();
		expect(await patch(`${env.LIAR_URL}${path}`)).toMatchObject({
			status: 400,
			body: { attr: "saml_metadata", detail: expect.stringMatching(words) },
		});
	});
});
