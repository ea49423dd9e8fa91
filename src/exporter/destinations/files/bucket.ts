/**
 * Which export and which upload wrote an object; both are in its metadata. Of a file of an audit stream: the stream and the
 * digest of the file.
 */
export type Mark = { export_id: string; upload: string };

/** The mark of an object that no export wrote. */
export const NO_MARK: Mark = { export_id: "", upload: "" };

/** The longest key, in bytes, at S3 and R2. */
export const MAX_KEY_BYTES = 1024;

/** The size of all parts of an upload but the last, in bytes: R2 requires equal parts, S3 at least this. */
export const PART_BYTES = 5 * 2 ** 20;

/** The most parts of an upload, at S3 and R2. */
export const MAX_PARTS = 10_000;

/**
 * What all kinds of buckets have in common. A key names an object. An upload is a multipart one: nothing of it appears before
 * it is completed.
 */
export type Bucket = {
	/** @throws if the answer lacks the ETag that confirms that the object is stored */
	put(key: string, body: Uint8Array, type: string, mark: Mark): Promise<void>;
	/** Begins an upload, whose object will carry the mark, and returns its id. */
	begin(key: string, type: string, mark: Mark): Promise<string>;
	/**
	 * Uploads a part.
	 * @param body valid until the promise settles
	 * @returns the ETag that completes the upload; null if the upload doesn't exist any more
	 */
	part(key: string, upload: string, number: number, body: Uint8Array): Promise<string | null>;
	/** Completes an upload. False if it doesn't exist any more. */
	complete(key: string, upload: string, parts: string[]): Promise<boolean>;
	/** Aborts an upload, if it exists. */
	abort(key: string, upload: string): Promise<void>;
	/** The mark of the object; null if there is no object, or if it can't be read. Missing values are "". */
	mark(key: string): Promise<Mark | null>;
	remove(key: string): Promise<void>;
};

/** A bucket that was opened, and the steps with which a test of it begins. */
export type OpenBucket = { bucket: Bucket; steps: Record<string, () => Promise<unknown>> };
