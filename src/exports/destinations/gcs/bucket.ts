import type { OpenBucket } from "../buckets/bucket.ts";
import type { Config } from "../config.ts";
import { bucketUrl, s3 } from "../s3/bucket.ts";
import type { Dialect } from "../s3/errors.ts";

type Settings = Config<"GCS">;

const ENDPOINT = "https://storage.googleapis.com";

/** Requests are signed for the region "auto", whatever the bucket's region. */
const asS3 = (config: Settings): Config<"S3"> => ({
	...config,
	region: "auto",
	endpoint_url: config.endpoint_url ?? ENDPOINT,
	aws_access_key_id: config.hmac_access_id,
	aws_secret_access_key: config.hmac_secret,
});

export const gcsBucketUrl = (config: Settings) => bucketUrl(asS3(config));

/** Google's "HTTP status and error codes" for XML. */
const GOOGLE: Dialect = {
	keys: "hmac_access_id and hmac_secret",
	meanings: {
		AccessDenied:
			"The HMAC key's account lacks a permission in the bucket: it needs the role Storage Object User.",
		InvalidSecurity: "There is no such HMAC key, or it is inactive.",
		SignatureDoesNotMatch: "hmac_secret is wrong.",
	},
};

/** Opens a bucket of Google Cloud Storage, whose XML API accepts S3's requests. */
export const gcs = (env: Env, config: Settings, timeoutMs: number): OpenBucket =>
	s3(env, asS3(config), timeoutMs, GOOGLE);
