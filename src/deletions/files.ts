import { rootOf } from "../exports/destinations/files/names.ts";
import { writerOf } from "../exports/destinations/r2/bucket.ts";

/** Pages of at most 1,000 files that a tick looks at. */
const MAX_PAGES = 50;

/** What has written files: a project's exports, or one of them. */
type Writer = { project: number | null; export_id?: string };

/**
 * Removes files from the worker's own bucket, to which nobody else has a way. Other destinations keep
 * what was written.
 * @param after the key after which to continue
 * @returns where to continue; null if there are none left
 */
export async function removeFiles(
	{ EXPORTS }: Env,
	{ project, export_id }: Writer,
	after: string | null,
) {
	let last = after;
	for (let page = 0; page < MAX_PAGES; page += 1) {
		const found = await EXPORTS.list({
			prefix: `${rootOf(true, project ?? 0)}/`,
			include: ["customMetadata"],
			...(last !== null && { startAfter: last }),
		});
		const keys = found.objects
			.filter((object) => export_id === undefined || writerOf(object) === export_id)
			.map(({ key }) => key);
		if (keys.length > 0) await EXPORTS.delete(keys);
		if (!found.truncated) return null;
		last = found.objects.at(-1)?.key ?? last;
	}
	return last;
}
