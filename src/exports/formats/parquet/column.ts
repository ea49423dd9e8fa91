import type { ColumnChunk, CompressionCodec, Encoding, PageType } from "hyparquet";
import type { PageHeader } from "hyparquet/src/types.js";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import type { Column, Row } from "../../query/rows.ts";
import { NOTHING } from "../format.ts";
import { dictionaryWriter } from "./dictionary.ts";
import { type Bounds, boundsOf, statisticsOf } from "./statistics.ts";
import { bits, free, plain, sizeOf, sizeOfAll, stored, TYPES, taken } from "./values.ts";

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

/** Returns the writer of pages, which counts them and the bytes that compression saves. */
function pageWriter(compress: StoredColumn["compress"]) {
	const counts = { data: 0, saved: 0 };
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
		counts,

		/** Writes a dictionary page. */
		writeDictionary(writer: ByteWriter, num_values: number, data: Uint8Array) {
			const header = { num_values, encoding: "PLAIN" } as const;
			write(writer, { type: "DICTIONARY_PAGE", dictionary_page_header: header }, NOTHING, data);
		},

		/** Writes a data page. `isPresent`: 1 for each row that has a value, 0 for null. */
		writeData(writer: ByteWriter, encoding: Encoding, isPresent: Uint8Array, data: Uint8Array) {
			const levels = hybrid(isPresent, 1);
			const header = {
				num_values: isPresent.length,
				num_nulls: isPresent.length - isPresent.reduce((sum, one) => sum + one, 0),
				num_rows: isPresent.length,
				encoding,
				definition_levels_byte_length: levels.length,
				repetition_levels_byte_length: 0,
				is_compressed: true,
			};
			write(writer, { type: "DATA_PAGE_V2", data_page_header_v2: header }, levels, data);
			counts.data += 1;
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
	const dictionary = dictionaryWriter(kind);
	/** The dictionary page. */
	const head = new ByteWriter();
	/** The data pages that are full. */
	const written = new ByteWriter();
	/** Whether each row of the page has a value. A row group with a dictionary has one page. */
	const levels = new ByteWriter();
	/** The values of the current page in the encoding PLAIN; booleans have a byte each. */
	const data = new ByteWriter();
	let pages = pageWriter(compress);
	let bounds: Bounds | null = null;
	let rows = 0;
	let nulls = 0;

	function addLevels(values: Row) {
		for (const value of values) levels.appendUint8(value === null ? 0 : 1);
	}

	function endPlainPage() {
		const all = taken(data);
		pages.writeData(written, "PLAIN", taken(levels), kind === "boolean" ? bits(all) : all);
	}

	function addPlain(values: Row) {
		const present = values.filter((value) => value !== null);
		const bytes = plain(kind, present);
		if (data.index > 0 && data.index + bytes.length > PAGE_BYTES) endPlainPage();
		data.appendBytes(bytes);
		addLevels(values);
		bounds = boundsOf(present, bounds);
	}

	/** Continues without a dictionary. */
	function giveUp() {
		const present = dictionary.values();
		dictionary.giveUp();
		let at = 0;
		const values = Array.from(taken(levels), (isPresent): Row[number] => {
			if (isPresent === 0) return null;
			at += 1;
			return present[at - 1] ?? null;
		});
		for (const slice of slices(values)) addPlain(slice);
	}

	/** Ends the pages of the row group. */
	function endPages(): Encoding {
		if (!dictionary.isOpen()) {
			endPlainPage();
			return "PLAIN";
		}
		const distinct = dictionary.distinct();
		const width = dictionary.width();
		bounds = boundsOf(distinct, null);
		pages.writeDictionary(head, distinct.length, plain(kind, distinct));
		const indexes = hybrid(dictionary.indexes(), width, width);
		pages.writeData(written, "RLE_DICTIONARY", taken(levels), indexes);
		return "RLE_DICTIONARY";
	}

	function begin() {
		dictionary.next();
		pages = pageWriter(compress);
		bounds = null;
		rows = 0;
		nulls = 0;
	}

	return {
		/** Adds the values of rows. */
		add(cells: Row) {
			const values = stored(kind, cells);
			rows += values.length;
			for (const value of values) if (value === null) nulls += 1;
			if (!dictionary.isOpen()) return addPlain(values);
			addLevels(values);
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
			const encoding = endPages();
			const dataStart = start + head.index;
			const pieces = [taken(head), taken(written)];
			const size = sizeOfAll(pieces);
			const { counts } = pages;
			const hasDictionary = encoding !== "PLAIN";
			const chunk: ColumnChunk = {
				file_offset: BigInt(start),
				meta_data: {
					type: TYPES[kind].type,
					encodings: hasDictionary ? ["PLAIN", encoding] : [encoding],
					path_in_schema: [name],
					codec,
					num_values: BigInt(rows),
					total_uncompressed_size: BigInt(size + counts.saved),
					total_compressed_size: BigInt(size),
					data_page_offset: BigInt(dataStart),
					...(hasDictionary && { dictionary_page_offset: BigInt(start) }),
					statistics: statisticsOf(kind, bounds, nulls),
					encoding_stats: [
						...(hasDictionary
							? [{ page_type: "DICTIONARY_PAGE", encoding: "PLAIN", count: 1 } as const]
							: []),
						{ page_type: "DATA_PAGE_V2", encoding, count: counts.data },
					],
				},
			};
			begin();
			return { chunk, pieces };
		},

		/** Frees the memory. The writer must not be used after this. */
		release() {
			for (const writer of [head, written, levels, data]) free(writer);
			dictionary.release();
		},
	};
}
