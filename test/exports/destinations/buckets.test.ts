import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { NO_MARK } from "../../../src/exports/destinations/buckets/bucket.ts";
import { openBucket } from "../../../src/exports/destinations/index.ts";
import { MisconfiguredError, UnavailableError } from "../../../src/outbound/errors.ts";
import { CONTAINER, createContainer } from "../../support/azure.ts";
import { ACCOUNT } from "../../support/azurite.ts";
import { KEYS } from "../../support/bucket.ts";
import type { Fault } from "../../support/faults.ts";
import { HANG_MS } from "../../support/hang.ts";

const bucket_name = "exports";

/** The destinations behind proxies. */
const SERVICES = {
	S3: {
		url: env.S3_FAULTS_URL,
		config: { ...KEYS, bucket_name, prefix: "x", region: "auto", endpoint_url: env.S3_FAULTS_URL },
	},
	GCS: {
		url: env.GCS_FAULTS_URL,
		config: {
			hmac_access_id: KEYS.aws_access_key_id,
			hmac_secret: KEYS.aws_secret_access_key,
			bucket_name,
			prefix: "x",
			endpoint_url: env.GCS_FAULTS_URL,
		},
	},
	AzureBlob: {
		url: env.AZURE_FAULTS_URL,
		config: {
			...ACCOUNT,
			container_name: CONTAINER,
			prefix: "x",
			endpoint_url: env.AZURE_FAULTS_URL,
		},
	},
};

type Service = keyof typeof SERVICES;

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>';

const errorOf = (code: string, message = "No.") =>
	`${DECLARATION}<Error><Code>${code}</Code><Message>${message}</Message></Error>`;

/** Returns the bucket of a service with faults, and the key of an object that has them. */
async function faulty(service: Service, faults: Fault[]) {
	const { url, config } = SERVICES[service];
	if (service === "AzureBlob") await createContainer();
	const key = crypto.randomUUID();
	const planned = await fetch(new URL(`/faults/${key}`, url), {
		method: "PUT",
		body: JSON.stringify(faults),
	});
	expect(planned.status).toBe(200);
	const { bucket } = await openBucket(
		env,
		{ type: service, config },
		{ timeoutMs: HANG_MS, subject: null },
	);
	return { bucket, key };
}

type Opened = Awaited<ReturnType<typeof faulty>>;

const BODY = Buffer.from("rows");
const TYPE = "text/plain";
const MARK = { export_id: "an export", upload: "an upload" };

/** The operations that have a result, and the query of their request. */
const OPERATIONS = {
	put: { method: "PUT", act: ({ bucket, key }: Opened) => bucket.put(key, BODY, TYPE, NO_MARK) },
	begin: {
		method: "POST",
		query: "uploads",
		act: ({ bucket, key }: Opened) => bucket.begin(key, TYPE, MARK),
	},
	part: {
		method: "PUT",
		query: "partNumber",
		act: async ({ bucket, key }: Opened) =>
			bucket.part(key, await bucket.begin(key, TYPE, MARK), 1, BODY),
	},
	complete: {
		method: "POST",
		query: "uploadId",
		async act({ bucket, key }: Opened) {
			const upload = await bucket.begin(key, TYPE, MARK);
			const part = (await bucket.part(key, upload, 1, BODY)) ?? "";
			return bucket.complete(key, upload, [part]);
		},
	},
	list: {
		method: "GET",
		query: "prefix=",
		act: async ({ bucket, key }: Opened) => Array.fromAsync(bucket.list(key)),
	},
	mark: { method: "HEAD", act: ({ bucket, key }: Opened) => bucket.mark(key) },
	remove: { method: "DELETE", act: ({ bucket, key }: Opened) => bucket.remove(key) },
};

/** Returns the error of an operation whose request gets another answer. */
async function failureOf(
	service: Service,
	operation: keyof typeof OPERATIONS,
	fault: Omit<Fault, "method">,
) {
	const { act, ...request } = OPERATIONS[operation];
	const opened = await faulty(service, [{ ...request, ...fault }]);
	return act(opened).then(
		(result) => {
			throw new Error(`It succeeded: ${JSON.stringify(result)}`);
		},
		(error: unknown) => error,
	);
}

const PAGE = "<!doctype html><title>Down</title><p>We'll be back.</p>";
const RETRY = { "retry-after": "7" };

describe("an answer is temporary", () => {
	test.each<[Service, keyof typeof OPERATIONS, number, string, string]>([
		["S3", "complete", 200, errorOf("SlowDown", "Reduce your request rate."), "SlowDown: Reduce"],
		["S3", "complete", 200, errorOf("ServiceUnavailable"), '200: "ServiceUnavailable: No."'],
		["S3", "complete", 200, `\n  \n${errorOf("InternalError")}`, '200: "InternalError: No."'],
		["S3", "complete", 200, errorOf("SomethingNew"), '200: "SomethingNew: No."'],
		["S3", "complete", 200, "<Error><Message>No.</Message></Error>", "answered 200"],
		["S3", "complete", 200, "", "didn't say whether the object is stored"],
		["S3", "complete", 200, `${DECLARATION}\n   \n`, "didn't say whether the object is stored"],
		[
			"S3",
			"complete",
			200,
			`${DECLARATION}<CompleteMultipartUploadResult><Location>http`,
			"didn't say whether the object is stored",
		],
		["S3", "complete", 503, "", "answered 503."],
		["S3", "complete", 409, errorOf("ConditionalRequestConflict"), "ConditionalRequestConflict"],
		["S3", "complete", 425, "", "answered 425."],
		["S3", "begin", 200, errorOf("InternalError"), '200: "InternalError: No."'],
		["S3", "begin", 200, "", "answered 200"],
		["S3", "part", 200, errorOf("SlowDown"), '200: "SlowDown: No."'],
		["S3", "part", 400, errorOf("RequestTimeout"), '400: "RequestTimeout: No."'],
		["S3", "part", 400, errorOf("IncompleteBody"), '400: "IncompleteBody: No."'],
		["S3", "put", 200, errorOf("InternalError"), '200: "InternalError: No."'],
		["S3", "put", 409, errorOf("OperationAborted"), '409: "OperationAborted: No."'],
		["S3", "put", 400, errorOf("ThrottlingException"), '400: "ThrottlingException: No."'],
		["S3", "put", 403, errorOf("RequestTimeTooSkewed"), "The server's clock differs too much"],
		["S3", "list", 200, errorOf("SlowDown"), '200: "SlowDown: No."'],
		["S3", "list", 200, `${DECLARATION}<ListBucketResult><Contents>`, "didn't send a whole list"],
		["S3", "list", 200, "", "didn't send a whole list"],
		["S3", "mark", 503, "", "answered 503."],
		["S3", "remove", 200, errorOf("InternalError"), '200: "InternalError: No."'],
		["GCS", "complete", 200, errorOf("ServiceUnavailable"), '200: "ServiceUnavailable: No."'],
		["GCS", "complete", 200, "", "didn't say whether the object is stored"],
		["GCS", "put", 403, errorOf("RequestTimeTooSkewed"), "The server's clock differs too much"],
		["GCS", "put", 429, errorOf("SlowDown"), '429: "SlowDown: No."'],
		["AzureBlob", "put", 503, errorOf("ServerBusy"), '503: "ServerBusy: No."'],
		["AzureBlob", "put", 500, errorOf("OperationTimedOut"), '500: "OperationTimedOut: No."'],
		["AzureBlob", "put", 412, errorOf("LeaseIdMissing"), "Another program holds a lease"],
		["AzureBlob", "put", 409, errorOf("ContainerBeingDeleted"), "ContainerBeingDeleted"],
		[
			"AzureBlob",
			"list",
			200,
			`${DECLARATION}<EnumerationResults><Blobs>`,
			"didn't send a whole list",
		],
	])("%s, %s: %i %s", async (service, operation, status, body, words) => {
		const fault = { status, body: operation === "mark" ? "" : body, headers: RETRY };
		const error = await failureOf(service, operation, fault);
		expect(error).toMatchObject({ message: expect.stringContaining(words), retry_after: 7 });
		expect(error).toBeInstanceOf(UnavailableError);
	});
});

describe("an answer is final", () => {
	test.each<[Service, keyof typeof OPERATIONS, number, string, string]>([
		["S3", "complete", 200, errorOf("AccessDenied"), "The access key lacks a permission"],
		["S3", "complete", 200, errorOf("InvalidPart"), '200: "InvalidPart: No."'],
		["S3", "complete", 200, PAGE, "it isn't compatible with S3"],
		["S3", "begin", 200, PAGE, "it isn't compatible with S3"],
		["S3", "put", 200, PAGE, "it isn't compatible with S3"],
		["S3", "put", 501, errorOf("NotImplemented"), '501: "NotImplemented: No."'],
		["S3", "put", 500, errorOf("AccessDenied"), "The access key lacks a permission"],
		["S3", "put", 409, errorOf("InvalidBucketState"), '409: "InvalidBucketState: No."'],
		["S3", "put", 400, errorOf("constructor"), "The bucket rejected the request. "],
		["S3", "list", 200, PAGE, "it isn't compatible with S3"],
		["GCS", "complete", 200, errorOf("AccessDenied"), "The HMAC key's account lacks a permission"],
		["AzureBlob", "put", 409, errorOf("BlobImmutableDueToPolicy"), "Blob Storage rejected"],
		["AzureBlob", "list", 200, PAGE, "it doesn't respond like Blob Storage. Check"],
	])("%s, %s: %i %s", async (service, operation, status, body, words) => {
		const error = await failureOf(service, operation, { status, body });
		expect(error).toMatchObject({ message: expect.stringContaining(words) });
		expect(error).toBeInstanceOf(MisconfiguredError);
	});
});

test.each(["S3", "GCS"] as const)(
	"%s: an upload is gone, whatever the status of the answer that says so",
	async (service) => {
		const { query, method, act } = OPERATIONS.complete;
		const opened = await faulty(service, [
			{ method, query, status: 200, body: errorOf("NoSuchUpload") },
		]);
		expect(await act(opened)).toBe(false);
		expect(await opened.bucket.mark(opened.key)).toBeNull();
	},
);
