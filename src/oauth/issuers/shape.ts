import * as z from "zod";
import { scopes } from "../../access/scopes.ts";
import { integer, issue, name, record, set, text, timestamp } from "../../http/fields.ts";
import { documentAs } from "../../http/router.ts";
import { INVALID_ISSUER, isIssuer } from "../../organizations/domains/issuer.ts";
import { isSubject } from "./subject.ts";

const NAME_TEXT = "What the trust is for, in your own words. Its keys have this label.";

const ISSUER_TEXT =
	"The URL of the issuer, exactly as in the claim `iss` of its tokens. It must have a discovery (`/.well-known/openid-configuration`).";

const AUDIENCE_TEXT = "The only value of the claim `aud` in its tokens";

const SUBJECT_TEXT =
	"The claim `sub` of its tokens, such as `repo:owner/repository:ref:refs/heads/main`. A `*` at the end, after at least two parts that end with `:` or `/`, stands for any text.";

const CLAIMS_TEXT = "Further claims of its tokens, by name, with the exact text of each.";

const SCOPES_TEXT = "The permissions of the keys: `<object>:read`, `<object>:write` or `*`.";

const PROJECTS_TEXT =
	"The integer ids of the projects that the keys can access. An empty list means all that the account can see.";

/** docs/oauth.md#jobs-without-keys. */
export const TrustedIssuer = z
	.object({
		id: z
			.guid()
			.describe(
				"Identifies the trusted issuer, in paths and as the `client_id` of the exchange. It isn't secret.",
			),
		name: z.string().describe(NAME_TEXT),
		issuer: z.string().describe(ISSUER_TEXT),
		audience: z.string().describe(`${AUDIENCE_TEXT}.`),
		subject: z.string().describe(SUBJECT_TEXT),
		claims: z.record(z.string(), z.string()).describe(CLAIMS_TEXT),
		scopes: z.array(documentAs(z.string(), z.enum(scopes))).describe(SCOPES_TEXT),
		scoped_projects: z.array(z.int()).describe(PROJECTS_TEXT),
		created_at: timestamp().describe("When the account began to trust the issuer."),
		last_used_at: timestamp()
			.nullable()
			.describe("When a token was last exchanged, to within an hour; null if none was."),
	})
	.meta({ id: "TrustedIssuer" });

const MAX_CLAIMS = 20;

const claims = record(text(500), text(100).min(1)).check(({ value, issues }) => {
	if (Object.keys(value).length > MAX_CLAIMS)
		issues.push(
			issue(value, "max_length", `Ensure this field has no more than ${MAX_CLAIMS} elements.`),
		);
});

export const create = z.object({
	name: name(40).describe(`${NAME_TEXT} At most 40 characters.`),
	issuer: text(512).refine(isIssuer, { error: INVALID_ISSUER }).describe(ISSUER_TEXT),
	audience: text(500)
		.min(1)
		.optional()
		.describe(`${AUDIENCE_TEXT}; by default, the URL of this service.`),
	subject: text(500)
		.min(1)
		.refine(isSubject, {
			error: "A * can only be at the end, after two parts that end with : or /.",
		})
		.describe(SUBJECT_TEXT),
	claims: claims.optional().describe(`${CLAIMS_TEXT} At most 20; empty by default.`),
	scopes: set(text().pipe(z.enum(scopes)), 100)
		.min(1)
		.describe(`${SCOPES_TEXT} At least one.`),
	scoped_projects: set(integer(), 100)
		.optional()
		.describe(`${PROJECTS_TEXT} At most 100; empty by default.`),
});

export const update = create
	.extend({ audience: create.shape.audience.describe(`${AUDIENCE_TEXT}.`) })
	.partial();
