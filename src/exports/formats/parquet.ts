import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { ColumnChunk, CompressionCodec, RowGroup, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";
import type { Column } from "../query/rows.ts";
import type { Encoder, Resumed } from "./format.ts";
import { columnWriter, type StoredColumn } from "./parquet/column.ts";
import { MAX_BOUND_BYTES } from "./parquet/statistics.ts";
import { free, sizeOfAll, TYPES, taken } from "./parquet/values.ts";

// Imported because the global `Buffer` is slow to access in workerd.

/** workerd's maximum output, in bytes (https://github.com/cloudflare/workerd/issues/6769). */
const MAX_OUTPUT_BYTES = 2 ** 15;

/** The output of an input of at most this size always fits. */
const SAFE_INPUT_BYTES = 31 * 2 ** 10;

const MAX_INPUT_BYTES = 2 ** 18;

/** The expected share of the maximum. The rest is for input that compresses worse. */
const FILL = 0.9;

/**
 * Returns a function that compresses bytes to a sequence of zstd frames, which together decompress
 * to one text (RFC 8878, 3). workerd's zstd fails if the output is too large, so the input of each
 * frame is chosen by how well the previous bytes compressed.
 */
function zstdCompressor() {
	let size = SAFE_INPUT_BYTES;
	return (bytes: Uint8Array) => {
		const frames: Uint8Array[] = [];
		let from = 0;
		// No bytes have a frame, too.
		do {
			const input = bytes.subarray(from, from + size);
			try {
				const frame = zstdCompressSync(input);
				frames.push(frame);
				from += input.length;
				const fitting = Math.floor((input.length * MAX_OUTPUT_BYTES * FILL) / frame.length);
				size = Math.min(Math.max(SAFE_INPUT_BYTES, fitting), MAX_INPUT_BYTES);
			} catch (error) {
				if (input.length <= SAFE_INPUT_BYTES) throw error;
				size = Math.max(SAFE_INPUT_BYTES, Math.floor(input.length / 2));
			}
		} while (from < bytes.length);
		return Buffer.concat(frames);
	};
}

/** The maximum size of the rows in a row group, in bytes. */
const ROW_GROUP_BYTES = 8 * 2 ** 20;

type Compression = "gzip" | "snappy" | "zstd" | null;

/** How pages are compressed. Each column has its own compressor. */
const CODECS = {
	none: { codec: "UNCOMPRESSED", compressor: () => (bytes: Uint8Array) => bytes },
	gzip: { codec: "GZIP", compressor: () => (bytes: Uint8Array) => gzipSync(bytes) },
	snappy: { codec: "SNAPPY", compressor: () => snappyCompress },
	zstd: { codec: "ZSTD", compressor: zstdCompressor },
} satisfies Record<string, { codec: CompressionCodec; compressor: () => StoredColumn["compress"] }>;

/** The metadata of the row groups so far, and the encoded bytes per byte of rows. */
type State = { groups: RowGroup[]; ratio: number };

/** Metadata has many large integers, which JSON doesn't support. */
const write = (state: State) =>
	JSON.stringify(state, (_, one) => (typeof one === "bigint" ? { bigint: String(one) } : one));

const read = (json: string): State =>
	JSON.parse(json, (_, one) => (typeof one?.bigint === "string" ? BigInt(one.bigint) : one));

/** A column of a file. Table formats find columns by the id of their field, not by their name. */
type FileColumn = Column & { field_id?: number };

/** Opens a file, which continues after the row groups so far. */
function open(columns: FileColumn[], resumed: Resumed | null) {
	const bytes = new ByteWriter();
	const writer = new ParquetWriter({
		writer: bytes,
		schema: [
			{ name: "root", num_children: columns.length },
			...columns.map(
				({ name, kind, field_id }): SchemaElement => ({
					name,
					repetition_type: "OPTIONAL",
					...(field_id !== undefined && { field_id }),
					...TYPES[kind],
				}),
			),
		],
		statisticsTruncateLength: MAX_BOUND_BYTES,
		createdBy: "tenantry",
	});
	if (!resumed || resumed.offset === 0) return { bytes, writer, ratio: 1 };
	const { groups, ratio } = read(gunzipSync(Buffer.from(resumed.state, "base64")).toString());
	writer.row_groups = groups;
	writer.num_rows = groups.reduce((n, one) => n + one.num_rows, 0n);
	bytes.index = 0;
	bytes.offset = resumed.offset;
	return { bytes, writer, ratio };
}

/** Returns the metadata of a row group of `size` bytes. */
function rowGroupOf(columns: ColumnChunk[], rows: number, size: number): RowGroup {
	const sizes = columns.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n);
	return {
		columns,
		total_byte_size: sizes.reduce((sum, size) => sum + size, 0n),
		total_compressed_size: BigInt(size),
		num_rows: BigInt(rows),
	};
}

/** Encodes Apache Parquet, in row groups. Their metadata is at the end of the file. */
export function parquet(
	columns: FileColumn[],
	compression: Compression,
	resumed: Resumed | null,
): Encoder & { groups: () => RowGroup[] } {
	const { bytes, writer, ...opened } = open(columns, resumed);
	let { ratio } = opened;
	const { codec, compressor } = CODECS[compression ?? "none"];
	const writers = columns.map((column) =>
		columnWriter({ ...column, codec, compress: compressor() }),
	);
	let rows = 0;
	let raw = 0;

	/** Ends the current row group, if there is one. */
	function flush() {
		const before = bytes.offset;
		// A copy of the beginning of the file, because the end would overwrite it.
		const pieces = [taken(bytes).slice()];
		if (rows === 0) return pieces;
		const chunks = writers.map((column) => {
			const { chunk, pieces: written } = column.flush(bytes.offset);
			pieces.push(...written);
			bytes.offset += sizeOfAll(written);
			return chunk;
		});
		const size = bytes.offset - before;
		writer.row_groups.push(rowGroupOf(chunks, rows, size));
		writer.num_rows += BigInt(rows);
		ratio = size / raw;
		rows = 0;
		raw = 0;
		return pieces;
	}

	return {
		write(more, size) {
			for (const [i, column] of writers.entries()) column.add(more.map((row) => row[i] ?? null));
			rows += more.length;
			raw += size;
			return raw < ROW_GROUP_BYTES ? [] : flush();
		},
		get pending() {
			return Math.ceil(raw * ratio);
		},
		flush,
		/** The metadata of the row groups so far. */
		groups: () => writer.row_groups,
		finish() {
			const pieces = flush();
			writer.finish();
			return [...pieces, taken(bytes)];
		},
		release() {
			free(bytes);
			for (const column of writers) column.release();
		},
		state: () => gzipSync(write({ groups: writer.row_groups, ratio })).toString("base64"),
	};
}
