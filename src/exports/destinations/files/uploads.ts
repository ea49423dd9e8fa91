import { MisconfiguredError, SupersededError } from "../../../outbound/errors.ts";
import { type Bucket, MAX_PARTS, type Mark } from "../buckets/bucket.ts";
import type { Job } from "../destination.ts";
import type { KeyOf } from "./keys.ts";

/** The upload of a file, the mark of its object, and the ETags of its parts. */
type Upload = { id: string; mark: string; parts: string[] };

/**
 * `uploads`: the uploads of files before the current one, which have all their parts but aren't
 * completed; of the current file; and of later files, if they were started before a crash. `rest`:
 * the current file's bytes after its last part, in base64. `rows`: how many rows each file has,
 * without the later ones; missing in states from before they were counted.
 */
export type State = {
	uploads: Upload[];
	current: number;
	rest: string;
	encoder: string;
	rows?: number[] | undefined;
	/** How many files have appeared. */
	closed?: number;
};

export const INITIAL: State = { uploads: [], current: 0, rest: "", encoder: "", rows: [0] };

/** `type`: the media type of the files. */
export type UploadContext = {
	bucket: Bucket;
	job: Job;
	type: string;
	keyOf: KeyOf;
	saveState: (state: State, isProgress?: boolean) => Promise<void>;
	readState: () => Promise<State | null>;
};

/** Throws if another export wrote the object. */
async function assertOwn(bucket: Bucket, job: Job, key: string) {
	const { export_id = "" } = (await bucket.mark(key)) ?? {};
	if (export_id !== "" && export_id !== job.export_id)
		throw new MisconfiguredError(
			`The export ${export_id} wrote ${key}. Two exports can't write the same objects: change the prefix of one of them.`,
		);
}

/** The state with all started uploads, and the parts that match its position. */
const withUploads = (state: State, begun: Upload[]): State => ({
	...state,
	uploads: begun.map((upload, i) => state.uploads[i] ?? { ...upload, parts: [] }),
});

/** Returns the uploads of a run's files, numbered from 0. */
export function uploadsOf(
	{ bucket, job, type, keyOf, saveState, readState }: UploadContext,
	initial: State,
) {
	const uploads = structuredClone(initial.uploads);
	const { closed = 0 } = initial;
	/** The marks of files that had already appeared before a crash. */
	const done = new Set<string>();

	const markOf = (upload: string): Mark => ({ export_id: job.export_id, upload });

	/** Throws unless the upload no longer exists because its object has appeared. */
	async function assertAppeared(key: string, { mark }: Upload) {
		if (!done.has(mark) && (await bucket.mark(key))?.upload !== mark)
			throw new MisconfiguredError(
				"The unfinished upload is gone from the bucket: somebody, or a rule of the bucket, removed it, or its object has appeared but the credentials don't allow reading it.",
			);
		done.add(mark);
	}

	async function begin(file: number) {
		const mark = `${job.run_id}/${crypto.randomUUID()}`;
		const key = keyOf(job, file);
		await assertOwn(bucket, job, key);
		const state = (await readState()) ?? INITIAL;
		const id = await bucket.begin(key, type, markOf(mark));
		const upload: Upload = { id, mark, parts: [] };
		await saveState(withUploads(state, [...uploads, upload])).catch(async (error: unknown) => {
			if (error instanceof SupersededError) await bucket.abort(key, id).catch(() => {});
			throw error;
		});
		return upload;
	}

	return {
		/** The uploads so far, by the number of their file. */
		list: uploads,
		/** How many files had appeared when the run continued. */
		closed,

		/** Uploads the next part of a file. Starts its upload if needed. */
		async addPart(file: number, body: Uint8Array) {
			const upload = uploads[file] ?? (await begin(file));
			uploads[file] = upload;
			const key = keyOf(job, file);
			if (upload.parts.length === MAX_PARTS)
				throw new MisconfiguredError("The file is too large for one upload: set max_file_size_mb.");
			const name = done.has(upload.mark)
				? null
				: await bucket.part(key, upload.id, upload.parts.length + 1, body);
			if (name === null) await assertAppeared(key, upload);
			upload.parts.push(name ?? "");
		},

		/** Makes a file appear: completes its upload, or writes the bytes if it has none. */
		async close(key: string, file: number, bytes: () => Uint8Array) {
			const upload = uploads[file];
			await assertOwn(bucket, job, key);
			if (!upload) await bucket.put(key, bytes(), type, markOf(""));
			else if (!done.has(upload.mark) && !(await bucket.complete(key, upload.id, upload.parts)))
				await assertAppeared(key, upload);
		},

		/** Saves how many files have appeared, so that the next try continues after them. */
		saveClosed: async (closed: number) =>
			saveState({ ...((await readState()) ?? INITIAL), closed }, true),

		putManifest: (keys: string[]) =>
			bucket.put(
				keyOf(job, "manifest"),
				Buffer.from(JSON.stringify({ files: keys })),
				"application/json",
				markOf(""),
			),
	};
}

export type Uploads = ReturnType<typeof uploadsOf>;
