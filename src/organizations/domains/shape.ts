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
import { METHODS } from "../../people/connections.ts";
import { INVALID_ISSUER, isIssuer } from "./issuer.ts";

const NAME_TEXT =
	"A domain name such as `example.com`, in any case and of at most 128 characters. It must be a registrable domain or a subdomain of one. An internationalized name is in its ASCII form, such as `xn--e1afmkfd.xn--p1ai`. Unique across all organizations.";

const JIT_TEXT =
	"Just-in-time provisioning: whether someone who signs in for the first time with an email address of this domain joins the organization.";

const JIT_LEVEL_TEXT =
	"The level of the members that just-in-time provisioning adds: 1 (member) or 8 (admin).";

const SSO_TEXT = `How people with an email address of this domain have to sign in:

- empty: in any way.
- \`saml\`: through the domain's SAML provider.
- \`oidc\`: through the domain's OpenID provider.
- \`google-oauth2\`, \`github\`, \`gitlab\`: with an account there.`;

const BREAK_GLASS_TEXT =
	"The UUIDs of at most two members with an address of the domain who can also sign in with a link by mail and a second factor, for when the provider fails.";

const SECRET_TEXT = "The client secret at the OpenID provider";

const PROVIDER_TEXTS = {
	saml_entity_id:
		"The entity ID of the SAML provider, at most 512 characters. Null or empty for none.",
	saml_acs_url:
		"The URL at the SAML provider that sign-in requests go to, at most 512 characters. It isn't the ACS URL of this service, which the provider needs. Null or empty for none.",
	saml_x509_cert:
		"The X.509 certificate of the SAML provider, with an RSA key, or two of them while the provider changes it: PEM, or base64 with an empty line or a comma between them. Null or empty for none.",
	saml_idp_initiated:
		"Whether people can also start to sign in at the SAML provider. Less safe: someone can be signed in to another person's account without noticing.",
	oidc_issuer:
		"The issuer of the OpenID provider, exactly as the provider writes it: an https URL of at most 512 characters. Null or empty for none.",
	oidc_client_id:
		"The client ID at the OpenID provider, at most 512 characters. Null or empty for none.",
};

const SSO_ENFORCEMENTS = ["", ...METHODS] as const;

/** The levels that new people of a domain can get. */
const JIT_LEVELS = [MEMBER, ADMIN] as const;

/** A domain (docs/organizations.md#domains). */
export const Domain = z
	.object({
		id: z.guid().describe("Identifies the domain, in paths too."),
		domain: z.string().describe("The domain name, in lower case. Unique across all organizations."),
		is_verified: z
			.boolean()
			.describe("Whether the organization has proved that it owns the domain."),
		verified_at: timestamp().nullable().describe("When the domain was verified; null if it isn't."),
		verification_challenge: z
			.string()
			.describe(
				"The text of 43 characters to publish as a TXT record at `_tenantry-challenge.<domain>`. Stays the same until an unverified domain is renamed.",
			),
		jit_provisioning_enabled: z.boolean().describe(`${JIT_TEXT} False for a new domain.`),
		jit_provisioning_level: documentAs(z.int(), z.literal(JIT_LEVELS)).describe(JIT_LEVEL_TEXT),
		sso_enforcement: documentAs(z.string(), z.enum(SSO_ENFORCEMENTS)).describe(
			`${SSO_TEXT}\n\nEmpty for a new domain.`,
		),
		has_saml: z.boolean().describe("Whether all three SAML fields are set."),
		saml_entity_id: z.string().nullable().describe(PROVIDER_TEXTS.saml_entity_id),
		saml_acs_url: z.string().nullable().describe(PROVIDER_TEXTS.saml_acs_url),
		saml_x509_cert: z.string().nullable().describe(PROVIDER_TEXTS.saml_x509_cert),
		saml_idp_initiated: z.boolean().describe(PROVIDER_TEXTS.saml_idp_initiated),
		has_oidc: z.boolean().describe("Whether all three OpenID Connect fields are set."),
		oidc_issuer: z.string().nullable().describe(PROVIDER_TEXTS.oidc_issuer),
		oidc_client_id: z.string().nullable().describe(PROVIDER_TEXTS.oidc_client_id),
		oidc_client_secret: z
			.string()
			.nullable()
			.describe(`${SECRET_TEXT}: \`**************** SECRET ****************\`, or null for none.`),
		break_glass: z.array(z.guid()).describe(BREAK_GLASS_TEXT),
	})
	.meta({ id: "Domain" });

/** A domain, and why it was not verified; null if it was. */
export const Verified = Domain.extend({
	verification_error: z
		.string()
		.nullable()
		.describe(
			"Why the domain isn't verified, as text for people: what the DNS returned instead of the challenge, or that it didn't respond. Null if the domain is verified now.",
		),
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
	search: rawText(200)
		.optional()
		.describe("Only domains whose name contains this text, in any case. At most 200 characters."),
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
	domain: domain.describe(NAME_TEXT),
	saml_entity_id: text(512).nullable().optional().describe(PROVIDER_TEXTS.saml_entity_id),
	saml_acs_url: text(512).nullable().optional().describe(PROVIDER_TEXTS.saml_acs_url),
	saml_x509_cert: certificate.nullable().optional().describe(PROVIDER_TEXTS.saml_x509_cert),
	saml_metadata: longText(MAX_METADATA_BYTES)
		.nullable()
		.optional()
		.describe(
			"The metadata of the SAML provider: XML of at most 262,144 bytes, or its https URL. It fills in `saml_entity_id`, `saml_acs_url` and `saml_x509_cert`, unless the body has them, and isn't stored. Null or empty for none.",
		),
	saml_idp_initiated: boolean().optional().describe(PROVIDER_TEXTS.saml_idp_initiated),
	oidc_issuer: issuer.nullable().optional().describe(PROVIDER_TEXTS.oidc_issuer),
	oidc_client_id: text(512).nullable().optional().describe(PROVIDER_TEXTS.oidc_client_id),
	oidc_client_secret: rawText(512)
		.nullable()
		.optional()
		.describe(`${SECRET_TEXT}, at most 512 characters. Null or empty for none.`),
});

export const update = z.object({
	domain: domain
		.optional()
		.describe(`${NAME_TEXT} Can be changed only until the domain is verified.`),
	jit_provisioning_enabled: boolean()
		.optional()
		.describe(`${JIT_TEXT} The domain has to be verified.`),
	jit_provisioning_level: integerChoice(JIT_LEVELS).optional().describe(JIT_LEVEL_TEXT),
	sso_enforcement: text(28)
		.pipe(z.enum(SSO_ENFORCEMENTS))
		.optional()
		.describe(
			`${SSO_TEXT}\n\nThe domain has to be verified, and you must have signed in in this way. \`saml\` and \`oidc\` require all three fields of the provider, which can't be emptied while it is enforced.`,
		),
	break_glass: set(uuid(), MAX_BREAK_GLASS).optional().describe(BREAK_GLASS_TEXT),
	...create.omit({ domain: true }).shape,
	oidc_client_secret: create.shape.oidc_client_secret.describe(
		`${SECRET_TEXT}, at most 512 characters. Null or the mask keeps the stored one; empty removes it.`,
	),
});
