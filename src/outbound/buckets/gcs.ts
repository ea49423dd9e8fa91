import type { Config } from "../destinations/config.ts";
import { MisconfiguredError } from "../errors.ts";
import type { OpenBucket } from "./bucket.ts";
import type { Dialect } from "./s3/errors.ts";
import { bucketUrl, s3 } from "./s3.ts";

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

/** Meanings of codes that S3 lacks or means differently ("HTTP status and error codes"). */
const MEANINGS: Record<string, string> = {
	AccessDenied:
		"The HMAC key's account lacks a permission in the bucket: it needs the role Storage Object User.",
	InvalidSecurity: "There is no such HMAC key, or it is inactive.",
	RequestTimeTooSkewed: "The server's clock differs too much from this service's clock.",
	SignatureDoesNotMatch: "hmac_secret is wrong.",
};

const GOOGLE: Dialect = {
	keys: "hmac_access_id and hmac_secret",
	explain(code, response) {
		const meaning = MEANINGS[code];
		if (meaning === undefined) return undefined;
		const message = `${meaning} ${response.describe()}`;
		return code === "RequestTimeTooSkewed" ? new Error(message) : new MisconfiguredError(message);
	},
};

/** Opens a bucket of Google Cloud Storage, whose XML API accepts S3's requests. */
export const gcs = (env: Env, config: Settings, timeoutMs: number): OpenBucket =>
	s3(env, asS3(config), timeoutMs, GOOGLE);
