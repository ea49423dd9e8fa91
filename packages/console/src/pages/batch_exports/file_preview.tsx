import { type FilesConfig, joined, keyBelow } from "tenantry-file-names";
import { boundaryBefore, boundaryPast, type Grid } from "../../../../../src/exports/engine/grid.ts";
import type { Config } from "../../ui/settings.ts";

const has = <T extends string>(value: unknown, ...choices: T[]) =>
	choices.find((choice) => choice === value);

/**
 * Returns the settings that determine the names of files; undefined if the destination has no
 * files.
 */
function filesOf({ prefix, file_format, compression, max_file_size_mb }: Config) {
	if (typeof prefix !== "string") return undefined;
	return {
		prefix,
		file_format: has(file_format, "JSONLines", "Parquet", "CSV"),
		compression: has(compression, "gzip", "snappy", "zstd"),
		max_file_size_mb: typeof max_file_size_mb === "number" ? max_file_size_mb : null,
	} satisfies FilesConfig;
}

/** Shows the name of the file for the current window while the user edits the settings. */
export function FilePreview({
	root,
	config,
	grid,
	model,
}: {
	/** The folder above the prefix. */
	root: string;
	config: Config;
	grid: Grid;
	model: "events" | "persons";
}) {
	const files = filesOf(config);
	if (!files) return null;
	const now = Date.now();
	const [from, until] = [boundaryBefore(grid, now), boundaryPast(grid, now)].map((at) =>
		new Date(at).toISOString(),
	);
	const run = { start: from ?? "", end: until ?? "", model, backfill: false };
	return (
		<div class="file-preview">
			<p class="soft">First file{files.max_file_size_mb ? " of several" : ""}:</p>
			<code>{joined(root, keyBelow(files, run, 0))}</code>
		</div>
	);
}
