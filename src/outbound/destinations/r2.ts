import * as z from "zod";
import { choice } from "../../http/fields.ts";
import { compressible, file } from "./fields.ts";

/** The config of an R2 destination (docs/exports.md#destinations). */
export const config = z
	.object({
		...file,
		/** R2 encrypts all objects this way. */
		encryption: choice(["AES256"]).nullish(),
	})
	.check(compressible);
