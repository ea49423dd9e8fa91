import type { Config } from "../../destinations/config.ts";
import { MisconfiguredError } from "../../errors.ts";
import type { HttpResponse } from "../../send.ts";

export type Settings = Config<"S3">;

/** Error codes that are temporary although their status is 4xx. */
const TEMPORARY = ["RequestTimeout", "OperationAborted", "InternalError"];

const MESSAGES: Record<string, string> = {
	AccessDenied: "The access key lacks a permission in the bucket.",
	InvalidAccessKeyId: "There is no such access key.",
	SignatureDoesNotMatch: "The secret of the access key is wrong.",
	Unauthorized: "The access key or its secret is wrong.",
	NoSuchBucket: "There is no such bucket.",
	NoSuchUpload: "There is no such upload.",
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
	/** The config fields for signing requests, for an error message. */
	keys: string;
	/** Returns the error for a code and a response; undefined for the same error as S3. */
	explain(code: string, response: HttpResponse): Error | undefined;
};

export const codeOf = ({ text }: HttpResponse) =>
	/<Code>([A-Za-z.]{1,64})<\/Code>/.exec(text)?.[1] ?? "";

export function toError(response: HttpResponse, { region }: Settings) {
	const code = codeOf(response);
	if (TEMPORARY.includes(code)) return new Error(response.describe());
	const actualRegion =
		response.headers.get("x-amz-bucket-region") ??
		/<Region>([\w-]{1,64})<\/Region>/.exec(response.text)?.[1];
	if (actualRegion !== undefined && actualRegion !== region)
		return new MisconfiguredError(`The bucket is in the region "${actualRegion}".`);
	if (response.status < 400)
		return new MisconfiguredError(
			"The bucket is at another address: check endpoint_url and region.",
		);
	return new MisconfiguredError(
		`${MESSAGES[code] ?? "The bucket rejected the request."} ${response.describe()}`,
	);
}

/** Returns the error for a write without an ETag, with which every S3 server confirms a write. */
export const notStored = ({ host }: URL) =>
	new MisconfiguredError(
		`${host} answered without an ETag, so it may not have stored the object: it isn't compatible with S3.`,
	);
