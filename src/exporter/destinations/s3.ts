import { AwsClient } from "aws4fetch";
import type { Config } from "./config.ts";
import { type Destination, Misconfigured } from "./destination.ts";
import { type Bucket, files, type Mark, type State } from "./files.ts";
import { type Answer, exchange, type Sending, send } from "./send.ts";

/** The headers that hold the mark of an object. */
const EXPORT = "x-amz-meta-tenantry-export";
const UPLOAD = "x-amz-meta-tenantry-upload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

/** Refusals that may pass although they have a status of the caller's fault. */
const TEMPORARY = ["RequestTimeout", "OperationAborted", "InternalError"];

const MESSAGES: Record<string, string> = {
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
	"InvalidSecurity",
];

/** Where a service that speaks S3's language differs from S3. */
export type Dialect = {
	/** The fields that sign requests, for an error text. */
	keys: string;
	/** The error for a refusal's code and body; undefined: S3's own has to do. */
	explain(code: string, answer: Answer): Error | undefined;
};

const AMAZON: Dialect = {
	keys: "aws_access_key_id and aws_secret_access_key",
	explain: () => undefined,
};

const codeOf = ({ text }: Answer) => /<Code>([A-Za-z.]{1,64})<\/Code>/.exec(text)?.[1] ?? "";

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
function toError(answer: Answer, { region }: Config<"S3">) {
	const code = codeOf(answer);
	if (TEMPORARY.includes(code)) return new Error(answer.describe());
	const right =
		answer.headers.get("x-amz-bucket-region") ??
		/<Region>([\w-]{1,64})<\/Region>/.exec(answer.text)?.[1];
	if (right !== undefined && right !== region)
		return new Misconfigured(`The bucket is in the region "${right}".`);
	if (answer.status < 400)
		return new Misconfigured("The bucket is elsewhere: check endpoint_url and region.");
	return new Misconfigured(
		`${MESSAGES[code] ?? "The bucket refuses the request."} ${answer.describe()}`,
	);
}

/** Every S3 server names what it stored by an ETag. */
const notStored = ({ host }: URL) =>
	new Misconfigured(
		`${host} answered without an ETag, so nothing tells that it stored the object: it doesn't speak S3.`,
	);

/** Amazon S3, and what speaks its language. */
export function s3(
	env: Env,
	config: Config<"S3">,
	patience: number,
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
		timeoutMs: patience,
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

	type Asked = {
		query?: Record<string, string | number>;
		headers?: Record<string, string>;
		body?: Uint8Array | string;
	};

	async function signed(method: string, key: string, asked: Asked = {}) {
		if (!client.accessKeyId || !client.secretAccessKey)
			throw new Misconfigured(`Nothing can be signed without ${dialect.keys}.`);
		const url = new URL(base);
		if (key) url.pathname += `/${key.split("/").map(encoded).join("/")}`;
		for (const [name, value] of Object.entries(asked.query ?? {}))
			url.searchParams.set(name, String(value));
		return client.sign(url, {
			method,
			...(asked.headers && { headers: asked.headers }),
			...(asked.body !== undefined && { body: asked.body }),
		});
	}

	/** The answer, whatever it is; what may pass is thrown. */
	const answered = async (...what: Parameters<typeof signed>) =>
		send(env, await signed(...what), sending);

	const succeeded = ({ status, text }: Answer) =>
		status >= 200 && status < 300 && !/<Error>/.test(text);

	/** The answer if it is a success; null if it is about an upload or an object that isn't there. */
	async function asked(...what: Parameters<typeof answered>) {
		const answer = await answered(...what);
		if (succeeded(answer)) return answer;
		if (["NoSuchUpload", "NoSuchKey"].includes(codeOf(answer))) return null;
		throw explain(answer);
	}

	const bucket: Bucket = {
		async put(key, body, type, mark) {
			const answer = await asked("PUT", key, {
				body,
				headers: { "content-type": type, ...metadata(mark), ...encrypting },
			});
			if (!answer?.headers.has("etag")) throw notStored(base);
		},
		async begin(key, type, mark) {
			const answer = await asked("POST", key, {
				query: { uploads: "" },
				headers: { "content-type": type, ...metadata(mark), ...encrypting },
			});
			const id = /<UploadId>(.+?)<\/UploadId>/.exec(answer?.text ?? "")?.[1];
			if (id === undefined)
				throw new Misconfigured(`${base.host} began no upload: it doesn't speak S3.`);
			return id;
		},
		async part(key, uploadId, partNumber, body) {
			const answer = await asked("PUT", key, {
				query: { partNumber, uploadId },
				body,
			});
			if (answer === null) return null;
			const etag = answer.headers.get("etag");
			if (etag === null) throw notStored(base);
			return etag;
		},
		async complete(key, uploadId, parts) {
			const listed = parts.map(
				(etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
			);
			const answer = await asked("POST", key, {
				query: { uploadId },
				body: `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`,
			});
			if (answer && !/<ETag>/.test(answer.text)) throw notStored(base);
			return answer !== null;
		},
		async abort(key, uploadId) {
			await asked("DELETE", key, { query: { uploadId } });
		},
		async mark(key) {
			const answer = await answered("HEAD", key);
			// Whether there is no object or the key may not read it, HEAD can't say: the write that follows does.
			if (!succeeded(answer)) return null;
			return {
				export_id: answer.headers.get(EXPORT) ?? "",
				upload: answer.headers.get(UPLOAD) ?? "",
			};
		},
		async remove(key) {
			await asked("DELETE", key);
		},
	};

	return files(bucket, config, () => "", {
		// Any answer will do: a server may refuse whoever doesn't sign, or doesn't write.
		reach: () => exchange(env, new Request(base), sending),
		"sign in": async () => {
			const answer = await exchange(
				env,
				await signed("GET", "", { query: { "list-type": 2, "max-keys": 1 } }),
				sending,
			);
			if (!succeeded(answer) && SIGNING.includes(codeOf(answer))) throw explain(answer);
		},
	});
}
