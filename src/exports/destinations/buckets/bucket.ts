/** The writer of an object: an export and its upload, or an audit stream and the file's digest. */
export type Mark = { export_id: string; upload: string };

/** The mark of an object that wasn't written by an export. */
export const NO_MARK: Mark = { export_id: "", upload: "" };

/** Returns a mark's metadata, and the mark in metadata. `names`: the fields in metadata. */
export const markAs = (names: Mark) => ({
	metadata: ({ export_id, upload }: Mark): Record<string, string> => ({
		...(export_id && { [names.export_id]: export_id }),
		...(upload && { [names.upload]: upload }),
	}),
	markIn: (metadata: { get(name: string): string | null | undefined }): Mark => ({
		export_id: metadata.get(names.export_id) ?? "",
		upload: metadata.get(names.upload) ?? "",
	}),
});

/** The maximum size of a key at S3 and R2, in bytes. */
export const MAX_KEY_BYTES = 1024;

/** The size of all parts but the last, in bytes: the minimum of S3. R2 requires equal parts. */
export const PART_BYTES = 5 * 2 ** 20;

/** The maximum number of parts of an upload, at S3 and R2. */
export const MAX_PARTS = 10_000;

/** A bucket of any kind. Uploads are multipart: nothing appears before they are completed. */
export type Bucket = {
	/** @throws if the response doesn't have an ETag, which confirms that the object is stored */
	put(key: string, body: Uint8Array, type: string, mark: Mark): Promise<void>;
	/** Starts an upload, whose object will have the mark. Returns the upload's id. */
	begin(key: string, type: string, mark: Mark): Promise<string>;
	/**
	 * Uploads a part.
	 * @param body valid until the promise settles
	 * @returns the ETag that completes the upload; null if the upload doesn't exist any more
	 */
	part(key: string, upload: string, number: number, body: Uint8Array): Promise<string | null>;
	/** Completes an upload. Returns false if the upload doesn't exist any more. */
	complete(key: string, upload: string, parts: string[]): Promise<boolean>;
	/** Aborts an upload, if it exists. */
	abort(key: string, upload: string): Promise<void>;
	/** Returns the object's mark; null if there is no object or it can't be read. */
	mark(key: string): Promise<Mark | null>;
	remove(key: string): Promise<void>;
	/**
	 * Reads an object back. Only the service's own bucket has it.
	 * @param max above this size, in bytes, there is no digest
	 * @returns null if there is no object
	 */
	inspect?(
		key: string,
		max: number,
	): Promise<{ bytes: number; etag: string; digest: string | null } | null>;
	/** Yields the keys of all objects that begin with the prefix, page by page. */
	list(prefix: string): AsyncIterable<string[]>;
};

/** An open bucket, and the first steps of a test of it. */
export type OpenBucket = { bucket: Bucket; steps: Record<string, () => Promise<unknown>> };
