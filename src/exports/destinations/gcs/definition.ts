import * as z from "zod";
import { issue, rawText } from "../../../http/fields.ts";
import { defineBucket, originOf } from "../definition.ts";
import { bucketName, compressible, endpoint, file, header } from "../fields.ts";
import { clientEmail, workloadIdentityProvider } from "../google_fields.ts";
import { bucketUrl, type Settings as S3Settings } from "../s3/definition.ts";

const config = z
	.object({
		bucket_name: bucketName().describe("The bucket."),
		...file,
		workload_identity_provider: workloadIdentityProvider(),
		client_email: clientEmail()
			.nullish()
			.describe(
				"The email address of the service account as which the export acts; null if the provider's principal has the role itself.",
			),
		hmac_access_id: header(255)
			.min(1)
			.nullish()
			.describe("The id of an HMAC key of a service account."),
		hmac_secret: rawText(255).min(1).nullish().describe("The secret of the HMAC key."),
		endpoint_url: endpoint(),
	})
	.check(compressible, ({ value, issues }) => {
		const { client_email, workload_identity_provider } = value;
		if (!client_email || workload_identity_provider) return;
		const message = "A service account requires workload_identity_provider.";
		issues.push({ ...issue(client_email, "invalid_input", message), path: ["client_email"] });
	});

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
	role: {
		settings: ["workload_identity_provider", "client_email"],
		replaces: ["hmac_access_id", "hmac_secret"],
		excludes: ["endpoint_url"],
	},
	server: ({ endpoint_url }) => originOf(endpoint_url),
	test: ["reach", "sign in", "write", "remove"],
	url: (config) => bucketUrl(asS3(config)),
});
