import * as z from "zod";
import { choice, explain } from "../../../http/fields.ts";
import { defineBucket } from "../definition.ts";
import { compressible, file } from "../fields.ts";

/** The worker's own bucket. */
export const r2 = defineBucket({
	title: "Tenantry's bucket (R2)",
	config: z
		.object({
			...file,
			encryption: explain(choice(["AES256"]).nullish(), "R2 encrypts all objects.", {
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
