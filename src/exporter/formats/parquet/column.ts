import type { ColumnChunk, CompressionCodec, Encoding, PageType } from "hyparquet";
import type { PageHeader } from "hyparquet/src/types.js";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { Column, Row } from "../../rows.ts";
import { NOTHING } from "../format.ts";
import { statisticsOf } from "./statistics.ts";
import { plain, sizeOf, stored, TYPES, type Value } from "./values.ts";

/** A column, and how its pages are compressed. */
export type StoredColumn = Column & {
	codec: CompressionCodec;
	compress: (bytes: Uint8Array) => Uint8Array;
};

/** The most bytes of values that a page is made of. A single value may be larger. */
const PAGE_BYTES = 2 ** 20;

/** After so many different values, a dictionary is given up if most values were different. */
const MIN_DISTINCT = 4096;

/** The different values of a column, and for each value its index among them. */
type Dictionary = { values: Value[]; indexes: number[]; bits: number };

/** Null if a dictionary wouldn't halve the bytes. */
function dictionaryOf(values: Value[]): Dictionary | null {
	const positions = new Map<Value, number>();
	const indexes: number[] = [];
	let plainBytes = 0;
	let distinctBytes = 0;
	for (const value of values) {
		const size = sizeOf(value);
		let index = positions.get(value);
		if (index === undefined) {
			index = positions.size;
			if (index > MIN_DISTINCT && 2 * index > indexes.length) return null;
			positions.set(value, index);
			distinctBytes += size;
		}
		plainBytes += size;
		indexes.push(index);
	}
	const bits = 32 - Math.clz32(Math.max(0, positions.size - 1));
	const bytes = distinctBytes + (indexes.length * bits) / 8;
	return 2 * bytes <= plainBytes ? { values: [...positions.keys()], indexes, bits } : null;
}

/** Where the page that begins at a value ends. */
function endOfPage(values: Row, from: number) {
	let bytes = 0;
	for (let to = from; to < values.length; to += 1) {
		bytes += sizeOf(values[to] ?? null);
		if (bytes > PAGE_BYTES && to > from) return to;
	}
	return values.length;
}

/** Integers of so many bits, in the hybrid of runs and bit-packing. */
function hybrid(numbers: number[], bits: number, ...before: number[]) {
	const writer = new ByteWriter();
	for (const byte of before) writer.appendUint8(byte);
	writeRleBitPackedHybrid(writer, numbers, bits);
	return writer.getBytes();
}

/**
 * Writes a column of a row group: the page of its dictionary, if it is worth one, and pages of data, as the library does
 * (https://parquet.apache.org/docs/file-format/data-pages/). The library takes several times the CPU time, since it handles
 * each value on its own.
 */
export function writeColumn(
	writer: ByteWriter,
	{ name, kind, codec, compress }: StoredColumn,
	cells: Row,
): ColumnChunk {
	const start = writer.offset;
	let saved = 0;
	const values = stored(kind, cells);
	const present = values.filter((value) => value !== null);
	const dictionary = kind === "boolean" ? null : dictionaryOf(present);
	const encoding: Encoding = dictionary ? "RLE_DICTIONARY" : "PLAIN";

	/** Writes a page: its header, its levels, and its data. */
	function writePage(
		header: Partial<PageHeader> & { type: PageType },
		levels: Uint8Array,
		data: Uint8Array,
	) {
		const compressed = compress(data);
		writePageHeader(writer, {
			...header,
			uncompressed_page_size: levels.length + data.length,
			compressed_page_size: levels.length + compressed.length,
		});
		writer.appendBytes(levels);
		writer.appendBytes(compressed);
		saved += data.length - compressed.length;
	}

	if (dictionary)
		writePage(
			{
				type: "DICTIONARY_PAGE",
				dictionary_page_header: { num_values: dictionary.values.length, encoding: "PLAIN" },
			},
			NOTHING,
			plain(kind, dictionary.values),
		);
	const dataStart = writer.offset;
	let pages = 0;
	let at = 0;
	for (let from = 0; from < values.length; pages += 1) {
		const to = endOfPage(values, from);
		const isPresent = values.slice(from, to).map((value) => (value === null ? 0 : 1));
		const levels = hybrid(isPresent, 1);
		const end = at + isPresent.reduce<number>((sum, one) => sum + one, 0);
		const header = {
			num_values: to - from,
			num_nulls: to - from - (end - at),
			num_rows: to - from,
			encoding,
			definition_levels_byte_length: levels.length,
			repetition_levels_byte_length: 0,
			is_compressed: true,
		};
		const data = dictionary
			? hybrid(dictionary.indexes.slice(at, end), dictionary.bits, dictionary.bits)
			: plain(kind, present.slice(at, end));
		writePage({ type: "DATA_PAGE_V2", data_page_header_v2: header }, levels, data);
		from = to;
		at = end;
	}
	const size = writer.offset - start;
	return {
		file_offset: BigInt(start),
		meta_data: {
			type: TYPES[kind].type,
			encodings: dictionary ? ["PLAIN", encoding] : [encoding],
			path_in_schema: [name],
			codec,
			num_values: BigInt(values.length),
			total_uncompressed_size: BigInt(size + saved),
			total_compressed_size: BigInt(size),
			data_page_offset: BigInt(dataStart),
			...(dictionary && { dictionary_page_offset: BigInt(start) }),
			statistics: statisticsOf(kind, dictionary?.values ?? present, values.length - present.length),
			encoding_stats: [
				...(dictionary
					? [{ page_type: "DICTIONARY_PAGE", encoding: "PLAIN", count: 1 } as const]
					: []),
				{ page_type: "DATA_PAGE_V2", encoding, count: pages },
			],
		},
	};
}
