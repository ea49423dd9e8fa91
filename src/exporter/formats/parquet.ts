import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { CompressionCodec, RowGroup, SchemaElement, Statistics } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { unconvertMinMax } from "hyparquet-writer/src/unconvert.js";
import type { Column, Kind, Row } from "../rows.ts";
import { type Encoder, NOTHING, type Resumed } from "./format.ts";

/** The most bytes of rows that a row group is made of. */
const ROW_GROUP_BYTES = 8 * 2 ** 20;

const DAY_MS = 86_400_000;

type Compression = "gzip" | "snappy" | "zstd" | null;

const CODECS = {
	gzip: "GZIP",
	snappy: "SNAPPY",
	zstd: "ZSTD",
} satisfies Record<string, CompressionCodec>;

/** Input of this length or less always fits into the 32 KiB of output that workerd's zstd has room for. */
const SAFE_FRAME_BYTES = 31 * 2 ** 10;

const MAX_FRAME_BYTES = 2 ** 18;

/**
 * One zstd frame after the other, which decompress to one text (RFC 8878, 3). workerd's zstd fails where the output doesn't
 * fit into 32 KiB (https://github.com/cloudflare/workerd/issues/6769), so frames take as much input as compresses to that.
 */
function zstd(bytes: Uint8Array) {
	const frames: Uint8Array[] = [];
	let size = MAX_FRAME_BYTES;
	for (let from = 0; from < bytes.length; ) {
		const input = bytes.subarray(from, from + size);
		try {
			frames.push(zstdCompressSync(input));
			from += input.length;
		} catch (error) {
			if (input.length <= SAFE_FRAME_BYTES) throw error;
			size = Math.max(SAFE_FRAME_BYTES, size / 2);
		}
	}
	return Buffer.concat(frames);
}

const compressors = {
	GZIP: (bytes: Uint8Array) => gzipSync(bytes),
	ZSTD: zstd,
};

const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;

/** How each kind is stored. JSON stays text: no reader has to know its logical type. */
const TYPES = {
	text: TEXT,
	json: TEXT,
	integer: { type: "INT64" },
	number: { type: "DOUBLE" },
	boolean: { type: "BOOLEAN" },
	date: { type: "INT32", converted_type: "DATE" },
	timestamp: {
		type: "INT64",
		converted_type: "TIMESTAMP_MICROS",
		logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
	},
} satisfies Record<Kind, Partial<SchemaElement>>;

/** The longest bound of a text column, in bytes. All bounds stay in memory until the file ends. */
const MAX_BOUND_BYTES = 64;

/** Code units that JavaScript, which compares UTF-16, sorts differently from UTF-8, which Parquet compares. */
const SORTED_DIFFERENTLY = /[\ud800-\uffff]/;

/** Statistics of a text column, much faster than the library's. null: the library has to compute them. */
function statisticsOf(texts: Row): Statistics | null {
	let min_value: string | undefined;
	let max_value: string | undefined;
	let nulls = 0;
	for (const text of texts) {
		if (text === null) {
			nulls += 1;
			continue;
		}
		if (typeof text !== "string" || SORTED_DIFFERENTLY.test(text)) return null;
		if (min_value === undefined || text < min_value) min_value = text;
		if (max_value === undefined || text > max_value) max_value = text;
	}
	return {
		null_count: BigInt(nulls),
		...(min_value !== undefined && { min_value }),
		...(max_value !== undefined && { max_value }),
	};
}

/** The bound of a text column as it is, or a shorter one, in whole characters; undefined: it can't be shortened. */
function shortened(bound: Statistics["max_value"], isMax: boolean) {
	const element = { name: "", ...TEXT };
	const bytes = unconvertMinMax(bound, element, isMax, MAX_BOUND_BYTES);
	return bytes && bytes.length <= MAX_BOUND_BYTES ? Buffer.from(bytes).toString() : undefined;
}

/** The statistics of a text column with bounds of at most `MAX_BOUND_BYTES`: a lower one is cut off, an upper one rounded up. */
function withShortBounds({ min_value, max_value, ...counts }: Statistics) {
	const statistics: Statistics = counts;
	const min = shortened(min_value, false);
	const max = shortened(max_value, true);
	if (min !== undefined) {
		statistics.min_value = min;
		statistics.is_min_value_exact = min === min_value;
	}
	if (max !== undefined) {
		statistics.max_value = max;
		statistics.is_max_value_exact = max === max_value;
	}
	return statistics;
}

/** A value as its physical type takes it. */
function stored(kind: Kind, value: Row[number]) {
	if (value === null) return null;
	switch (kind) {
		case "integer":
			return BigInt(value);
		case "timestamp":
			return BigInt(Date.parse(String(value))) * 1000n;
		case "date":
			return Date.parse(String(value)) / DAY_MS;
		default:
			return value;
	}
}

/** JSON has no large integers, of which metadata is full. */
const write = (value: unknown) =>
	JSON.stringify(value, (_, one) => (typeof one === "bigint" ? { bigint: String(one) } : one));

const read = (json: string) =>
	JSON.parse(json, (_, one) => (typeof one?.bigint === "string" ? BigInt(one.bigint) : one));

/** What it takes to go on: metadata of the row groups so far, and the bytes that a byte of rows came to. */
type State = { groups: RowGroup[]; ratio: number };

/** Apache Parquet: rows are gathered into row groups, whose metadata is at the end of the file. */
export function parquet(
	columns: Column[],
	compression: Compression,
	resumed: Resumed | null,
): Encoder {
	const bytes = new ByteWriter();
	const writer = new ParquetWriter({
		writer: bytes,
		schema: [
			{ name: "root", num_children: columns.length },
			...columns.map(
				({ name, kind }): SchemaElement => ({
					name,
					repetition_type: "OPTIONAL",
					...TYPES[kind],
				}),
			),
		],
		codec: compression ? CODECS[compression] : "UNCOMPRESSED",
		compressors,
		statisticsTruncateLength: MAX_BOUND_BYTES,
		createdBy: "tenantry",
	});
	let ratio = 1;
	if (resumed && resumed.offset > 0) {
		const state: State = read(gunzipSync(Buffer.from(resumed.state, "base64")).toString());
		ratio = state.ratio;
		writer.row_groups = state.groups;
		writer.num_rows = state.groups.reduce((n, one) => n + one.num_rows, 0n);
		bytes.index = 0;
		bytes.offset = resumed.offset;
	}
	let rows: Row[] = [];
	let raw = 0;

	/** The bytes written since the last time. */
	function taken() {
		const all = bytes.getBytes().slice();
		bytes.index = 0;
		return all;
	}

	function flush() {
		if (rows.length === 0) return NOTHING;
		const before = bytes.offset;
		const data = columns.map(({ name, kind }, i) => {
			const values = rows.map((row) => row[i] ?? null);
			const texts = TYPES[kind] === TEXT ? statisticsOf(values) : null;
			return {
				name,
				data: TYPES[kind] === TEXT ? values : values.map((value) => stored(kind, value)),
				texts,
				statistics: texts === null,
				// Indexes would stay in memory until the file ends.
				offsetIndex: false,
			};
		});
		writer.write({ columnData: data, rowGroupSize: rows.length });
		for (const [i, { meta_data }] of (writer.row_groups.at(-1)?.columns ?? []).entries()) {
			const statistics = data[i]?.texts ?? meta_data?.statistics;
			if (meta_data?.type === "BYTE_ARRAY" && statistics)
				meta_data.statistics = withShortBounds(statistics);
		}
		writer.pendingIndexes = [];
		ratio = (bytes.offset - before) / raw;
		rows = [];
		raw = 0;
		return taken();
	}

	return {
		write(more, size) {
			rows = rows.concat(more);
			raw += size;
			return raw < ROW_GROUP_BYTES ? NOTHING : flush();
		},
		get pending() {
			return Math.ceil(raw * ratio);
		},
		flush,
		finish() {
			const last = flush();
			writer.finish();
			return Buffer.concat([last, taken()]);
		},
		state: () =>
			gzipSync(write({ groups: writer.row_groups, ratio } satisfies State)).toString("base64"),
	};
}
