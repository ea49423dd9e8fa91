import type { Bucket, Mark } from "./bucket.ts";

/** The metadata with the mark of an object. */
const EXPORT = "tenantry-export";
const UPLOAD = "tenantry-upload";

const metadata = ({ export_id, upload }: Mark) => ({
	[EXPORT]: export_id,
	[UPLOAD]: upload,
});

/** Whether R2's error says that the upload doesn't exist (any more). */
const isGone = (error: unknown) => error instanceof Error && /\(10024\)/.test(error.message);

/** Returns the result; null if the upload doesn't exist any more. */
const unlessGone = <T>(promise: Promise<T>) =>
	promise.catch((error: unknown) => {
		if (isGone(error)) return null;
		throw error;
	});

/** The worker's own bucket. */
export function r2({ EXPORTS }: Env): Bucket {
	return {
		async put(key, body, contentType, mark) {
			await EXPORTS.put(key, body, {
				httpMetadata: { contentType },
				customMetadata: metadata(mark),
			});
		},
		async begin(key, contentType, mark) {
			const { uploadId } = await EXPORTS.createMultipartUpload(key, {
				httpMetadata: { contentType },
				customMetadata: metadata(mark),
			});
			return uploadId;
		},
		async part(key, id, number, body) {
			const upload = EXPORTS.resumeMultipartUpload(key, id);
			const part = await unlessGone(upload.uploadPart(number, body));
			return part?.etag ?? null;
		},
		async complete(key, id, parts) {
			const upload = EXPORTS.resumeMultipartUpload(key, id);
			const uploadedParts = parts.map((etag, i) => ({ partNumber: i + 1, etag }));
			return (await unlessGone(upload.complete(uploadedParts))) !== null;
		},
		async abort(key, id) {
			await unlessGone(EXPORTS.resumeMultipartUpload(key, id).abort());
		},
		async mark(key) {
			const object = await EXPORTS.head(key);
			const { [EXPORT]: export_id = "", [UPLOAD]: upload = "" } = object?.customMetadata ?? {};
			return object && { export_id, upload };
		},
		remove: (key) => EXPORTS.delete(key),
		async *list(prefix) {
			let cursor: string | undefined;
			do {
				const page = await EXPORTS.list({ prefix, ...(cursor && { cursor }) });
				yield page.objects.map(({ key }) => key);
				cursor = page.truncated ? page.cursor : undefined;
			} while (cursor);
		},
	};
}
