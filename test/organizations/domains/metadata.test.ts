import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { domains } from "../../../src/db/schema/organizations.ts";
import { getPage } from "../../sign_in/saml/support.ts";
import { CERTIFICATE } from "../../support/certificate.ts";
import { domainName, insertDomain } from "../../support/domains.ts";
import { call, cost, db, join, world } from "../../support/world.ts";
import { descriptor, entity, key, PROVIDER, SERVICES } from "./saml_metadata.ts";

const METADATA = entity(descriptor(key(CERTIFICATE) + SERVICES));

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
	test("fills in the fields", async () => {
		const { patch } = await home();
		const response = await patch(METADATA);
		const { body } = response;
		expect(body).toMatchObject({ ...PROVIDER, has_saml: true });
		expect(body.saml_x509_cert.trim()).toBe(CERTIFICATE);
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

	test.each<[string, string, RegExp]>([
		["isn't XML", "<x", /well-formed/],
		["is a text", "metadata", /as XML, or its https URL/],
		["is a URL with a password", "https://a:b@idp.example.com/", /as XML, or its https URL/],
		[
			"has an entity ID of 513 characters",
			METADATA.replace(PROVIDER.saml_entity_id, "x".repeat(513)),
			/saml_entity_id: .*512/,
		],
		["has more than 262,144 bytes", METADATA + "<!--x-->".repeat(40_000), /262144|no more than/],
	])("that %s is rejected, and changes nothing", async (_, metadata, words) => {
		const { patch, stored } = await home();
		expect(await patch(metadata)).toMatchObject({
			status: 400,
			body: { attr: "saml_metadata", detail: expect.stringMatching(words) },
		});
		expect(await stored()).toMatchObject({ saml_entity_id: null, saml_x509_cert: null });
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
