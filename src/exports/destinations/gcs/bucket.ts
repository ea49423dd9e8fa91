import type { OpenBucket } from "../buckets/bucket.ts";
import { openS3 } from "../s3/bucket.ts";
import type { Dialect } from "../s3/errors.ts";
import { asS3, type Settings } from "./definition.ts";

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
export const openGcs = (env: Env, config: Settings, timeoutMs: number): OpenBucket =>
	openS3(env, asS3(config), timeoutMs, GOOGLE);
