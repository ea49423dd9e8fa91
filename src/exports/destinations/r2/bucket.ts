import { type Bucket, type Mark, markAs, type OpenBucket } from "../buckets/bucket.ts";

const { metadata, markIn } = markAs({ export_id: "tenantry-export", upload: "tenantry-upload" });

/** The id of the export that wrote an object. */
export const writerOf = ({ customMetadata = {} }: R2Object) =>
	markIn(new Map(Object.entries(customMetadata))).export_id;

const optionsOf = (contentType: string, mark: Mark) => ({
	httpMetadata: { contentType },
	customMetadata: metadata(mark),
});

/** Returns the result; null if R2's error says that the upload doesn't exist (any more). */
const unlessGone = <T>(promise: Promise<T>) =>
	promise.catch((error: unknown) => {
		if (error instanceof Error && /\(10024\)/.test(error.message)) return null;
		throw error;
	});

/** The worker's own bucket. */
export function openR2({ EXPORTS }: Env): OpenBucket {
	const bucket: Bucket = {
		async put(key, body, type, mark) {
			await EXPORTS.put(key, body, optionsOf(type, mark));
		},
		begin: async (key, type, mark) =>
			(await EXPORTS.createMultipartUpload(key, optionsOf(type, mark))).uploadId,
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
			return object && markIn(new Map(Object.entries(object.customMetadata ?? {})));
		},
		remove: (key) => EXPORTS.delete(key),
		async inspect(key, max) {
			const object = await EXPORTS.get(key);
			if (!object) return null;
			const { size: bytes, etag, body } = object;
			if (bytes > max) {
				await body.cancel();
				return { bytes, etag, digest: null };
			}
			const hash = new crypto.DigestStream("SHA-256");
			await body.pipeTo(hash);
			return { bytes, etag, digest: new Uint8Array(await hash.digest).toHex() };
		},
		async *list(prefix) {
			let cursor: string | undefined;
			do {
				const page = await EXPORTS.list({ prefix, ...(cursor && { cursor }) });
				yield page.objects.map(({ key }) => key);
				cursor = page.truncated ? page.cursor : undefined;
			} while (cursor);
		},
	};
	return { bucket, steps: {} };
}
