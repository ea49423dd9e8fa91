import * as z from "zod";
import { explain, rawText, text } from "../../http/fields.ts";
import { METHODS } from "../../people/connections.ts";
import { PROBLEMS } from "../provider/problems.ts";
import { Verified } from "../provider/shape.ts";

export const plan = z.object({
	method: explain(text(28).pipe(z.enum(METHODS)), "Which connection.", {
		oidc: "The OpenID Connect provider of the domain.",
		saml: "The SAML provider of the domain.",
		"google-oauth2": "Google.",
		github: "GitHub.",
		gitlab: "GitLab.",
	}),
});

export const PlannedTest = z
	.object({ url: z.url().describe("Where to continue in a browser.") })
	.meta({ id: "SignInTestPlan" });

export const complete = z.object({
	token: rawText(100).min(1).describe("The token after `#tested=`."),
});

/** The result of a test (docs/sign-on.md#testing-a-connection). */
export const SignInTestResult = z
	.object({
		success: z.boolean().describe("Whether all checks passed."),
		steps: z
			.array(
				z.object({
					name: z.string().describe("What was checked: the code of the problem that it finds."),
					error: z.string().nullable().describe("Why the check failed; null if it passed."),
					warning: z.string().nullable().describe("Always null."),
				}),
			)
			.describe("The checks up to the first one that failed."),
		claims: z
			.record(z.string(), z.unknown())
			.nullable()
			.describe("Everything that the provider said; null if there was no valid response."),
		is_linked: z.boolean().describe("Whether the account at the provider is linked to your user."),
	})
	.meta({ id: "SignInTestResult" });

const about = { user_id: z.number(), domain_id: z.string() };

/** The result of a test, until it is read. */
export const Tested = z.union([
	z.object({ ...about, who: Verified }),
	z.object({
		...about,
		problem: z.enum(PROBLEMS),
		detail: z.string(),
		claims: Verified.shape.claims.optional(),
	}),
]);
