import type { ColumnChunk, CompressionCodec, Encoding, PageType } from "hyparquet";
import type { PageHeader } from "hyparquet/src/types.js";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { Kind } from "../../query/expression.ts";
import type { Column, Row } from "../../query/rows.ts";
import { NOTHING } from "../format.ts";
import { dictionaryWriter } from "./dictionary.ts";
import { type Bounds, boundsOf, statisticsOf } from "./statistics.ts";
import { bits, free, plain, sizeOf, stored, TYPES, taken } from "./values.ts";

/** A column, and how its pages are compressed. */
export type StoredColumn = Column & {
	codec: CompressionCodec;
	compress: (bytes: Uint8Array) => Uint8Array;
};

/** The maximum size of the values in a page, in bytes. A single value may be larger. */
const PAGE_BYTES = 2 ** 20;

/** Divides values into slices of at most `PAGE_BYTES`. */
function* slices(values: Row) {
	let from = 0;
	let bytes = 0;
	for (const [i, value] of values.entries()) {
		bytes += sizeOf(value);
		if (bytes <= PAGE_BYTES || i === from) continue;
		yield values.slice(from, i);
		from = i;
		bytes = sizeOf(value);
	}
	yield values.slice(from);
}

/** Encodes integers of this many bits (Parquet's RLE/bit-packing hybrid). */
function hybrid(numbers: Uint8Array | Uint32Array, bits: number, ...before: number[]) {
	const writer = new ByteWriter();
	for (const byte of before) writer.appendUint8(byte);
	writeRleBitPackedHybrid(writer, numbers, bits);
	return writer.getBytes();
}

/** Appends 1 for each value, and 0 for null. */
function addLevels(levels: ByteWriter, values: Row) {
	for (const value of values) levels.appendUint8(value === null ? 0 : 1);
}

/** The counts of a row group: rows, nulls, data pages, and bytes that compression saves. */
const NONE = { rows: 0, nulls: 0, pages: 0, saved: 0 };

/** Returns the header of a data page. `isPresent`: 1 for each row that has a value, 0 for null. */
const dataHeader = (encoding: Encoding, isPresent: Uint8Array, levels: Uint8Array) => ({
	num_values: isPresent.length,
	num_nulls: isPresent.length - isPresent.reduce((sum, one) => sum + one, 0),
	num_rows: isPresent.length,
	encoding,
	definition_levels_byte_length: levels.length,
	repetition_levels_byte_length: 0,
	is_compressed: true,
});

/** Returns the metadata of a row group's pages, which begin at `start`. */
function metadataOf(
	start: number,
	[head, written]: readonly [dictionary: Uint8Array, data: Uint8Array],
	{ rows, pages, saved }: typeof NONE,
) {
	const size = head.length + written.length;
	const hasDictionary = head.length > 0;
	const encoding = hasDictionary ? "RLE_DICTIONARY" : "PLAIN";
	const dictionaryPage = { page_type: "DICTIONARY_PAGE", encoding: "PLAIN", count: 1 } as const;
	const dataPages = { page_type: "DATA_PAGE_V2", encoding, count: pages } as const;
	return {
		encodings: [...new Set(["PLAIN", encoding] as const)],
		num_values: BigInt(rows),
		total_uncompressed_size: BigInt(size + saved),
		total_compressed_size: BigInt(size),
		data_page_offset: BigInt(start + head.length),
		...(hasDictionary && { dictionary_page_offset: BigInt(start) }),
		encoding_stats: hasDictionary ? [dictionaryPage, dataPages] : [dataPages],
	};
}

/** Returns the writer of a row group's pages. */
function pageWriter(compress: StoredColumn["compress"]) {
	/** The dictionary page. */
	const head = new ByteWriter();
	/** The data pages that are full. */
	const written = new ByteWriter();
	let counts = { ...NONE };

	/** Writes a page: its header, its levels, and its data. */
	function write(
		writer: ByteWriter,
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
		counts.saved += data.length - compressed.length;
	}

	return {
		/** Writes the dictionary page. */
		writeDictionary(num_values: number, data: Uint8Array) {
			const header = { num_values, encoding: "PLAIN" } as const;
			write(head, { type: "DICTIONARY_PAGE", dictionary_page_header: header }, NOTHING, data);
		},

		/** Writes a data page. `isPresent`: 1 for each row that has a value, 0 for null. */
		writeData(encoding: Encoding, isPresent: Uint8Array, data: Uint8Array) {
			const levels = hybrid(isPresent, 1);
			const header = dataHeader(encoding, isPresent, levels);
			write(written, { type: "DATA_PAGE_V2", data_page_header_v2: header }, levels, data);
			counts.pages += 1;
			counts.rows += header.num_rows;
			counts.nulls += header.num_nulls;
		},

		/** Ends the row group. Returns its pages, which are valid until the next one is written. */
		flush(start: number) {
			const pieces = [taken(head), taken(written)] as const;
			const metadata = metadataOf(start, pieces, counts);
			const { nulls } = counts;
			counts = { ...NONE };
			return { pieces, nulls, metadata };
		},

		release() {
			free(head);
			free(written);
		},
	};
}

/** Returns the writer of values in the encoding PLAIN, which ends each page when it is full. */
function plainWriter(kind: Kind, pages: ReturnType<typeof pageWriter>) {
	/** Whether each row of the current page has a value. */
	const levels = new ByteWriter();
	/** The values of the current page; booleans have a byte each. */
	const data = new ByteWriter();
	let bounds: Bounds | null = null;

	function endPage() {
		const all = taken(data);
		pages.writeData("PLAIN", taken(levels), kind === "boolean" ? bits(all) : all);
	}

	return {
		add(values: Row) {
			const present = values.filter((value) => value !== null);
			const bytes = plain(kind, present);
			if (data.index > 0 && data.index + bytes.length > PAGE_BYTES) endPage();
			data.appendBytes(bytes);
			addLevels(levels, values);
			bounds = boundsOf(present, bounds);
		},

		/** Ends the last page of a row group. Returns the bounds of the values. */
		end() {
			endPage();
			const all = bounds;
			bounds = null;
			return all;
		},

		release() {
			free(levels);
			free(data);
		},
	};
}

/**
 * Writes a column of row groups: a dictionary page if that saves space, and data pages, in the same
 * format as the library (https://parquet.apache.org/docs/file-format/data-pages/). The library
 * needs several times the CPU time, because it handles each value separately, and it needs all rows
 * of a row group at once. This function compresses each page when it is full, so that rows don't
 * stay in memory until their row group is written.
 */
export function columnWriter({ name, kind, codec, compress }: StoredColumn) {
	const { type } = TYPES[kind];
	const pages = pageWriter(compress);
	const plainPages = plainWriter(kind, pages);
	const dictionary = dictionaryWriter(kind);
	/** Whether each row has a value. A row group with a dictionary has one data page. */
	const levels = new ByteWriter();

	/** Continues without a dictionary. */
	function giveUp() {
		const values = dictionary.values(taken(levels));
		dictionary.giveUp();
		for (const slice of slices(values)) plainPages.add(slice);
	}

	/** Writes the pages of a row group with a dictionary. Returns the bounds of the values. */
	function endDictionary() {
		const distinct = dictionary.distinct();
		const width = dictionary.width();
		pages.writeDictionary(distinct.length, plain(kind, distinct));
		const indexes = hybrid(dictionary.indexes(), width, width);
		pages.writeData("RLE_DICTIONARY", taken(levels), indexes);
		return boundsOf(distinct, null);
	}

	return {
		/** Adds the values of rows. */
		add(cells: Row) {
			const values = stored(kind, cells);
			if (!dictionary.isOpen()) return plainPages.add(values);
			addLevels(levels, values);
			dictionary.add(values);
			if (dictionary.isHopeless()) giveUp();
		},

		/**
		 * Ends a row group, to which at least one row was added.
		 * @param start the column's offset in the file
		 * @returns the column's bytes in pieces, which are valid until the next call, and its metadata
		 */
		flush(start: number) {
			if (dictionary.isOpen() && !dictionary.isWorthIt()) giveUp();
			const bounds = dictionary.isOpen() ? endDictionary() : plainPages.end();
			dictionary.next();
			const { pieces, nulls, metadata } = pages.flush(start);
			const statistics = statisticsOf(kind, bounds, nulls);
			const chunk: ColumnChunk = {
				file_offset: BigInt(start),
				meta_data: { type, path_in_schema: [name], codec, statistics, ...metadata },
			};
			return { chunk, pieces };
		},

		/** Frees the memory. The writer must not be used after this. */
		release() {
			free(levels);
			for (const part of [pages, plainPages, dictionary]) part.release();
		},
	};
}
