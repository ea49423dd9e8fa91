import { MisconfiguredError, UnavailableError } from "../../../outbound/errors.ts";
import { addressOf, type HttpResponse } from "../../../outbound/send.ts";
import { problemOf } from "../buckets/client.ts";
import type { Settings } from "./definition.ts";

export const INCOMPATIBLE = "it isn't compatible with S3";

/** The temporary ones of S3's "List of error codes", and those that Amazon's SDKs retry. */
const TEMPORARY = [
	"BadDigest",
	"BandwidthLimitExceeded",
	"Busy",
	"ExpiredToken",
	"ConditionalRequestConflict",
	"IncompleteBody",
	"InternalError",
	"OperationAborted",
	"RequestLimitExceeded",
	"RequestThrottled",
	"RequestTimeout",
	"RequestTimeTooSkewed",
	"ServiceUnavailable",
	"SlowDown",
	"Throttling",
	"ThrottlingException",
	"TooManyRequests",
];

const NOT_WHOLE = "The bucket doesn't accept the parts of the upload.";

const MEANINGS = {
	AccessDenied: "The access key lacks a permission in the bucket.",
	EntityTooSmall: NOT_WHOLE,
	InvalidAccessKeyId: "There is no such access key.",
	InvalidPart: NOT_WHOLE,
	InvalidPartOrder: NOT_WHOLE,
	NoSuchBucket: "There is no such bucket.",
	NoSuchUpload: "There is no such upload.",
	NotImplemented: "The bucket doesn't support a request that exports need.",
	RequestTimeTooSkewed: "The server's clock differs too much from this service's clock.",
	SignatureDoesNotMatch: "The secret of the access key is wrong.",
	Unauthorized: "The access key or its secret is wrong.",
};

/** Error codes about the signature of a request. */
export const SIGNING_ERRORS = [
	"InvalidAccessKeyId",
	"SignatureDoesNotMatch",
	"Unauthorized",
	"AuthorizationHeaderMalformed",
	"InvalidArgument",
	"InvalidSecurity",
];

/** How a service with S3's API differs from S3. */
export type Dialect = {
	/** The meanings of error codes that S3 lacks or means differently. */
	meanings: Record<string, string>;
};

export const AMAZON: Dialect = { meanings: {} };

/** The errors for temporary keys of a role. */
export const ROLE: Dialect = {
	meanings: { AccessDenied: "The role lacks a permission in the bucket, or for its KMS key." },
};

export const codeOf = ({ text }: HttpResponse) =>
	/<Code>([\w.]{1,64})<\/Code>/.exec(text)?.[1] ?? "";

export function toError(response: HttpResponse, { region }: Settings, { meanings }: Dialect) {
	const problem = problemOf(codeOf(response), response, {
		temporary: TEMPORARY,
		meanings: new Map(Object.entries({ ...MEANINGS, ...meanings })),
		rejected: "The bucket rejected the request.",
	});
	if (problem instanceof UnavailableError) return problem;
	const actualRegion =
		response.headers.get("x-amz-bucket-region") ??
		/<Region>([\w-]{1,64})<\/Region>/.exec(response.text)?.[1];
	if (actualRegion !== undefined && actualRegion !== region)
		return new MisconfiguredError(`The bucket is in the region "${actualRegion}".`);
	if (response.status >= 300 && response.status < 400)
		return new MisconfiguredError(
			"The bucket is at another address: check endpoint_url and region.",
		);
	return problem;
}

/** Returns the error for a write without an ETag, with which every S3 server confirms a write. */
export const notStored = (url: URL) =>
	new MisconfiguredError(
		`${addressOf(url)} answered without an ETag, so it may not have stored the object: ${INCOMPATIBLE}.`,
	);
