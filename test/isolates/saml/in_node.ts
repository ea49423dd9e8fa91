/** A SAML provider and what the service reads in its responses, in one process. */
import { verify as verifyResponse } from "../../../src/isolates/saml/verify.ts";
import { newPair, type Signing, signXml } from "../../support/saml.ts";
import { type Changes, ISSUER, signedBy } from "./responses.ts";

const [one, two] = await Promise.all([newPair(), newPair()]);
export const pairs: Record<string, typeof one> = { one, two };

const BASE = "https://app.tenantry.test/sso/saml/1";

/** The two sides of a connection, and the domain of the addresses. */
export const home = {
	entity_id: `${BASE}/metadata`,
	acs_url: `${BASE}/acs`,
	domain: "example.com",
	saml_entity_id: ISSUER,
	saml_acs_url: "https://provider.test/sso",
	saml_x509_cert: one.cert,
};

export const REQUEST = "_request";

export const sign = (signing: Signing) => signXml(signing, pairs[signing.by]?.key ?? "");

/** Returns the signed response to a request. */
export const signed = (changes: Changes = {}, request = REQUEST) =>
	signedBy(sign, home, request, changes);

/** Verifies a response as that of the domain's provider, or of another one. */
export const verify = (xml: string, provider: Partial<typeof home> = {}) =>
	verifyResponse({ ...home, ...provider }, Buffer.from(xml).toString("base64"));

/** Returns what the service reads in the signed response to a request. */
export const read = async (changes: Changes = {}) => verify(await signed(changes));
