import * as z from "zod";
import { documentAs } from "./router.ts";

/** The body of every error response (docs/api.md#errors). The worker uses only its type. */
export const ErrorBody = z
	.object({
		type: documentAs(
			z.string(),
			z.enum([
				"validation_error",
				"invalid_request",
				"authentication_error",
				"throttled_error",
				"server_error",
			]),
		).describe("The kind of error."),
		code: z.string().describe("The error code, for programs."),
		detail: z.string().describe("The error message, for people."),
		attr: z
			.string()
			.nullable()
			.describe(
				"The field or parameter that is wrong, with two underscores between nested names; null if it isn't about a single one.",
			),
		choices: z
			.array(z.union([z.string(), z.number()]))
			.readonly()
			.optional()
			.describe("The values that are allowed, if `code` is `invalid_choice`."),
	})
	.meta({ id: "Error" });
