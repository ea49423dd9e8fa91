import * as z from "zod";

export const TestResult = z
	.object({
		success: z.boolean(),
		steps: z.array(
			z.object({ name: z.string(), error: z.string().nullable(), warning: z.string().nullable() }),
		),
	})
	.meta({ id: "BatchExportTrial" });
