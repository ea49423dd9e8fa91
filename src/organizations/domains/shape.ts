import * as z from "zod";
import { ADMIN, MEMBER } from "../../db/schema/levels.ts";
import {
	boolean,
	EMAIL_DOMAIN_PATTERN,
	integerChoice,
	isEmailDomain,
	longText,
	name,
	normalizeAddress,
	rawText,
	set,
	text,
	timestamp,
	uuid,
} from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { METHODS } from "./connections.ts";
import { INVALID_ISSUER, isIssuer } from "./issuer.ts";

const SSO_ENFORCEMENTS = ["", ...METHODS] as const;

/** The levels that new people of a domain can get. */
const JIT_LEVELS = [MEMBER, ADMIN] as const;

/** A domain (docs/organizations.md#domains). */
export const Domain = z
	.object({
		id: z.guid(),
		domain: z.string(),
		is_verified: z.boolean(),
		verified_at: timestamp().nullable(),
		verification_challenge: z.string(),
		jit_provisioning_enabled: z.boolean(),
		jit_provisioning_level: documentAs(z.int(), z.literal(JIT_LEVELS)),
		sso_enforcement: documentAs(z.string(), z.enum(SSO_ENFORCEMENTS)),
		has_saml: z.boolean(),
		saml_entity_id: z.string().nullable(),
		saml_acs_url: z.string().nullable(),
		saml_x509_cert: z.string().nullable(),
		saml_idp_initiated: z.boolean(),
		has_oidc: z.boolean(),
		oidc_issuer: z.string().nullable(),
		oidc_client_id: z.string().nullable(),
		/** Masked. */
		oidc_client_secret: z.string().nullable(),
		/** UUIDs of users. */
		break_glass: z.array(z.guid()),
	})
	.meta({ id: "Domain" });

/** A domain, and why it was not verified; null if it was. */
export const Verified = Domain.extend({
	verification_error: z.string().nullable(),
}).meta({ id: "VerifiedDomain" });

/** Whether the name is a registrable domain or below one. A public suffix such as co.uk isn't. */
async function isRegistrable(name: string) {
	const { getDomain } = await import("tldts");
	return getDomain(name, { allowPrivateDomains: true }) !== null;
}

const domain = name(128)
	.overwrite(normalizeAddress)
	.refine(
		async (domain) => isEmailDomain(domain) && (await isRegistrable(domain)),
		"Please enter a valid domain or subdomain name.",
	)
	.meta({ pattern: EMAIL_DOMAIN_PATTERN });

export const filters = z.object({
	/** Searches the name. */
	search: rawText(200).optional(),
});

const MAX_CERTIFICATE_BYTES = 16 * 1024;

const certificate = longText(MAX_CERTIFICATE_BYTES).refine(
	async (value) => {
		const { certificatesIn } = await import("../../isolates/saml/certificates.ts");
		return value === "" || certificatesIn(value).length > 0;
	},
	{
		error:
			"Enter one or two X.509 certificates with RSA keys, as PEM or as the base64 in the provider's metadata.",
	},
);

/** Of metadata that is pasted or fetched. Large ones of one provider have some 100 KB. */
export const MAX_METADATA_BYTES = 256 * 1024;

const issuer = text(512).refine((value) => value === "" || isIssuer(value), {
	error: INVALID_ISSUER,
});

/** How many members can be named who sign in without the provider. */
const MAX_BREAK_GLASS = 2;

export const create = z.object({
	domain,
	saml_entity_id: text(512).nullable().optional(),
	saml_acs_url: text(512).nullable().optional(),
	saml_x509_cert: certificate.nullable().optional(),
	/** XML, or its URL. It isn't stored: it fills in those of the three fields that aren't there. */
	saml_metadata: longText(MAX_METADATA_BYTES).nullable().optional(),
	saml_idp_initiated: boolean().optional(),
	oidc_issuer: issuer.nullable().optional(),
	oidc_client_id: text(512).nullable().optional(),
	/** Null or the mask: the stored one stays. Empty: none. */
	oidc_client_secret: rawText(512).nullable().optional(),
});

export const update = z.object({
	domain: domain.optional(),
	jit_provisioning_enabled: boolean().optional(),
	jit_provisioning_level: integerChoice(JIT_LEVELS).optional(),
	sso_enforcement: text(28).pipe(z.enum(SSO_ENFORCEMENTS)).optional(),
	break_glass: set(uuid(), MAX_BREAK_GLASS).optional(),
	...create.omit({ domain: true }).shape,
});
