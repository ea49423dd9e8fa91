import { ByteWriter } from "hyparquet-writer";
import { csv, fieldBytes } from "../formats/csv.ts";
import type { Encoder } from "../formats/format.ts";
import { jsonLines } from "../formats/jsonlines.ts";
import { parquet } from "../formats/parquet.ts";
import { bytesOf, type Column, type Row } from "../rows.ts";
import type { Config } from "./config.ts";
import { type Destination, type Job, Misconfigured, Superseded } from "./destination.ts";
import { runSteps } from "./steps.ts";

/** What all parts of an upload but the last have to be, in bytes: at R2 equal, at S3 this at least. */
const PART_BYTES = 5 * 2 ** 20;

/** The largest buffer that one run leaves to the next. */
const MAX_SPARE_BYTES = 2 * PART_BYTES;

/** The most parts of an upload, at S3 and R2. */
const MAX_PARTS = 10_000;

/** What a state may take, which is kept in a value of D1 (at most 2,000,000 bytes). */
const MAX_STATE_BYTES = 1_500_000;

/** How many of these may be the bytes behind a part, in base64. */
const MAX_REST_BYTES = (MAX_STATE_BYTES * 3) / 4;

/** Up to how many bytes of rows are encoded at once. */
const PORTION_BYTES = 2 ** 18;

/** How far behind a part's end rows are encoded that have to be gathered: far enough to be sure that the part is full. */
const MARGIN_BYTES = 2 ** 18;

/** The longest key, in bytes, at S3 and R2. */
const MAX_KEY_BYTES = 1024;

/** Which export and which upload wrote an object; both are in its metadata. */
export type Mark = { export_id: string; upload: string };

/**
 * What S3 and R2 have in common. A key names an object; an upload is a multipart one, of which nothing appears before it is
 * completed.
 */
export type Bucket = {
	/** @throws if the answer lacks the ETag that tells that the object is stored */
	put(key: string, body: Uint8Array, type: string, mark: Mark): Promise<void>;
	/** Begins an upload; its object will carry the mark. */
	begin(key: string, type: string, mark: Mark): Promise<string>;
	/** What to complete the upload with; null: there is no such upload any more. */
	part(key: string, upload: string, number: number, body: Uint8Array): Promise<string | null>;
	/** Whether it was there to be completed. */
	complete(key: string, upload: string, parts: string[]): Promise<boolean>;
	/** Ends an upload, if it is there. */
	abort(key: string, upload: string): Promise<void>;
	/** The mark of the object; null if there is no object, or it may not be read. Parts that are missing are "". */
	mark(key: string): Promise<Mark | null>;
	remove(key: string): Promise<void>;
};

/** A file under way: an upload, the mark that its object will carry, and what its parts are called. */
type Upload = { id: string; mark: string; parts: string[] };

/**
 * `uploads`: of files before the current one, which are whole but for being completed; of the current one; and of later
 * ones, if they were begun before a crash. `rest`: the current file's bytes behind its last part, in base64.
 */
export type State = {
	uploads: Upload[];
	current: number;
	rest: string;
	encoder: string;
	/** How many files have appeared. */
	closed?: number;
};

/** Of what no export wrote. */
const NO_MARK: Mark = { export_id: "", upload: "" };

type Files = Pick<Config<"S3">, "prefix" | "file_format" | "compression" | "max_file_size_mb">;

const FORMATS = {
	JSONLines: { suffix: ".jsonl", type: "application/jsonl" },
	CSV: { suffix: ".csv", type: "text/csv" },
	Parquet: { suffix: ".parquet", type: "application/vnd.apache.parquet" },
};

const COMPRESSIONS = {
	gzip: { suffix: ".gz", type: "application/gzip" },
	zstd: { suffix: ".zst", type: "application/zstd" },
};

/** How lines are compressed; snappy is for Parquet alone. */
const lineCompression = ({ compression }: Files) =>
	compression === "snappy" ? null : (compression ?? null);

/** How the names of files end, and their media type. Parquet is compressed inside the file, so its name doesn't tell. */
function formatOf(config: Files) {
	const format = FORMATS[config.file_format ?? "JSONLines"];
	const compression = lineCompression(config);
	if (format === FORMATS.Parquet || compression === null) return format;
	const { suffix, type } = COMPRESSIONS[compression];
	return { suffix: format.suffix + suffix, type };
}

/** The folder in which a run's files are (docs/exports.md#what-is-written). */
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

/** What the keys of a model's files have in common, whatever the window: equal for two configs, they name the same objects. */
export const filePattern = (config: Files, model: Job["model"]) =>
	[
		folder(config.prefix, { start: "", end: "", model }),
		config.max_file_size_mb ? "numbered" : "",
		formatOf(config).suffix,
	].join();

const joined = (...parts: string[]) => parts.filter(Boolean).join("/");

/** The bytes of a row's values in a CSV file. */
const csvBytesOf = (row: Row) =>
	row.reduce<number>((sum, value) => sum + (typeof value === "string" ? fieldBytes(value) : 8), 0);

/**
 * The rows in portions of about `PORTION_BYTES`, and about how many bytes each comes to as text.
 * @param sizeOf how many bytes the values of a row have
 */
function* portions(columns: Column[], rows: Row[], sizeOf: (row: Row) => number) {
	// Of each row the names, quotes and punctuation of JSON.
	const frame = columns.reduce((sum, { name }) => sum + name.length + 6, 2);
	let from = 0;
	let bytes = 0;
	for (const [i, row] of rows.entries()) {
		bytes += frame + sizeOf(row);
		if (bytes < PORTION_BYTES && i < rows.length - 1) continue;
		yield { rows: rows.slice(from, i + 1), bytes };
		from = i + 1;
		bytes = 0;
	}
}

/**
 * The buffer of a run that has ended, for the next one: the runtime collects large buffers that are thrown away so late
 * that they make up most of the memory.
 */
let spare: ByteWriter | null = null;

/** Bytes that wait for their part. They are gathered in one buffer, which doubles up to the size of a part or a bit more. */
function partBuffer(bytes: Uint8Array) {
	const writer = spare ?? new ByteWriter(PART_BYTES / 16);
	spare = null;
	writer.index = 0;
	writer.appendBytes(bytes);
	return {
		get length() {
			return writer.index;
		},
		push: (more: Uint8Array) => writer.appendBytes(more),
		/** A view of the bytes, valid until the next change. */
		all: () => writer.getBytes(),
		clear() {
			writer.index = 0;
		},
		/** Leaves the buffer to another run. It must not be used after this. */
		release() {
			if (writer.buffer.byteLength <= MAX_SPARE_BYTES) spare = writer;
		},
	};
}

/**
 * Writes files into a bucket. Whatever a run writes appears when it closes: the files in their order, then the manifest.
 * Until then a file is an upload, or so small that one request puts it there.
 * @param root the folder that the prefix is in; of a trial, which has no job, too
 * @param before what a trial does before it writes
 */
export function files(
	bucket: Bucket,
	config: Files,
	root: (job?: Job) => string,
	before: Record<string, () => Promise<unknown>> = {},
): Destination<State> {
	const { suffix, type } = formatOf(config);
	const sizeOf = config.file_format === "CSV" ? csvBytesOf : bytesOf;
	const most = (config.max_file_size_mb ?? 0) * 1_000_000;

	/** The key of a run's file, or of its manifest. A backfill's rows are other ones than the schedule's, so they get other keys. */
	function keyOf(job: Job, file: number | "manifest") {
		const window = `${job.start}-${job.end}`;
		const series = job.backfill ? "-backfill" : "";
		const name =
			file === "manifest"
				? `${window}_manifest${series}.json`
				: `${window}${most ? `-${file}` : ""}${series}${suffix}`;
		const key = joined(root(job), folder(config.prefix, job), name);
		if (Buffer.byteLength(key) > MAX_KEY_BYTES)
			throw new Misconfigured(`The prefix is too long: keys have at most ${MAX_KEY_BYTES} bytes.`);
		return key;
	}

	const encode = (columns: Column[], offset = 0, state = ""): Encoder => {
		switch (config.file_format) {
			case "Parquet":
				return parquet(columns, config.compression ?? null, { offset, state });
			case "CSV":
				return csv(columns, lineCompression(config), offset);
			default:
				return jsonLines(columns, lineCompression(config));
		}
	};

	return {
		database: false,

		async open(job, state, keep) {
			/** What was kept last, and what has been begun since. */
			let kept = structuredClone(state ?? { uploads: [], current: 0, rest: "", encoder: "" });
			const uploads = structuredClone(kept.uploads);
			let { current } = kept;
			const rest = partBuffer(Buffer.from(kept.rest, "base64"));
			let sent = (uploads[current]?.parts.length ?? 0) * PART_BYTES;
			let encoder = encode(job.columns, sent + rest.length, kept.encoder);
			/** Files that appeared before a crash kept us from noticing. */
			const done = new Set<string>();
			let moved = false;

			const size = () => sent + rest.length + encoder.pending;

			/** The metadata of a file of this run. */
			const markOf = (upload: string): Mark => ({
				export_id: job.export_id,
				upload,
			});

			/** Throws if another export wrote the object. */
			async function assertOwn(key: string) {
				const { export_id = "" } = (await bucket.mark(key)) ?? {};
				if (export_id !== "" && export_id !== job.export_id)
					throw new Misconfigured(
						`The export ${export_id} wrote ${key}. Two exports can't write the same objects: change the prefix of one of them.`,
					);
			}

			/** Whether the upload's object is there, which is why the upload isn't. */
			async function appeared(key: string, { mark }: Upload) {
				if (!done.has(mark) && (await bucket.mark(key))?.upload !== mark)
					throw new Misconfigured(
						"The unfinished upload is gone from the bucket: somebody, or a rule of the bucket, removed it.",
					);
				done.add(mark);
			}

			async function begin() {
				const mark = `${job.run_id}/${crypto.randomUUID()}`;
				const key = keyOf(job, current);
				await assertOwn(key);
				const id = await bucket.begin(key, type, markOf(mark));
				const upload = { id, mark, parts: [] };
				kept.uploads[current] = structuredClone(upload);
				await keep(structuredClone(kept)).catch(async (error: unknown) => {
					if (error instanceof Superseded) await bucket.abort(key, id).catch(() => {});
					throw error;
				});
				return upload;
			}

			async function part(body: Uint8Array) {
				const upload = uploads[current] ?? (await begin());
				uploads[current] = upload;
				const key = keyOf(job, current);
				if (upload.parts.length === MAX_PARTS)
					throw new Misconfigured("The file is too large for one upload: set max_file_size_mb.");
				const name = done.has(upload.mark)
					? null
					: await bucket.part(key, upload.id, upload.parts.length + 1, body);
				if (name === null) await appeared(key, upload);
				upload.parts.push(name ?? "");
				moved = true;
			}

			async function append(bytes: Uint8Array) {
				for (let left = bytes; left.length > 0; ) {
					const room = PART_BYTES - rest.length;
					rest.push(left.subarray(0, room));
					left = left.subarray(room);
					if (rest.length < PART_BYTES) return;
					await part(rest.all());
					sent += PART_BYTES;
					rest.clear();
				}
			}

			/** All of the current file goes to the bucket. */
			async function end() {
				await append(encoder.finish());
				if (rest.length > 0) await part(rest.all());
			}

			async function next() {
				await end();
				current += 1;
				// What a crash left of the next file's upload is written over.
				uploads[current]?.parts.splice(0);
				rest.clear();
				sent = 0;
				encoder = encode(job.columns);
			}

			async function closeFile(key: string, upload: Upload | undefined) {
				await assertOwn(key);
				if (!upload) await bucket.put(key, rest.all(), type, markOf(""));
				else if (!done.has(upload.mark) && !(await bucket.complete(key, upload.id, upload.parts)))
					await appeared(key, upload);
			}

			/** Closes the files in their order. If that fails, the next try goes on after the last one that appeared. */
			async function closeFiles(keys: string[]) {
				const { closed: before = 0 } = kept;
				let closed = before;
				try {
					for (const [i, key] of keys.entries()) {
						if (i < closed) continue;
						await closeFile(key, uploads[i]);
						closed = i + 1;
					}
				} catch (error) {
					if (closed > before) await keep(structuredClone({ ...kept, closed }), true);
					throw error;
				}
			}

			/** Whether a call is under way, or has failed, so that a request may still be reading the buffer. */
			let isBusy = false;

			return {
				async write(rows) {
					isBusy = true;
					for (const portion of portions(job.columns, rows, sizeOf)) {
						const full = () => most > 0 && size() > 0 && size() + portion.bytes > most;
						if (full()) await append(encoder.flush());
						if (full()) await next();
						await append(await encoder.write(portion.rows, portion.bytes));
					}
					if (rest.length + encoder.pending > PART_BYTES + MARGIN_BYTES || moved)
						await append(encoder.flush());
					isBusy = false;
					if (!moved || rest.length > MAX_REST_BYTES) return null;
					const state = structuredClone({
						uploads,
						current,
						rest: Buffer.from(rest.all()).toString("base64"),
						encoder: encoder.state(),
						closed: kept.closed ?? 0,
					});
					const bytes = JSON.stringify(state).length;
					if (bytes - state.rest.length > MAX_STATE_BYTES)
						throw new Misconfigured("There is more than one run can write: shorten the interval.");
					if (bytes > MAX_STATE_BYTES) return null;
					moved = false;
					kept = structuredClone(state);
					return state;
				},

				async close() {
					if (current === 0 && size() === 0) return [];
					isBusy = true;
					if (uploads[current]) await end();
					else rest.push(encoder.finish());
					const keys = Array.from({ length: current + 1 }, (_, i) => keyOf(job, i));
					await closeFiles(keys);
					if (most)
						await bucket.put(
							keyOf(job, "manifest"),
							Buffer.from(JSON.stringify({ files: keys })),
							"application/json",
							markOf(""),
						);
					isBusy = false;
					return keys;
				},

				release() {
					if (!isBusy) rest.release();
				},
			};
		},

		async abort(job, { uploads }) {
			for (const [i, { id }] of uploads.entries()) await bucket.abort(keyOf(job, i), id);
		},

		test() {
			const now = new Date().toISOString();
			const key = joined(
				root(),
				folder(config.prefix, { start: now, end: now, model: "events" }),
				`.tenantry-test-${crypto.randomUUID()}`,
			);
			return runSteps({
				...before,
				write: () => bucket.put(key, Buffer.from("test"), "text/plain", NO_MARK),
				remove: () => bucket.remove(key),
			});
		},
	};
}
