import type { OpenBucket } from "../buckets/bucket.ts";
import { awsAuth, keysOf } from "../roles/aws.ts";
import { googleAuth, googleTokens } from "../roles/google.ts";
import type { Workload } from "../roles/workload.ts";
import { openBucket } from "../s3/bucket.ts";
import type { Dialect } from "../s3/errors.ts";
import { asS3, type Settings } from "./definition.ts";

/** Google's "HTTP status and error codes" for XML. */
const GOOGLE: Dialect = {
	meanings: {
		AccessDenied:
			"The HMAC key's account lacks a permission in the bucket: it needs the role Storage Object User.",
		InvalidSecurity: "There is no such HMAC key, or it is inactive.",
		SignatureDoesNotMatch: "hmac_secret is wrong.",
	},
};

/** The errors for access tokens. */
const TOKENS: Dialect = {
	meanings: {
		AccessDenied:
			"The export lacks a permission in the bucket: it, or its service account, needs the role Storage Object User.",
		AuthenticationRequired: "Google rejects the access token.",
	},
};

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";

/** Opens a bucket of Google Cloud Storage, whose XML API accepts S3's requests. */
export function openGcs(
	env: Env,
	config: Settings,
	timeoutMs: number,
	workload: Workload,
): OpenBucket {
	const { workload_identity_provider, client_email } = config;
	const settings = asS3(config);
	const access = { scope: SCOPE, timeoutMs, workload };
	return openBucket(
		{ env, timeoutMs },
		settings,
		workload_identity_provider
			? {
					dialect: TOKENS,
					auth: googleAuth(googleTokens(env, { workload_identity_provider, client_email }, access)),
				}
			: {
					dialect: GOOGLE,
					auth: awsAuth(keysOf(env, settings, { timeoutMs, workload }), {
						service: "s3",
						region: settings.region,
						names: "hmac_access_id and hmac_secret",
					}),
				},
	);
}
