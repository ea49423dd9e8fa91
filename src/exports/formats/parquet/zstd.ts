// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { zstdCompressSync } from "node:zlib";

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
export function zstdCompressor() {
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
