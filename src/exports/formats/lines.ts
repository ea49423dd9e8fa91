import { buffer } from "node:stream/consumers";
import { constants, createZstdCompress, gzipSync } from "node:zlib";
import type { Row } from "../query/rows.ts";
import type { Encoder } from "./format.ts";

export type LineCompression = "gzip" | "zstd" | null;

/**
 * Compresses text to a zstd frame with a checksum. workerd's zstd fails if the output doesn't fit
 * into its buffer (https://github.com/cloudflare/workerd/issues/6769), so the buffer is larger than
 * zstd's maximum output for this input.
 */
const zstd = (text: string) => {
	const bytes = Buffer.from(text);
	const chunkSize = bytes.length + (bytes.length >> 7) + 1024;
	const params = { [constants.ZSTD_c_checksumFlag]: 1 };
	return buffer(createZstdCompress({ chunkSize, params }).end(bytes));
};

const compressors = { gzip: (text: string) => gzipSync(text), zstd };

/**
 * Encodes text files. A compressed file is a sequence of gzip members (RFC 1952, 2.2) or zstd
 * frames (RFC 8878, 3), one for each call of `write`. Together they decompress to one text.
 */
export const lines = (compression: LineCompression, toText: (rows: Row[]) => string): Encoder => {
	const encoder = new TextEncoder();
	const encode = compression ? compressors[compression] : (text: string) => encoder.encode(text);
	return {
		write: async (rows) => [await encode(toText(rows))],
		pending: 0,
		flush: () => [],
		finish: () => [],
		state: () => "",
	};
};
