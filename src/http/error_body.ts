import * as z from "zod";
import { documentAs } from "./router.ts";

/** The body of every error response (docs/api.md#errors). Only its type is part of the worker. */
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
		/** The values that a choice may have. */
		choices: z
			.array(z.union([z.string(), z.number()]))
			.readonly()
			.optional(),
	})
	.meta({ id: "Error" });
