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
		),
		code: z.string(),
		detail: z.string(),
		attr: z.string().nullable(),
		/** The allowed values of the field, if it has a fixed set. */
		choices: z
			.array(z.union([z.string(), z.number()]))
			.readonly()
			.optional(),
	})
	.meta({ id: "Error" });
