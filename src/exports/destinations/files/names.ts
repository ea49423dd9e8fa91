/** Names files. The console also uses it, to show the first file's name while the user types. */

export type FilesConfig = {
	prefix: string;
	file_format?: "JSONLines" | "Parquet" | "CSV" | null | undefined;
	compression?: "gzip" | "snappy" | "zstd" | null | undefined;
	max_file_size_mb?: number | null | undefined;
};

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

/** The media types of all files. */
export const FILE_TYPES = [...Object.values(FORMATS), ...Object.values(COMPRESSIONS)].map(
	({ type }) => type,
);

/** Returns how lines are compressed. Only Parquet supports snappy. */
export const lineCompression = ({ compression }: FilesConfig) =>
	compression === "snappy" ? null : (compression ?? null);

/** Returns the suffix and media type of files. Parquet is compressed inside the file. */
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
	const moment = { year, month, day, hour, minute, second };
	const range = { data_interval_start: start, data_interval_end: end, table: model };
	// Hadoop doesn't accept colons in paths.
	const window = `${start}-${end}`.replaceAll(":", "");
	const variables = new Map(Object.entries({ ...moment, ...range, window }));
	return prefix
		.replace(/\{(\w+)\}/g, (all, name) => variables.get(name) ?? all)
		.replace(/\/{2,}/g, "/")
		.replace(/^\/|\/$/g, "");
}

/** Returns the folder above the prefix: in the service's own bucket, that of the project. */
export const rootOf = (isOwn: boolean, project: number | string) => (isOwn ? String(project) : "");

export const joined = (...parts: string[]) => parts.filter(Boolean).join("/");

/** A file of a run, from 0; its manifest; or what all keys of the window begin with. */
export type FileOfRun = number | "manifest" | "window";

/** Matches the end of a file's key after its window, whatever the format. */
const AFTER_WINDOW =
	/^(?:-\d+(?<numbered>-backfill)?|(?<whole>-backfill)?)\.(?:jsonl|csv|parquet)(?:\.gz|\.zst)?$|^_manifest(?<manifest>-backfill)?\.json$/;

/** Whether this may follow the window in the key of a file of the schedule or of a backfill. */
export function isFileOfWindow(rest: string, { backfill }: Pick<Run, "backfill">) {
	const match = AFTER_WINDOW.exec(rest);
	const { numbered, whole, manifest } = match?.groups ?? {};
	return match !== null && backfill === Boolean(numbered ?? whole ?? manifest);
}

/** Whether the last part of a prefix names the files, instead of a folder. */
const namesFiles = (prefix: string) => prefix.split("/").at(-1)?.includes("{window}") ?? false;

/** Returns the key of a run's file below the folder of the destination. */
export function keyBelow(config: FilesConfig, run: Run, file: FileOfRun) {
	const { suffix } = formatOf(config);
	const place = folder(config.prefix, run);
	const window = namesFiles(config.prefix) ? place : joined(place, `${run.start}-${run.end}`);
	if (file === "window") return window;
	const series = run.backfill ? "-backfill" : "";
	return file === "manifest"
		? `${window}_manifest${series}.json`
		: `${window}${config.max_file_size_mb ? `-${file}` : ""}${series}${suffix}`;
}
