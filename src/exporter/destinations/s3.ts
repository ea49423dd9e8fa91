import { AwsClient } from "aws4fetch";
import type { Config } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import type { Bucket, Mark } from "./files/bucket.ts";
import type { State } from "./files/uploads.ts";
import { files } from "./files.ts";
import { type Answer, exchange, type Sending, send } from "./send.ts";

/** The headers with the mark of an object. */
const EXPORT = "x-amz-meta-tenantry-export";
const UPLOAD = "x-amz-meta-tenantry-upload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

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
const SIGNING_ERRORS = [
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
	/** The error for a code and a response; undefined for the same error as for S3. */
	explain(code: string, answer: Answer): Error | undefined;
};

const AMAZON: Dialect = {
	keys: "aws_access_key_id and aws_secret_access_key",
	explain: () => undefined,
};

const codeOf = ({ text }: Answer) => /<Code>([A-Za-z.]{1,64})<\/Code>/.exec(text)?.[1] ?? "";

/** Percent-encodes by RFC 3986, as signatures require. */
const encoded = (text: string) =>
	encodeURIComponent(text).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);

export function bucketUrl({
	bucket_name,
	region,
	endpoint_url,
	use_virtual_style_addressing,
}: Config<"S3">) {
	const { protocol, host, pathname } = new URL(
		endpoint_url ?? `https://s3.${region}.amazonaws.com`,
	);
	const path = pathname.replace(/\/$/, "");
	return use_virtual_style_addressing
		? new URL(`${protocol}//${bucket_name}.${host}${path}`)
		: new URL(`${protocol}//${host}${path}/${bucket_name}`);
}

/** The error for a failed request, with a message for the user. */
function toError(answer: Answer, { region }: Config<"S3">) {
	const code = codeOf(answer);
	if (TEMPORARY.includes(code)) return new Error(answer.describe());
	const actualRegion =
		answer.headers.get("x-amz-bucket-region") ??
		/<Region>([\w-]{1,64})<\/Region>/.exec(answer.text)?.[1];
	if (actualRegion !== undefined && actualRegion !== region)
		return new Misconfigured(`The bucket is in the region "${actualRegion}".`);
	if (answer.status < 400)
		return new Misconfigured("The bucket is at another address: check endpoint_url and region.");
	return new Misconfigured(
		`${MESSAGES[code] ?? "The bucket rejected the request."} ${answer.describe()}`,
	);
}

/** The error for a write without an ETag, with which every S3 server confirms it. */
const notStored = ({ host }: URL) =>
	new Misconfigured(
		`${host} answered without an ETag, so it may not have stored the object: it isn't compatible with S3.`,
	);

/** Amazon S3 and compatible services. */
export function s3(
	env: Env,
	config: Config<"S3">,
	timeoutMs: number,
	dialect = AMAZON,
): Destination<State> {
	const base = bucketUrl(config);
	const explain = (answer: Answer) =>
		dialect.explain(codeOf(answer), answer) ?? toError(answer, config);
	const client = new AwsClient({
		accessKeyId: config.aws_access_key_id ?? "",
		secretAccessKey: config.aws_secret_access_key ?? "",
		...(config.aws_session_token && {
			sessionToken: config.aws_session_token,
		}),
		region: config.region,
		service: "s3",
		retries: 0,
	});
	const sending: Sending = {
		timeoutMs,
		secrets: [
			config.aws_access_key_id,
			config.aws_secret_access_key,
			config.aws_session_token,
		].filter((secret) => typeof secret === "string"),
	};
	const { encryption, kms_key_id } = config;
	const encrypting = {
		...(encryption && { "x-amz-server-side-encryption": encryption }),
		...(kms_key_id && {
			"x-amz-server-side-encryption-aws-kms-key-id": kms_key_id,
		}),
	};

	type Options = {
		query?: Record<string, string | number>;
		headers?: Record<string, string>;
		body?: Uint8Array | string;
	};

	async function signed(method: string, key: string, options: Options = {}) {
		if (!client.accessKeyId || !client.secretAccessKey)
			throw new Misconfigured(`Requests can't be signed without ${dialect.keys}.`);
		const url = new URL(base);
		if (key) url.pathname += `/${key.split("/").map(encoded).join("/")}`;
		for (const [name, value] of Object.entries(options.query ?? {}))
			url.searchParams.set(name, String(value));
		return client.sign(url, {
			method,
			...(options.headers && { headers: options.headers }),
			...(options.body !== undefined && { body: options.body }),
		});
	}

	/** The response, whatever its status; temporary errors are thrown. */
	const request = async (...options: Parameters<typeof signed>) =>
		send(env, await signed(...options), sending);

	const succeeded = ({ status, text }: Answer) =>
		status >= 200 && status < 300 && !/<Error>/.test(text);

	/** The response if it is a success; null if the upload or object doesn't exist. */
	async function ask(...options: Parameters<typeof request>) {
		const answer = await request(...options);
		if (succeeded(answer)) return answer;
		if (["NoSuchUpload", "NoSuchKey"].includes(codeOf(answer))) return null;
		throw explain(answer);
	}

	const bucket: Bucket = {
		async put(key, body, type, mark) {
			const answer = await ask("PUT", key, {
				body,
				headers: { "content-type": type, ...metadata(mark), ...encrypting },
			});
			if (!answer?.headers.has("etag")) throw notStored(base);
		},
		async begin(key, type, mark) {
			const answer = await ask("POST", key, {
				query: { uploads: "" },
				headers: { "content-type": type, ...metadata(mark), ...encrypting },
			});
			const id = /<UploadId>(.+?)<\/UploadId>/.exec(answer?.text ?? "")?.[1];
			if (id === undefined)
				throw new Misconfigured(
					`${base.host} did not start an upload: it isn't compatible with S3.`,
				);
			return id;
		},
		async part(key, uploadId, partNumber, body) {
			const answer = await ask("PUT", key, {
				query: { partNumber, uploadId },
				body,
			});
			if (answer === null) return null;
			const etag = answer.headers.get("etag");
			if (etag === null) throw notStored(base);
			return etag;
		},
		async complete(key, uploadId, parts) {
			const partList = parts.map(
				(etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
			);
			const answer = await ask("POST", key, {
				query: { uploadId },
				body: `<CompleteMultipartUpload>${partList.join("")}</CompleteMultipartUpload>`,
			});
			if (answer && !/<ETag>/.test(answer.text)) throw notStored(base);
			return answer !== null;
		},
		async abort(key, uploadId) {
			await ask("DELETE", key, { query: { uploadId } });
		},
		async mark(key) {
			const answer = await request("HEAD", key);
			// Either there is no object, or the key may not read it. The write that follows reports any problem.
			if (!succeeded(answer)) return null;
			return {
				export_id: answer.headers.get(EXPORT) ?? "",
				upload: answer.headers.get(UPLOAD) ?? "",
			};
		},
		async remove(key) {
			await ask("DELETE", key);
		},
	};

	return files(bucket, config, () => "", {
		// Any response will do: a server may reject requests that aren't signed.
		reach: () => exchange(env, new Request(base), sending),
		"sign in": async () => {
			const answer = await exchange(
				env,
				await signed("GET", "", { query: { "list-type": 2, "max-keys": 1 } }),
				sending,
			);
			if (!succeeded(answer) && SIGNING_ERRORS.includes(codeOf(answer))) throw explain(answer);
		},
	});
}
