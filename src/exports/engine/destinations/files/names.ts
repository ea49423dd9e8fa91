/** Names files. This also runs in the browser, which shows the first file's name. */

/** The part of a config that defines the files. */
export type FilesConfig = {
	prefix: string;
	file_format?: "JSONLines" | "Parquet" | "CSV" | null | undefined;
	compression?: "gzip" | "snappy" | "zstd" | null | undefined;
	max_file_size_mb?: number | null | undefined;
};

/** The run that writes a file. */
type Run = { start: string; end: string; model: "events" | "persons"; backfill: boolean };

const FORMATS = {
	JSONLines: { suffix: ".jsonl", type: "application/jsonl" },
	CSV: { suffix: ".csv", type: "text/csv" },
	Parquet: { suffix: ".parquet", type: "application/vnd.apache.parquet" },
};

const COMPRESSIONS = {
	gzip: { suffix: ".gz", type: "application/gzip" },
	zstd: { suffix: ".zst", type: "application/zstd" },
};

/** Returns how lines are compressed. Only Parquet supports snappy. */
export const lineCompression = ({ compression }: FilesConfig) =>
	compression === "snappy" ? null : (compression ?? null);

/**
 * Returns the suffix and media type of files. Parquet is compressed inside the file, so its suffix
 * doesn't have the compression.
 */
export function formatOf(config: FilesConfig) {
	const format = FORMATS[config.file_format ?? "JSONLines"];
	const compression = lineCompression(config);
	if (format === FORMATS.Parquet || compression === null) return format;
	const { suffix, type } = COMPRESSIONS[compression];
	return { suffix: format.suffix + suffix, type };
}

/** Returns the folder of a run's files (docs/exports.md#what-is-written). */
export function folder(prefix: string, { start, end, model }: Omit<Run, "backfill">) {
	const [year, month, day, hour, minute, second] = end.split(/\D/);
	const variables = new Map(
		Object.entries({
			year,
			month,
			day,
			hour,
			minute,
			second,
			data_interval_start: start,
			data_interval_end: end,
			table: model,
		}),
	);
	return prefix
		.replace(/\{(\w+)\}/g, (all, name) => variables.get(name) ?? all)
		.replace(/\/{2,}/g, "/")
		.replace(/^\/|\/$/g, "");
}

export const joined = (...parts: string[]) => parts.filter(Boolean).join("/");

/** A file of a run, counted from 0, its manifest, or the beginning of all keys of the window. */
export type FileOfRun = number | "manifest" | "window";

/** Matches the end of a file's key after its window, whatever the format. */
const AFTER_WINDOW =
	/^(?:-\d+(?<numbered>-backfill)?|(?<whole>-backfill)?)\.(?:jsonl|csv|parquet)(?:\.gz|\.zst)?$|^_manifest(?<manifest>-backfill)?\.json$/;

/** Whether this follows the window in the key of a file of a schedule or a backfill. */
export function isFileOfWindow(rest: string, { backfill }: Pick<Run, "backfill">) {
	const match = AFTER_WINDOW.exec(rest);
	const { numbered, whole, manifest } = match?.groups ?? {};
	return match !== null && backfill === Boolean(numbered ?? whole ?? manifest);
}

/** Returns the key of a run's file below the folder of the destination. */
export function keyBelow(config: FilesConfig, run: Run, file: FileOfRun) {
	const { suffix } = formatOf(config);
	const window = `${run.start}-${run.end}`;
	if (file === "window") return joined(folder(config.prefix, run), window);
	const series = run.backfill ? "-backfill" : "";
	const name =
		file === "manifest"
			? `${window}_manifest${series}.json`
			: `${window}${config.max_file_size_mb ? `-${file}` : ""}${series}${suffix}`;
	return joined(folder(config.prefix, run), name);
}
