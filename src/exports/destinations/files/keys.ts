import { MisconfiguredError } from "../../../outbound/errors.ts";
import { MAX_KEY_BYTES } from "../buckets/bucket.ts";
import type { Job } from "../destination.ts";
import { type FileOfRun, type FilesConfig, folder, formatOf, joined, keyBelow } from "./names.ts";

/** Two configs with the same pattern of keys write the same objects. */
export const filePattern = (config: FilesConfig, model: Job["model"]) =>
	[
		folder(config.prefix, { start: "", end: "", model }),
		config.max_file_size_mb ? "numbered" : "",
		formatOf(config).suffix,
	].join();

export type KeyOf = (job: Job, file: FileOfRun) => string;

/**
 * Returns the function that names the files of runs. A backfill has different rows than the
 * schedule, so its files have different keys.
 * @param root returns the folder that contains the prefix
 */
export function keysOf(config: FilesConfig, root: (job: Job) => string): KeyOf {
	return (job, file) => {
		const key = joined(root(job), keyBelow(config, job, file));
		if (Buffer.byteLength(key) > MAX_KEY_BYTES)
			throw new MisconfiguredError(
				`The prefix is too long: keys have at most ${MAX_KEY_BYTES} bytes.`,
			);
		return key;
	};
}

/** Returns the key of the object that a test of the destination writes and removes. */
export function testKey({ prefix }: FilesConfig, root: string) {
	const now = new Date().toISOString();
	const window = { start: now, end: now, model: "events" } as const;
	return joined(root, folder(prefix, window), `.tenantry-test-${crypto.randomUUID()}`);
}
