import * as z from "zod";
import { boolean, choice, issue, rawText, text } from "../../http/fields.ts";
import { bucketName, compressible, endpoint, file, header } from "./fields.ts";

/** The config of an S3 destination (docs/exports.md#destinations). */
export const config = z
	.object({
		bucket_name: bucketName(),
		region: text(100)
			.min(1)
			.regex(/^[\w-]+$/, "The name of a region can only have letters, digits and hyphens."),
		...file,
		encryption: choice(["AES256", "aws:kms"]).nullish(),
		kms_key_id: header(2048).min(1).nullish(),
		aws_access_key_id: header(255).min(1).nullish(),
		aws_secret_access_key: rawText(255).min(1).nullish(),
		/** For temporary keys. */
		aws_session_token: header(4096).min(1).nullish(),
		endpoint_url: endpoint(),
		use_virtual_style_addressing: boolean().nullish(),
	})
	.check(compressible, ({ value, issues }) => {
		const { encryption, kms_key_id, endpoint_url, bucket_name } = value;
		if (kms_key_id && encryption !== "aws:kms")
			issues.push({
				...issue(kms_key_id, "invalid_input", 'A KMS key requires the encryption "aws:kms".'),
				path: ["kms_key_id"],
			});
		// An endpoint that isn't a URL has its own error.
		const endpoint = URL.parse(endpoint_url ?? "");
		if (
			value.use_virtual_style_addressing &&
			endpoint &&
			!URL.canParse(`http://${bucket_name}.${endpoint.host}`)
		)
			issues.push({
				...issue(
					true,
					"invalid_input",
					"The bucket's name and the endpoint don't form a valid host name.",
				),
				path: ["use_virtual_style_addressing"],
			});
	});

/** The two halves of a key. */
export const KEY = ["aws_access_key_id", "aws_secret_access_key"];

export const SECRETS = [...KEY, "aws_session_token"];
