import { describe, type OpenApi } from "../../http/openapi.ts";
import type domains from "./routes.ts";
import { create, Domain, filters, update, Verified } from "./shape.ts";

const TAKEN =
	"The domain already belongs to your organization, or to another one that has verified it or added it within the last three days.";

export default {
	tag: {
		name: "Domains",
		description:
			"Email domains of an organization, with their settings for single sign-on. A domain is only a claim until it is verified with a DNS record. Then, people with its email addresses can sign in through the organization's own SAML or OpenID provider, and the organization can require that they sign in in one way only.",
	},
	operations: {
		"GET /": {
			id: "listDomains",
			summary: "List the domains",
			description: "Lists the organization's domains by name. Any member may do so.",
		},
		"POST /": {
			id: "createDomain",
			summary: "Add a domain",
			description:
				"Requires level 8. The response has the `verification_challenge` to publish in the DNS. A domain belongs to one organization only. Adding it replaces another organization's unverified claim that is older than three days.",
			errors: {
				unique: TAKEN,
				invalid_input:
					"`domain` isn't a valid name, or anyone can register names under it, as with `co.uk`. Or the certificate, the metadata or the issuer is invalid, for example because the issuer's discovery names another one.",
			},
		},
		"GET /:id": {
			id: "getDomain",
			summary: "Retrieve a domain",
			description: "Returns the domain. Any member may read it.",
		},
		"PATCH /:id": {
			id: "updateDomain",
			summary: "Change a domain",
			description:
				"Requires level 8, and `break_glass` 15. Fields that aren't in the body don't change. `jit_provisioning_enabled` and `sso_enforcement` can be set once the domain is verified. Setting `sso_enforcement` ends the sessions of everyone with an address of the domain who signed in in another way, which may include yours. Another `saml_entity_id` or `oidc_issuer`, or removing a provider, unlinks everyone's accounts at the former provider and ends the sessions that came through it. Renaming an unverified domain makes a new `verification_challenge`. Returns the domain.",
			errors: {
				unique: TAKEN,
				verification_required: "Only a verified domain can have this setting.",
				sign_in_not_tested:
					"You haven't signed in in the way of `sso_enforcement`. Or the provider that is enforced would be replaced: first stop enforcing it.",
				does_not_exist:
					"A user in `break_glass` isn't an active member with an address of the domain.",
				required: "Another `oidc_issuer` needs its `oidc_client_secret`.",
				invalid_input:
					"A verified domain can't be renamed: delete it and add the other one. Or a field of the provider in `sso_enforcement` would be empty. Or the certificate, the metadata or the issuer is invalid, for example because the issuer's discovery names another one.",
			},
		},
		"DELETE /:id": {
			id: "deleteDomain",
			summary: "Delete a domain",
			description:
				"Requires level 8. Also deletes its settings, unlinks everyone's accounts at its providers, and ends the sessions that came through them. After that, other organizations can add the domain.",
		},
		"POST /:id/verify": {
			id: "verifyDomain",
			summary: "Verify a domain",
			description:
				"Requires level 8. Looks for the `verification_challenge` in the TXT records of `_tenantry-challenge.<domain>`, ignoring quotes and white space around it. The response is a 200 in either case. If the domain wasn't verified, `verification_error` says what was found. Try again after you have changed the DNS.",
			errors: { already_verified: "The domain is already verified." },
		},
	},
} satisfies OpenApi<typeof domains>;

const NAME =
	"A domain name such as `example.com`, in any case and of at most 128 characters. It must be a registrable domain or a subdomain of one. An internationalized name is in its ASCII form, such as `xn--e1afmkfd.xn--p1ai`. Unique across all organizations.";
const JIT =
	"Just-in-time provisioning: whether someone who signs in for the first time with an email address of this domain joins the organization.";
const JIT_LEVEL =
	"The level of the members that just-in-time provisioning adds: 1 (member) or 8 (admin).";
const SSO = `How people with an email address of this domain have to sign in:

- empty: in any way.
- \`saml\`: through the domain's SAML provider.
- \`oidc\`: through the domain's OpenID provider.
- \`google-oauth2\`, \`github\`, \`gitlab\`: with an account there.`;
const BREAK_GLASS =
	"The UUIDs of at most two members with an address of the domain who can also sign in with a link by mail and a second factor, for when the provider fails.";
const PROVIDERS = {
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
const METADATA =
	"The metadata of the SAML provider: XML of at most 262,144 bytes, or its https URL. It fills in `saml_entity_id`, `saml_acs_url` and `saml_x509_cert`, unless the body has them, and isn't stored. Null or empty for none.";
const SECRET = "The client secret at the OpenID provider";

describe(create, {
	domain: NAME,
	...PROVIDERS,
	saml_metadata: METADATA,
	oidc_client_secret: `${SECRET}, at most 512 characters. Null or empty for none.`,
});

describe(
	update,
	{
		domain: `${NAME} Can be changed only until the domain is verified.`,
		jit_provisioning_enabled: `${JIT} The domain has to be verified.`,
		jit_provisioning_level: JIT_LEVEL,
		sso_enforcement: `${SSO}\n\nThe domain has to be verified, and you must have signed in in this way. \`saml\` and \`oidc\` require all three fields of the provider, which can't be emptied while it is enforced.`,
		oidc_client_secret: `${SECRET}, at most 512 characters. Null or the mask keeps the stored one; empty removes it.`,
		break_glass: BREAK_GLASS,
	},
	create.omit({ domain: true, oidc_client_secret: true }),
);

describe(Domain, {
	id: "Identifies the domain, in paths too.",
	domain: "The domain name, in lower case. Unique across all organizations.",
	is_verified: "Whether the organization has proved that it owns the domain.",
	verified_at: "When the domain was verified; null if it isn't.",
	verification_challenge:
		"The text of 43 characters to publish as a TXT record at `_tenantry-challenge.<domain>`. Stays the same until an unverified domain is renamed.",
	jit_provisioning_enabled: `${JIT} False for a new domain.`,
	jit_provisioning_level: JIT_LEVEL,
	sso_enforcement: `${SSO}\n\nEmpty for a new domain.`,
	has_saml: "Whether all three SAML fields are set.",
	has_oidc: "Whether all three OpenID Connect fields are set.",
	...PROVIDERS,
	oidc_client_secret: `${SECRET}: \`**************** SECRET ****************\`, or null for none.`,
	break_glass: BREAK_GLASS,
});

describe(
	Verified,
	{
		verification_error:
			"Why the domain isn't verified, as text for people: what the DNS returned instead of the challenge, or that it didn't respond. Null if the domain is verified now.",
	},
	Domain,
);

describe(filters, {
	search: "Only domains whose name contains this text, in any case. At most 200 characters.",
});
