import * as z from "zod";
import { rawText } from "../../http/fields.ts";
import { bucketName, compressible, endpoint, file, header } from "./fields.ts";

/** The config of a Google Cloud Storage destination (docs/exports.md#destinations). */
export const config = z
	.object({
		bucket_name: bucketName(),
		...file,
		hmac_access_id: header(255).min(1).nullish(),
		hmac_secret: rawText(255).min(1).nullish(),
		endpoint_url: endpoint(),
	})
	.check(compressible);

/** The two halves of a key, which are both secret. */
export const KEY = ["hmac_access_id", "hmac_secret"];
