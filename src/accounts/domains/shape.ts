import * as z from "zod";
import { boolean, longText, name, rawText, text, timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";

const SSO_ENFORCEMENTS = ["", "saml", "google-oauth2", "github", "gitlab"] as const;

/** A domain (docs/organizations.md#domains). */
export const Domain = z
	.object({
		id: z.guid(),
		domain: z.string(),
		is_verified: z.boolean(),
		verified_at: timestamp().nullable(),
		verification_challenge: z.string(),
		jit_provisioning_enabled: z.boolean(),
		sso_enforcement: documentAs(z.string(), z.enum(SSO_ENFORCEMENTS)),
		has_saml: z.boolean(),
		saml_entity_id: z.string().nullable(),
		saml_acs_url: z.string().nullable(),
		saml_x509_cert: z.string().nullable(),
	})
	.meta({ id: "Domain" });

/** A domain, and why it was not verified; null if it was. */
export const Verified = Domain.extend({
	verification_error: z.string().nullable(),
}).meta({ id: "VerifiedDomain" });

const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+([a-z]{2,63}|xn--[a-z0-9-]{0,57}[a-z0-9])$/;

/** Whether the name is a registrable domain or below one. A public suffix such as co.uk isn't. */
async function isRegistrable(name: string) {
	const { getDomain } = await import("tldts");
	return getDomain(name, { allowPrivateDomains: true }) !== null;
}

const domain = name(128)
	.refine(
		async (domain) => DOMAIN.test(domain) && (await isRegistrable(domain)),
		"Please enter a valid domain or subdomain name.",
	)
	.meta({ pattern: DOMAIN.source });

export const filters = z.object({
	/** Searches the name. */
	search: rawText(200).optional(),
});

const MAX_CERTIFICATE_BYTES = 16 * 1024;

export const create = z.object({
	domain,
	saml_entity_id: text(512).nullable().optional(),
	saml_acs_url: text(512).nullable().optional(),
	saml_x509_cert: longText(MAX_CERTIFICATE_BYTES).nullable().optional(),
});

export const update = z.object({
	domain: domain.optional(),
	jit_provisioning_enabled: boolean().optional(),
	sso_enforcement: text(28).pipe(z.enum(SSO_ENFORCEMENTS)).optional(),
	...create.omit({ domain: true }).shape,
});
