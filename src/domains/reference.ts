import type { Reference } from "../http/reference.ts";
import type domains from "./routes.ts";

const reference: Reference<typeof domains> = {
	tag: {
		name: "Domains",
		description:
			"Email domains of an organization, with their settings for single sign-on. A domain is a claim until it is verified through the DNS.",
	},
	operations: {
		"/": {
			get: {
				id: "listDomains",
				summary: "List the domains",
				description: "Lists the organization's domains by name. Any member may do so.",
			},
			post: {
				id: "createDomain",
				summary: "Add a domain",
				description:
					"Requires level 8. The answer has the `verification_challenge` to publish in the DNS. A domain belongs to one organization only; an unverified claim that is older than three days gives way to yours.",
				errors: { unique: "Some organization has the domain already." },
			},
		},
		"/:id": {
			get: {
				id: "getDomain",
				summary: "Retrieve a domain",
				description: "Answers with the domain. Any member may read it.",
			},
			patch: {
				id: "updateDomain",
				summary: "Change a domain",
				description:
					"Requires level 8. Single sign-on can be set up once the domain is verified. Renaming an unverified domain makes a new challenge; a verified one can't be renamed.",
				errors: {
					unique: "Some organization has the domain already.",
					verification_required: "Only a verified domain can have this setting.",
				},
			},
			delete: {
				id: "deleteDomain",
				summary: "Delete a domain",
				description: "Requires level 8. Other organizations may add the domain afterwards.",
			},
		},
		"/:id/verify": {
			post: {
				id: "verifyDomain",
				summary: "Verify a domain",
				description:
					"Requires level 8. Looks for the `verification_challenge` in a TXT record at `_tenantry-challenge.<domain>`. The answer is a 200 in either case: if the domain wasn't verified, `verification_error` says what was found.",
				errors: { already_verified: "The domain has been verified before." },
			},
		},
	},
};
export default reference;
