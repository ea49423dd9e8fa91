import * as z from "zod";
import { isRsaPrivateKey } from "../../auth/private_key.ts";
import { boolean, rawText, text } from "../../http/fields.ts";
import { endpoint, filters, url } from "./fields.ts";

/** The config of a BigQuery destination (docs/exports.md#destinations). */
export const config = z.object({
	project_id: text(255)
		.min(1)
		.regex(/^[\w.:-]+$/, "A project ID can only have letters, digits, hyphens, dots and colons."),
	dataset_id: text(1024)
		.min(1)
		.regex(/^\w+$/, "A dataset ID can only have letters, digits and underscores."),
	client_email: text(255)
		.min(1)
		.regex(/^[^\s@]+@[^\s@]+$/, "Enter a valid email address."),
	/** Line breaks may be written as \n, as in the JSON file of a key. */
	private_key: rawText(8192)
		.min(1)
		.overwrite((value) => value.replaceAll("\\n", "\n"))
		.refine(isRsaPrivateKey, {
			error:
				"Enter an RSA private key in PEM (PKCS#8), as in the field private_key of a service account's JSON key.",
		}),
	private_key_id: text(255).min(1).nullish(),
	token_uri: url().nullish(),
	table_id: text(1024)
		.min(1)
		.refine((value) => /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]*$/u.test(value), {
			error: "A table ID can only have letters, digits, underscores, hyphens and spaces.",
		})
		.nullish(),
	use_json_type: boolean().nullish(),
	/** The URL of the API, for tests and private endpoints. */
	endpoint_url: endpoint(),
	...filters,
});

export const SECRETS = ["private_key"];
