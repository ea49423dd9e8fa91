import { type FilesConfig, keyBelow } from "tenantry-file-names";
import type { Config } from "./destinations.ts";
import { boundaryBefore, type Interval, LENGTHS } from "./windows.ts";

const has = <T extends string>(value: unknown, ...choices: T[]) =>
	choices.find((choice) => choice === value);

/** The part of a config that names files; undefined if the destination has none. */
function filesOf({ prefix, file_format, compression, max_file_size_mb }: Config) {
	if (typeof prefix !== "string") return undefined;
	return {
		prefix,
		file_format: has(file_format, "JSONLines", "Parquet", "CSV"),
		compression: has(compression, "gzip", "snappy", "zstd"),
		max_file_size_mb: typeof max_file_size_mb === "number" ? max_file_size_mb : null,
	} satisfies FilesConfig;
}

/** The name of the file that the window under way will be written to, as one types the settings. */
export function FilePreview({
	config,
	interval,
	model,
}: {
	config: Config;
	interval: Interval;
	model: "events" | "persons";
}) {
	const files = filesOf(config);
	if (!files) return null;
	const start = boundaryBefore(interval, Date.now());
	const [from, until] = [start, start + LENGTHS[interval]].map((at) => new Date(at).toISOString());
	const run = { start: from ?? "", end: until ?? "", model, backfill: false };
	return (
		<div class="file-preview">
			<p class="soft">The first file{files.max_file_size_mb ? " of several" : ""}:</p>
			<code>{keyBelow(files, run, 0)}</code>
		</div>
	);
}
