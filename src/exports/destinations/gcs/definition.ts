import * as z from "zod";
import { rawText } from "../../../http/fields.ts";
import { defineBucket, originOf } from "../definition.ts";
import { bucketName, compressible, endpoint, file, header } from "../fields.ts";
import { bucketUrl, type Settings as S3Settings } from "../s3/definition.ts";

const config = z
	.object({
		bucket_name: bucketName().describe("The bucket."),
		...file,
		hmac_access_id: header(255)
			.min(1)
			.nullish()
			.describe("The id of an HMAC key of a service account."),
		hmac_secret: rawText(255).min(1).nullish().describe("The secret of the HMAC key."),
		endpoint_url: endpoint(),
	})
	.check(compressible);

export type Settings = z.output<typeof config>;

const ENDPOINT = "https://storage.googleapis.com";

/** Requests are signed for the region "auto", whatever the bucket's region. */
export const asS3 = (config: Settings): S3Settings => ({
	...config,
	region: "auto",
	endpoint_url: config.endpoint_url ?? ENDPOINT,
	aws_access_key_id: config.hmac_access_id,
	aws_secret_access_key: config.hmac_secret,
});

export const gcs = defineBucket({
	title: "Google Cloud Storage",
	config,
	place: "bucket_name",
	secrets: ["hmac_access_id", "hmac_secret"],
	key: ["hmac_access_id", "hmac_secret"],
	server: ({ endpoint_url }) => originOf(endpoint_url),
	test: ["reach", "sign in", "write", "remove"],
	url: (config) => bucketUrl(asS3(config)),
});
