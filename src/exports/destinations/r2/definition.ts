import * as z from "zod";
import { defineBucket } from "../definition.ts";
import { choiceOf, compressible, file } from "../fields.ts";

/** The worker's own bucket. */
export const r2 = defineBucket({
	title: "Tenantry's bucket (R2)",
	config: z
		.object({
			...file,
			encryption: choiceOf("R2 encrypts all objects.", {
				AES256: "with a key of the storage service.",
			}),
		})
		.check(compressible),
	place: "prefix",
	secrets: [],
	server: null,
	test: ["write", "remove"],
	url: null,
});
