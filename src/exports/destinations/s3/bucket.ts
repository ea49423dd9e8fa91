import { elementOf } from "../../../outbound/quote.ts";
import { type Bucket, type Mark, markAs, type OpenBucket } from "../buckets/bucket.ts";
import { type Client, connect, objectUrl } from "../buckets/client.ts";
import { awsAuth, type KeySource, keysOf } from "../roles/aws.ts";
import type { Auth } from "../roles/exchange.ts";
import type { Workload } from "../roles/workload.ts";
import { bucketUrl, type Settings } from "./definition.ts";
import {
	AMAZON,
	codeOf,
	type Dialect,
	INCOMPATIBLE,
	notStored,
	ROLE,
	SIGNING_ERRORS,
	toError,
} from "./errors.ts";

/** The error codes for an upload or an object that doesn't exist. */
const ABSENT = ["NoSuchUpload", "NoSuchKey"];

const { metadata, markIn } = markAs({
	export_id: "x-amz-meta-tenantry-export",
	upload: "x-amz-meta-tenantry-upload",
});

/** Google's names of headers begin with `x-goog-` in responses to requests with its tokens. */
const eitherName = (headers: Headers) => ({
	get: (name: string) => headers.get(name) ?? headers.get(name.replace("x-amz-", "x-goog-")),
});

/** Opens a bucket of Amazon S3 or a compatible service. */
export function openS3(env: Env, config: Settings, timeoutMs: number, workload: Workload) {
	const keys = keysOf(env, config, { timeoutMs, workload });
	return openSigned({ env, timeoutMs }, config, keys);
}

/** Opens a bucket with keys of AWS. */
export const openSigned = (
	to: { env: Env; timeoutMs: number },
	config: Settings,
	keys: KeySource,
) =>
	openBucket(to, config, {
		dialect: config.role_arn ? ROLE : AMAZON,
		auth: awsAuth(keys, { service: "s3", region: config.region }),
	});

/** Opens a bucket with the API of S3, whose requests are authenticated in any way. */
export function openBucket(
	{ env, timeoutMs }: { env: Env; timeoutMs: number },
	config: Settings,
	{ dialect, auth }: { dialect: Dialect; auth: Auth },
): OpenBucket & Pick<Client, "get"> {
	const base = bucketUrl(config);
	const client = connect(env, timeoutMs, {
		base,
		secrets: auth.secrets,
		sign: (method, key, { headers, body, ...options }) =>
			auth.sign(objectUrl(base, key, options), {
				method,
				...(headers && { headers }),
				...(body !== undefined && { body }),
			}),
		codeOf,
		isUnauthenticated: (response) => SIGNING_ERRORS.includes(codeOf(response)),
		explain: (response) => toError(response, config, dialect),
		incompatible: INCOMPATIBLE,
		list: {
			query: { "list-type": 2 },
			parameters: { size: "max-keys", position: "continuation-token" },
			elements: { root: "ListBucketResult", key: "Key", next: "NextContinuationToken" },
		},
	});
	return { bucket: bucketOf(client, config, base), steps: client.steps, get: client.get };
}

function bucketOf({ ask, request, incomplete, list }: Client, config: Settings, base: URL): Bucket {
	const headersOf = (type: string, mark: Mark) => ({
		"content-type": type,
		...metadata(mark),
		...(config.encryption && { "x-amz-server-side-encryption": config.encryption }),
		...(config.kms_key_id && { "x-amz-server-side-encryption-aws-kms-key-id": config.kms_key_id }),
	});
	return {
		async put(key, body, type, mark) {
			const response = await ask(ABSENT, "PUT", key, { body, headers: headersOf(type, mark) });
			if (!response?.headers.has("etag")) throw notStored(base);
		},
		async begin(key, type, mark) {
			const options = { query: { uploads: "" }, headers: headersOf(type, mark) };
			const response = await ask([], "POST", key, options);
			const id = elementOf("UploadId", response?.text ?? "");
			if (response && id === "")
				throw incomplete(response, "InitiateMultipartUploadResult", "did not start an upload");
			return id;
		},
		async part(key, uploadId, partNumber, body) {
			const response = await ask(ABSENT, "PUT", key, { query: { partNumber, uploadId }, body });
			if (response && !response.headers.has("etag")) throw notStored(base);
			return response?.headers.get("etag") ?? null;
		},
		async complete(key, uploadId, parts) {
			const partList = parts.map(
				(etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
			);
			const response = await ask(ABSENT, "POST", key, {
				query: { uploadId },
				body: `<CompleteMultipartUpload>${partList.join("")}</CompleteMultipartUpload>`,
			});
			const root = "CompleteMultipartUploadResult";
			const isWhole = response?.text.includes(`</${root}>`) && /<ETag>/.test(response.text);
			if (response && !isWhole)
				throw incomplete(response, root, "didn't say whether the object is stored");
			return response !== null;
		},
		async abort(key, uploadId) {
			await ask(ABSENT, "DELETE", key, { query: { uploadId } });
		},
		async mark(key) {
			const { response, error } = await request("HEAD", key);
			// With an error, either the object doesn't exist, or the key isn't allowed to read it. The
			// write that follows reports any problem.
			return error === null ? markIn(eitherName(response.headers)) : null;
		},
		async remove(key) {
			await ask(ABSENT, "DELETE", key);
		},
		list,
	};
}
