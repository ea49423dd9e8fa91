import { MisconfiguredError } from "../../../outbound/errors.ts";
import { isFileOfWindow } from "./names.ts";
import type { UploadContext } from "./uploads.ts";

const MAX_NAMED = 10;

/**
 * Removes the objects that earlier runs of the export wrote for the window, and that the latest run
 * didn't write: otherwise a reader of the folder would get their rows twice. An object without the
 * mark of the export is never removed.
 * @param written the keys that the latest run wrote
 * @returns warnings about objects that couldn't be removed
 */
export async function removeLeftovers(
	{ bucket, job, keyOf }: Pick<UploadContext, "bucket" | "job" | "keyOf">,
	written: Set<string>,
): Promise<string[]> {
	const left: string[] = [];
	let why = "";
	/** Remembers a permanent error, such as a missing permission. */
	function note(error: unknown) {
		if (!(error instanceof MisconfiguredError)) throw error;
		why = error.message;
	}
	const window = keyOf(job, "window");
	try {
		for await (const keys of bucket.list(window))
			for (const key of keys) {
				if (written.has(key) || !isFileOfWindow(key.slice(window.length), job)) continue;
				const mark = await bucket.mark(key);
				// The object exists, so its mark can't be read.
				if (mark === null) left.push(key);
				else if (mark.export_id === job.export_id)
					await bucket.remove(key).catch((error: unknown) => {
						note(error);
						left.push(key);
					});
			}
	} catch (error) {
		note(error);
		return [
			`Files of an earlier run of this window may still be there, because the bucket can't be listed. ${why}`,
		];
	}
	if (left.length === 0) return [];
	const more = left.length > MAX_NAMED ? ` and ${left.length - MAX_NAMED} more` : "";
	return [
		`Files of an earlier run of this window couldn't be removed, so readers of the folder may get rows twice. Remove them: ${left.slice(0, MAX_NAMED).join(", ")}${more}. ${why}`.trim(),
	];
}
