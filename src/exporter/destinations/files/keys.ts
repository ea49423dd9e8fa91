import type { Config } from "../config.ts";
import { type Job, Misconfigured } from "../destination.ts";
import { MAX_KEY_BYTES } from "./bucket.ts";

/** The part of a config that says which files are written. */
export type FilesConfig = Pick<
	Config<"S3">,
	"prefix" | "file_format" | "compression" | "max_file_size_mb"
>;

const FORMATS = {
	JSONLines: { suffix: ".jsonl", type: "application/jsonl" },
	CSV: { suffix: ".csv", type: "text/csv" },
	Parquet: { suffix: ".parquet", type: "application/vnd.apache.parquet" },
};

const COMPRESSIONS = {
	gzip: { suffix: ".gz", type: "application/gzip" },
	zstd: { suffix: ".zst", type: "application/zstd" },
};

/** How lines are compressed. Only Parquet has snappy. */
export const lineCompression = ({ compression }: FilesConfig) =>
	compression === "snappy" ? null : (compression ?? null);

/** The suffix and media type of files. Parquet is compressed inside the file, so its suffix doesn't tell. */
export function formatOf(config: FilesConfig) {
	const format = FORMATS[config.file_format ?? "JSONLines"];
	const compression = lineCompression(config);
	if (format === FORMATS.Parquet || compression === null) return format;
	const { suffix, type } = COMPRESSIONS[compression];
	return { suffix: format.suffix + suffix, type };
}

/** The folder of a run's files (docs/exports.md#what-is-written). */
function folder(prefix: string, { start, end, model }: Pick<Job, "start" | "end" | "model">) {
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

/** What all keys of a model's files have in common. Two configs with the same pattern write the same objects. */
export const filePattern = (config: FilesConfig, model: Job["model"]) =>
	[
		folder(config.prefix, { start: "", end: "", model }),
		config.max_file_size_mb ? "numbered" : "",
		formatOf(config).suffix,
	].join();

const joined = (...parts: string[]) => parts.filter(Boolean).join("/");

/** The key of a run's nth file, from 0, or of its manifest. */
export type KeyOf = (job: Job, file: number | "manifest") => string;

/**
 * Names the files of runs. A backfill has other rows than the schedule, so its files have other keys.
 * @param root the folder that the prefix is in
 */
export function keysOf(config: FilesConfig, root: (job: Job) => string): KeyOf {
	const { suffix } = formatOf(config);
	return (job, file) => {
		const window = `${job.start}-${job.end}`;
		const series = job.backfill ? "-backfill" : "";
		const name =
			file === "manifest"
				? `${window}_manifest${series}.json`
				: `${window}${config.max_file_size_mb ? `-${file}` : ""}${series}${suffix}`;
		const key = joined(root(job), folder(config.prefix, job), name);
		if (Buffer.byteLength(key) > MAX_KEY_BYTES)
			throw new Misconfigured(`The prefix is too long: keys have at most ${MAX_KEY_BYTES} bytes.`);
		return key;
	};
}

/** The key of the object that a test of the destination writes and removes. */
export function testKey({ prefix }: FilesConfig, root: string) {
	const now = new Date().toISOString();
	return joined(
		root,
		folder(prefix, { start: now, end: now, model: "events" }),
		`.tenantry-test-${crypto.randomUUID()}`,
	);
}
