import { describe, type OpenApi } from "../../http/openapi.ts";
import type identities from "./routes.ts";
import type { ofMember as OfMember } from "./routes.ts";
import { Identity } from "./shape.ts";

const tag = {
	name: "Identities",
	description: "The accounts at providers with which people can sign in.",
};

export default {
	tag,
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

export const ofMember = {
	tag,
	operations: {
		"GET /": {
			id: "listMemberIdentities",
			summary: "List the accounts of a member at providers",
			description:
				"Lists the accounts that sign a member in through the domains of the organization: at the provider of a domain and, if the member's address is in a verified domain, at Google, GitHub and GitLab. This also works for people who are no longer members. Requires level 8.",
		},
		"DELETE /:id": {
			id: "deleteMemberIdentity",
			summary: "Unlink an account of a member at a provider",
			description:
				"The account no longer signs the member in, and the sessions that it started end. The member gets a mail. The next sign-in through the provider links an account again, for example that of somebody who was hired again. Requires level 8, and at least the member's level.",
		},
	},
} satisfies OpenApi<typeof OfMember>;

describe(Identity, {
	id: "The connection: `google-oauth2`, `github`, `gitlab`, or `oidc:` or `saml:` with the id of a domain.",
	method: "The kind of the connection: `google-oauth2`, `github`, `gitlab`, `oidc` or `saml`.",
	email: "The email address that the provider reported when the account was linked.",
	organization_name:
		"The organization of the connection's domain; null for Google, GitHub and GitLab.",
	created_at: "When the account was linked.",
	last_used_at: "When it last signed you in after it was linked; null if never.",
});
