import { describe, type OpenApi } from "../../http/openapi.ts";
import type identities from "./routes.ts";
import { Identity } from "./shape.ts";

export default {
	tag: {
		name: "Identities",
		description: "Your accounts at providers, with which you can sign in.",
	},
	operations: {
		"GET /": {
			id: "listIdentities",
			summary: "List your accounts at providers",
			description: "Lists the accounts that sign you in, by connection.",
		},
		"DELETE /:id": {
			id: "deleteIdentity",
			summary: "Remove an account at a provider",
			description:
				"The account no longer signs you in, and the sessions that it started end. If your domain still signs people in through the provider, your next sign-in there links an account again.",
		},
	},
} satisfies OpenApi<typeof identities>;

describe(Identity, {
	id: "The connection: `google-oauth2`, `github`, `gitlab`, or `oidc:` or `saml:` with the id of a domain.",
	method: "The kind of the connection: `google-oauth2`, `github`, `gitlab`, `oidc` or `saml`.",
	email: "The email address that the provider reported when the account was linked.",
	organization_name:
		"The organization of the connection's domain; null for Google, GitHub and GitLab.",
	created_at: "When the account was linked.",
	last_used_at: "When it last signed you in after it was linked; null if never.",
});
