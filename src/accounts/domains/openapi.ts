import { describe, type OpenApi } from "../../http/openapi.ts";
import type domains from "./routes.ts";
import { create, Domain, filters, update, Verified } from "./shape.ts";

const TAKEN =
	"The domain already belongs to your organization, or to another one that has verified it or added it within the last three days.";

export default {
	tag: {
		name: "Domains",
		description:
			"Email domains of an organization, with their settings for single sign-on. A domain is only a claim until it is verified with a DNS record. The settings are for the service that signs people in through providers. Here, a domain that enforces single sign-on prevents people from signing in by mail.",
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
					"`domain` isn't a valid name in lower case, or anyone can register names under it, as with `co.uk`.",
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
				"Requires level 8. Fields that aren't in the body don't change. `jit_provisioning_enabled` and `sso_enforcement` can be set once the domain is verified. Renaming an unverified domain makes a new `verification_challenge`. Returns the domain.",
			errors: {
				unique: TAKEN,
				verification_required: "Only a verified domain can have this setting.",
				invalid_input:
					"A verified domain can't be renamed: delete it and add the other one. Or `sso_enforcement` is `saml`, and one of the three SAML fields would be empty.",
			},
		},
		"DELETE /:id": {
			id: "deleteDomain",
			summary: "Delete a domain",
			description:
				"Requires level 8. Also deletes its settings. After that, other organizations can add the domain.",
		},
		"POST /:id/verify": {
			id: "verifyDomain",
			summary: "Verify a domain",
			description:
				"Requires level 8. Looks for the `verification_challenge` in the TXT records of `_tenantry-challenge.<domain>`. The response is a 200 in either case. If the domain wasn't verified, `verification_error` says what was found. Try again after you have changed the DNS.",
			errors: { already_verified: "The domain is already verified." },
		},
	},
} satisfies OpenApi<typeof domains>;

const NAME =
	"A domain name such as `example.com`, in lower case and of at most 128 characters. It must be a registrable domain or a subdomain of one. Unique across all organizations.";
const JIT =
	"Just-in-time provisioning: whether someone who signs in for the first time with an email address of this domain joins the organization.";
const SSO = `How people with an email address of this domain have to sign in:

- empty: in any way.
- \`saml\`: through the organization's own SAML identity provider.
- \`google-oauth2\`, \`github\`, \`gitlab\`: with an account there.`;
const SAML = {
	saml_entity_id: "The SAML entity ID, at most 512 characters. Null or empty for none.",
	saml_acs_url:
		"The URL of the SAML assertion consumer service, at most 512 characters. Null or empty for none.",
	saml_x509_cert:
		"The X.509 certificate for SAML, as text, which the service doesn't check. Null or empty for none.",
};

describe(create, { domain: NAME, ...SAML });

describe(
	update,
	{
		domain: `${NAME} Can be changed only until the domain is verified.`,
		jit_provisioning_enabled: `${JIT} The domain has to be verified.`,
		sso_enforcement: `${SSO}\n\nThe domain has to be verified. \`saml\` requires all three SAML fields, which can't be emptied while it is set.`,
	},
	create.omit({ domain: true }),
);

describe(Domain, {
	id: "Identifies the domain, in paths too.",
	domain: "The domain name, in lower case. Unique across all organizations.",
	is_verified: "Whether the organization has proved that it owns the domain.",
	verified_at: "When the domain was verified; null if it isn't.",
	verification_challenge:
		"The text of 43 characters to publish as a TXT record at `_tenantry-challenge.<domain>`. Stays the same until an unverified domain is renamed.",
	jit_provisioning_enabled: `${JIT} False for a new domain.`,
	sso_enforcement: `${SSO}\n\nEmpty for a new domain.`,
	has_saml: "Whether all three SAML fields are set.",
	...SAML,
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
