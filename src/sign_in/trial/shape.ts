import * as z from "zod";
import { rawText, text } from "../../http/fields.ts";
import { METHODS } from "../../organizations/domains/connections.ts";
import { TestResult } from "../../outbound/steps.ts";
import { PROBLEMS } from "../provider/problems.ts";
import { Verified } from "../provider/shape.ts";

export const plan = z.object({ method: text(28).pipe(z.enum(METHODS)) });

export const PlannedTest = z.object({ url: z.url() }).meta({ id: "SignInTestPlan" });

export const complete = z.object({ token: rawText(100).min(1) });

/** The result of a test (docs/sign-on.md#testing-a-connection). */
export const SignInTestResult = TestResult.extend({
	claims: z.record(z.string(), z.unknown()).nullable(),
	is_linked: z.boolean(),
}).meta({ id: "SignInTestResult" });

const about = { user_id: z.number(), domain_id: z.string() };

/** What is kept of a test until its result is asked for. */
export const Tested = z.union([
	z.object({ ...about, who: Verified }),
	z.object({
		...about,
		problem: z.enum(PROBLEMS),
		detail: z.string(),
		claims: Verified.shape.claims.optional(),
	}),
]);
