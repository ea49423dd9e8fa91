/** Writes rows to data files, one for each partition at a time. */
// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import type { RowGroup } from "hyparquet";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { parquet } from "../../formats/parquet.ts";
import type { Kind } from "../../query/expression.ts";
import type { Row } from "../../query/rows.ts";
import { MAX_PARTS, PART_BYTES } from "../buckets/bucket.ts";
import { portions } from "../files/portions.ts";
import type { DataFile, Metrics } from "./manifests.ts";
import { type Storage, twice } from "./storage.ts";
import type { Layout } from "./table.ts";

/** What is in memory at most: rows that aren't in a row group yet, and bytes before their upload. */
const MAX_PENDING_BYTES = 16 * 2 ** 20;
const MAX_REST_BYTES = 40 * 2 ** 20;

/** All files end when they have this many bytes together, so that a run can save its position. */
const MAX_BYTES = 128 * 2 ** 20;

/** How many files are written at the same time. */
const MAX_FILES = 250;

const TYPE = "application/vnd.apache.parquet";

/** An upload that has begun. */
export type Upload = { key: string; id: string };

type Context = {
	layout: Layout;
	storage: Storage;
	export_id: string;
	/** Returns the location of the next file. */
	nextPath: () => Promise<string>;
	/** Called when an upload has begun, before its first part. */
	begun: (upload: Upload) => Promise<void>;
};

const gone = () => new Error("The unfinished upload is gone from the bucket.");

/** Writes an object of unknown size: in parts as soon as they are full, else at once. */
function objectWriter({ storage: { bucket }, export_id, begun }: Context, key: string) {
	const mark = { export_id, upload: crypto.randomUUID() };
	let rest: Uint8Array[] = [];
	let length = 0;
	let sent = 0;
	let upload: string | undefined;
	const etags: string[] = [];

	async function send(body: Uint8Array) {
		const id = upload ?? (await bucket.begin(key, TYPE, mark));
		if (upload === undefined) await begun({ key, id });
		upload = id;
		if (etags.length === MAX_PARTS) throw new Error("A data file has too many parts.");
		const etag = await twice(() => bucket.part(key, id, etags.length + 1, body));
		if (etag === null) throw gone();
		etags.push(etag);
		sent += body.length;
	}

	return {
		size: () => sent + length,
		/** How many bytes are in memory. */
		rest: () => length,

		/** Appends a copy of the bytes. */
		async append(bytes: Uint8Array) {
			rest.push(bytes.slice());
			length += bytes.length;
			if (length < PART_BYTES) return;
			const all = Buffer.concat(rest);
			const whole = length - (length % PART_BYTES);
			for (let at = 0; at < whole; at += PART_BYTES) await send(all.subarray(at, at + PART_BYTES));
			rest = [new Uint8Array(all.subarray(whole))];
			length -= whole;
		},

		async end() {
			const all = Buffer.concat(rest);
			rest = [];
			length = 0;
			if (upload === undefined) {
				await twice(() => bucket.put(key, all, TYPE, mark));
				sent = all.length;
				return;
			}
			const id = upload;
			if (all.length > 0) await send(all);
			const isComplete = await twice(() => bucket.complete(key, id, etags));
			// The object has appeared if the first response was lost.
			if (!isComplete && (await bucket.mark(key))?.upload !== mark.upload) throw gone();
		},
	};
}

/** A bound in Iceberg's format of single values (https://iceberg.apache.org/spec/#appendix-d-single-value-serialization). */
function bound(kind: Kind, value: unknown): string | undefined {
	const bytes = Buffer.alloc(8);
	switch (kind) {
		case "text":
			return typeof value === "string" ? Buffer.from(value).toString("base64") : undefined;
		case "number":
			if (typeof value !== "number") return undefined;
			bytes.writeDoubleLE(value);
			return bytes.toString("base64");
		case "integer":
		case "timestamp":
			if (typeof value !== "bigint" && typeof value !== "number") return undefined;
			bytes.writeBigInt64LE(BigInt(value));
			return bytes.toString("base64");
		case "date":
			if (typeof value !== "number") return undefined;
			return bytes.subarray(0, bytes.writeInt32LE(value)).toString("base64");
		default:
			return undefined;
	}
}

type Bound = NonNullable<
	NonNullable<RowGroup["columns"][number]["meta_data"]>["statistics"]
>["min_value"];

/** Returns the larger bound, or the smaller one. Texts are compared as UTF-8, as Iceberg does. */
function extreme(bounds: Bound[], sign: 1 | -1) {
	const order = (a: NonNullable<Bound>, b: NonNullable<Bound>) =>
		typeof a === "string" && typeof b === "string"
			? Buffer.compare(Buffer.from(a), Buffer.from(b))
			: a < b
				? -1
				: 1;
	// A row group whose bound isn't known makes that of the file unknown.
	if (bounds.includes(undefined)) return undefined;
	return bounds.reduce((best, one) => {
		if (best === undefined || one === undefined) return undefined;
		return sign * order(one, best) > 0 ? one : best;
	});
}

/** Returns the metrics of a file's columns, from the statistics of its row groups. */
function metricsOf(columns: Layout["columns"], groups: RowGroup[]): Metrics[] {
	return columns.map(({ field_id, kind, name, isRequired }, i) => {
		const all = groups.flatMap(({ columns: chunks }) => chunks[i]?.meta_data ?? []);
		const values = all.reduce((sum, { num_values }) => sum + Number(num_values), 0);
		const nulls = all.reduce(
			(sum, { statistics }) => sum + Number(statistics?.null_count ?? 0n),
			0,
		);
		if (isRequired && nulls > 0)
			throw new MisconfiguredError(
				`The column ${name} of the table is required, but rows of the export have no value for it: make it optional.`,
			);
		const filled = all.flatMap(({ num_values, statistics }) =>
			statistics && Number(num_values) > Number(statistics.null_count) ? [statistics] : [],
		);
		const [first] = filled;
		if (!first || kind === "json") return { id: field_id, values, nulls };
		const lower = extreme(
			filled.map(({ min_value }) => min_value),
			-1,
		);
		const upper = extreme(
			filled.map(({ max_value }) => max_value),
			1,
		);
		return {
			id: field_id,
			values,
			nulls,
			lower: bound(kind, lower),
			upper: bound(kind, upper),
		};
	});
}

type Partition = DataFile["partition"];

/** JSON has no integers of 64 bits. */
const storable = (value: unknown): Partition[number] =>
	typeof value === "bigint"
		? String(value)
		: typeof value === "string" || typeof value === "number" || typeof value === "boolean"
			? value
			: null;

async function openFile(context: Context, partition: Partition) {
	const { layout, storage } = context;
	const path = await context.nextPath();
	const object = objectWriter(context, storage.keyOf(path));
	const encoder = parquet(layout.columns, "zstd", null);
	let rows = 0;

	async function append(pieces: Uint8Array[]) {
		for (const piece of pieces) await object.append(piece);
	}

	return {
		rest: object.rest,
		pending: () => encoder.pending,
		size: () => object.size() + encoder.pending,
		release: () => encoder.release?.(),
		flush: () => append(encoder.flush()),

		async write(more: Row[], sizes: number[]) {
			const all = [...more];
			rows += all.length;
			const parts = portions({ prefix: "", file_format: "Parquet" }, layout.columns, all, sizes);
			for (const portion of parts) await append(await encoder.write(portion.rows, portion.bytes));
		},

		async end(): Promise<DataFile> {
			await append(encoder.finish());
			const metrics = metricsOf(layout.columns, encoder.groups());
			await object.end();
			return { path, spec_id: layout.spec.id, partition, rows, bytes: object.size(), metrics };
		},
	};
}

type OpenFile = Awaited<ReturnType<typeof openFile>>;

/** Writes rows to files, which end together. */
export function dataFiles(context: Context) {
	const { partitions } = context.layout;
	const files = new Map<string, OpenFile>();
	const sum = (of: (file: OpenFile) => number) =>
		[...files.values()].reduce((all, file) => all + of(file), 0);

	const partitionOf = (row: Row) =>
		partitions.map(({ column, transform }) => storable(transform.of(row[column] ?? null)));

	function grouped(rows: Row[], sizes: number[]) {
		const groups = new Map<string, { partition: Partition; rows: Row[]; sizes: number[] }>();
		for (const [i, row] of rows.entries()) {
			const partition = partitionOf(row);
			const key = JSON.stringify(partition);
			const group = groups.get(key) ?? { partition, rows: [], sizes: [] };
			groups.set(key, group);
			group.rows.push(row);
			group.sizes.push(sizes[i] ?? 0);
		}
		return groups;
	}

	function release() {
		for (const file of files.values()) file.release();
		files.clear();
	}

	return {
		/** Whether the files should end now. */
		isFull: () =>
			files.size > MAX_FILES ||
			sum((file) => file.rest()) > MAX_REST_BYTES ||
			sum((file) => file.size()) > MAX_BYTES,

		async write(rows: Row[], sizes: number[]) {
			for (const [key, group] of grouped(rows, sizes)) {
				const file = files.get(key) ?? (await openFile(context, group.partition));
				files.set(key, file);
				await file.write(group.rows, group.sizes);
			}
			if (sum((file) => file.pending()) > MAX_PENDING_BYTES)
				for (const file of files.values()) await file.flush();
		},

		/** Ends all files. Returns them. */
		async end(): Promise<DataFile[]> {
			const ended: DataFile[] = [];
			for (const file of files.values()) ended.push(await file.end());
			release();
			return ended;
		},

		release,
	};
}
