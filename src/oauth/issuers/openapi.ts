import { describe, type OpenApi } from "../../http/openapi.ts";
import { SECTION } from "../../people/service_accounts/shape.ts";
import type trustedIssuers from "./routes.ts";
import { create, TrustedIssuer, update } from "./shape.ts";

const INVALID =
	"The issuer has no https URL on the public internet, or `subject` has a `*` that isn't at its end after two parts.";
const CANT_SEE = "The account can't see a project in the restrictions. `attr` has its position.";
const AT_MOST =
	"You can't trust an issuer with more permissions than the key in use has, or with a key that expires: that is a 403.";

export default {
	tag: SECTION,
	operations: {
		"GET /": {
			id: "listTrustedIssuers",
			summary: "List the issuers that an account trusts",
			description:
				"Lists the issuers whose tokens are exchanged for keys of the account, newest first. Requires level 8.",
		},
		"POST /": {
			id: "createTrustedIssuer",
			summary: "Trust an issuer",
			description: `A program with a token of this issuer, for example a job of GitHub Actions, then gets a key of the account for 15 minutes from \`/oauth/token\`, with the \`id\` as \`client_id\`. Requires level 8. ${AT_MOST}`,
			errors: { does_not_exist: CANT_SEE, invalid_input: INVALID },
		},
		"GET /:id": {
			id: "getTrustedIssuer",
			summary: "Retrieve a trusted issuer",
			description: "Returns the issuer, and what its tokens are exchanged for. Requires level 8.",
		},
		"PATCH /:id": {
			id: "updateTrustedIssuer",
			summary: "Change a trusted issuer",
			description: `Requires level 8. A change of anything but the name ends the keys that were given before. ${AT_MOST}`,
			errors: { does_not_exist: CANT_SEE, invalid_input: INVALID },
		},
		"DELETE /:id": {
			id: "deleteTrustedIssuer",
			summary: "Stop trusting an issuer",
			description: "Requires level 8. The keys that its tokens were exchanged for stop working.",
		},
	},
} satisfies OpenApi<typeof trustedIssuers>;

const NAME = "What the trust is for, in your own words. Its keys have this label.";
const ISSUER =
	"The URL of the issuer, exactly as in the claim `iss` of its tokens. It must have a discovery (`/.well-known/openid-configuration`).";
const AUDIENCE = "The only value of the claim `aud` in its tokens";
const SUBJECT =
	"The claim `sub` of its tokens, such as `repo:owner/repository:ref:refs/heads/main`. A `*` at the end, after at least two parts that end with `:` or `/`, stands for any text.";
const CLAIMS = "Further claims of its tokens, by name, with the exact text of each.";
const SCOPES = "The permissions of the keys: `<object>:read`, `<object>:write` or `*`.";
const PROJECTS =
	"The integer ids of the projects that the keys can access. An empty list means all that the account can see.";

const bodies = {
	name: `${NAME} At most 40 characters.`,
	issuer: ISSUER,
	subject: SUBJECT,
	claims: `${CLAIMS} At most 20; empty by default.`,
	scopes: `${SCOPES} At least one.`,
	scoped_projects: `${PROJECTS} At most 100; empty by default.`,
};

describe(create, { ...bodies, audience: `${AUDIENCE}; by default, the URL of this service.` });

describe(update, { ...bodies, audience: `${AUDIENCE}.` });

describe(TrustedIssuer, {
	id: "Identifies the trusted issuer, in paths and as the `client_id` of the exchange. It isn't secret.",
	name: NAME,
	issuer: ISSUER,
	audience: `${AUDIENCE}.`,
	subject: SUBJECT,
	claims: CLAIMS,
	scopes: SCOPES,
	scoped_projects: PROJECTS,
	created_at: "When the account began to trust the issuer.",
	last_used_at: "When a token was last exchanged, to within an hour; null if none was.",
});
