import { AwsClient } from "aws4fetch";
import type { Config } from "../../batch_exports/destination.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { type Bucket, files, type State } from "./files.ts";
import { type Answer, send } from "./send.ts";

const MARK = "x-amz-meta-tenantry-upload";

/** Refusals that may pass although they have a status of the caller's fault. */
const PASSING = ["RequestTimeout", "OperationAborted", "InternalError"];

const WORDS: Record<string, string> = {
	AccessDenied: "The access key may not do this in the bucket.",
	InvalidAccessKeyId: "There is no such access key.",
	SignatureDoesNotMatch: "The secret of the access key is wrong.",
	Unauthorized: "The access key or its secret is wrong.",
	NoSuchBucket: "There is no such bucket.",
	NoSuchUpload: "There is no such upload.",
};

const SIGNING = [
	"InvalidAccessKeyId",
	"SignatureDoesNotMatch",
	"Unauthorized",
	"AuthorizationHeaderMalformed",
	"InvalidArgument",
];

const codeOf = ({ text }: Answer) =>
	/<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] ?? "";

/** RFC 3986, as signatures want it. */
const encoded = (text: string) =>
	encodeURIComponent(text).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);

/** Where the bucket is. */
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

/** What an answer that is no success means for the user. */
function problem(answer: Answer, { region }: Config<"S3">) {
	const code = codeOf(answer);
	if (PASSING.includes(code))
		return new Error(`The bucket couldn't answer: ${code}.`);
	const right =
		answer.headers.get("x-amz-bucket-region") ??
		/<Region>([\w-]{1,64})<\/Region>/.exec(answer.text)?.[1];
	if (right !== undefined && right !== region)
		return new Misconfigured(`The bucket is in the region "${right}".`);
	if (answer.status < 400)
		return new Misconfigured(
			"The bucket is elsewhere: check endpoint_url and region.",
		);
	return new Misconfigured(
		WORDS[code] ??
			`The bucket refused with the status ${answer.status}${code && ` (${code})`}.`,
	);
}

/** Amazon S3, and what speaks its language. */
export function s3(
	env: Env,
	config: Config<"S3">,
	patience: number,
): Destination<State> {
	const base = bucketUrl(config);
	const client = new AwsClient({
		accessKeyId: config.aws_access_key_id ?? "",
		secretAccessKey: config.aws_secret_access_key ?? "",
		region: config.region,
		service: "s3",
		retries: 0,
	});
	const { encryption, kms_key_id } = config;
	const encrypting = {
		...(encryption && { "x-amz-server-side-encryption": encryption }),
		...(kms_key_id && {
			"x-amz-server-side-encryption-aws-kms-key-id": kms_key_id,
		}),
	};

	type Asked = {
		query?: Record<string, string | number>;
		headers?: Record<string, string>;
		body?: Uint8Array | string;
	};

	/** The answer, whatever it is; what may pass is thrown. */
	async function answered(method: string, key: string, asked: Asked = {}) {
		if (!client.accessKeyId || !client.secretAccessKey)
			throw new Misconfigured(
				"Nothing can be signed without aws_access_key_id and aws_secret_access_key.",
			);
		const url = new URL(base);
		if (key) url.pathname += `/${key.split("/").map(encoded).join("/")}`;
		for (const [name, value] of Object.entries(asked.query ?? {}))
			url.searchParams.set(name, String(value));
		const request = await client.sign(url, {
			method,
			...(asked.headers && { headers: asked.headers }),
			...(asked.body !== undefined && { body: asked.body }),
		});
		return send(env, request, patience);
	}

	const succeeded = ({ status, text }: Answer) =>
		status >= 200 && status < 300 && !/<Error>/.test(text);

	/** The answer if it is a success; null if it is about an upload or an object that isn't there. */
	async function asked(...what: Parameters<typeof answered>) {
		const answer = await answered(...what);
		if (succeeded(answer)) return answer;
		if (["NoSuchUpload", "NoSuchKey"].includes(codeOf(answer))) return null;
		throw problem(answer, config);
	}

	const bucket: Bucket = {
		async put(key, body, type) {
			await asked("PUT", key, {
				body,
				headers: { "content-type": type, ...encrypting },
			});
		},
		async begin(key, type, mark) {
			const answer = await asked("POST", key, {
				query: { uploads: "" },
				headers: { "content-type": type, [MARK]: mark, ...encrypting },
			});
			const id = /<UploadId>(.+?)<\/UploadId>/.exec(answer?.text ?? "")?.[1];
			if (id === undefined) throw new Error("The bucket began no upload.");
			return id;
		},
		async part(key, uploadId, partNumber, body) {
			const answer = await asked("PUT", key, {
				query: { partNumber, uploadId },
				body,
			});
			if (answer === null) return null;
			const etag = answer.headers.get("etag");
			if (etag === null) throw new Error("The bucket names no part.");
			return etag;
		},
		async complete(key, uploadId, parts) {
			const listed = parts.map(
				(etag, i) =>
					`<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
			);
			const answer = await asked("POST", key, {
				query: { uploadId },
				body: `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`,
			});
			return answer !== null;
		},
		async abort(key, uploadId) {
			await asked("DELETE", key, { query: { uploadId } });
		},
		async mark(key) {
			// Without a body in the answer it says why by its status alone.
			const answer = await answered("HEAD", key);
			if (answer.status === 404) return null;
			if (!succeeded(answer)) throw problem(answer, config);
			return answer.headers.get(MARK);
		},
		async remove(key) {
			await asked("DELETE", key);
		},
	};

	return files(bucket, config, () => "", {
		reach: () => send(env, new Request(base), patience),
		"sign in": async () => {
			const answer = await answered("GET", "", {
				query: { "list-type": 2, "max-keys": 1 },
			});
			// Who may write need not be allowed to list.
			if (!succeeded(answer) && SIGNING.includes(codeOf(answer)))
				throw problem(answer, config);
		},
	});
}
