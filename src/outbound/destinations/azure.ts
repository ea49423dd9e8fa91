import * as z from "zod";
import { rawText, text } from "../../http/fields.ts";
import { compressible, endpoint, file } from "./fields.ts";

const NOT_A_TOKEN = "A SAS token is the part of a SAS URL after the question mark.";

/** The config of an Azure Blob Storage destination (docs/exports.md#destinations). */
export const config = z
	.object({
		container_name: text(63)
			.regex(
				/^[a-z0-9]+(-[a-z0-9]+)*$/,
				"The name of a container can only have lowercase letters, digits and single hyphens.",
			)
			.refine((value) => value.length >= 3, {
				error: "The name of a container must have at least 3 characters.",
			})
			.meta({ minLength: 3 }),
		...file,
		account_name: text(24).regex(
			/^[a-z0-9]{3,24}$/,
			"The name of a storage account must have 3 to 24 lowercase letters and digits.",
		),
		account_key: rawText(255)
			.min(1)
			.pipe(z.base64("An account key must be in Base64."))
			.meta({ maxLength: 255 })
			.nullish(),
		/** The query string of a URL with a shared access signature. */
		sas_token: rawText(4096)
			.min(1)
			.regex(/^[\w.~%!$&'()*+,;=:@/?-]+$/, NOT_A_TOKEN)
			.refine((token) => /(?:^\??|&)sig=./.test(token), NOT_A_TOKEN)
			.nullish(),
		endpoint_url: endpoint(),
	})
	.check(compressible);

export const SECRETS = ["account_key", "sas_token"];

/** Returns the URL of a storage account's blob service. */
export const endpointOf = ({
	account_name,
	endpoint_url,
}: {
	account_name: string;
	endpoint_url?: string | null | undefined;
}) => new URL(endpoint_url ?? `https://${account_name}.blob.core.windows.net`);
