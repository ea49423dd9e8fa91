import { MisconfiguredError } from "../../errors.ts";
import { elementOf, elementsOf } from "../../quote.ts";
import type { Bucket, Mark } from "../bucket.ts";
import { type Client, succeeded } from "./client.ts";
import { notStored, type Settings } from "./errors.ts";

/** The headers with the mark of an object. */
const EXPORT = "x-amz-meta-tenantry-export";
const UPLOAD = "x-amz-meta-tenantry-upload";

const metadata = ({ export_id, upload }: Mark) => ({
	...(export_id && { [EXPORT]: export_id }),
	...(upload && { [UPLOAD]: upload }),
});

const encrypting = ({ encryption, kms_key_id }: Settings) => ({
	...(encryption && { "x-amz-server-side-encryption": encryption }),
	...(kms_key_id && {
		"x-amz-server-side-encryption-aws-kms-key-id": kms_key_id,
	}),
});

/**
 * Returns the bucket that writes objects.
 * @param base the bucket's URL
 */
export function bucketOf({ ask, request }: Client, config: Settings, base: URL): Bucket {
	const headersOf = (type: string, mark: Mark) => ({
		"content-type": type,
		...metadata(mark),
		...encrypting(config),
	});
	return {
		async put(key, body, type, mark) {
			const answer = await ask("PUT", key, {
				body,
				headers: headersOf(type, mark),
			});
			if (!answer?.headers.has("etag")) throw notStored(base);
		},
		async begin(key, type, mark) {
			const answer = await ask("POST", key, {
				query: { uploads: "" },
				headers: headersOf(type, mark),
			});
			const id = elementOf("UploadId", answer?.text ?? "");
			if (id === "")
				throw new MisconfiguredError(
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
			// Either the object doesn't exist, or the key isn't allowed to read it. The write that follows reports any problem.
			if (!succeeded(answer)) return null;
			return {
				export_id: answer.headers.get(EXPORT) ?? "",
				upload: answer.headers.get(UPLOAD) ?? "",
			};
		},
		async remove(key) {
			await ask("DELETE", key);
		},
		async *list(prefix) {
			let token = "";
			do {
				const answer = await ask("GET", "", {
					query: { "list-type": 2, prefix, ...(token && { "continuation-token": token }) },
				});
				const { text = "" } = answer ?? {};
				yield elementsOf("Key", text);
				token = elementsOf("NextContinuationToken", text)[0] ?? "";
			} while (token);
		},
	};
}
