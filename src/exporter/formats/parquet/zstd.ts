// The global of this name is slow to look up in workerd.
import { Buffer } from "node:buffer";
import { zstdCompressSync } from "node:zlib";

/** What workerd's zstd has room for (https://github.com/cloudflare/workerd/issues/6769). */
const MAX_OUTPUT_BYTES = 2 ** 15;

/** Input of this length or less always fits into it. */
const SAFE_INPUT_BYTES = 31 * 2 ** 10;

const MAX_INPUT_BYTES = 2 ** 18;

/** How much of the room a frame is expected to fill. The rest is for input that compresses worse than the input before. */
const FILL = 0.9;

/**
 * Makes a function that compresses bytes to one zstd frame after the other, which decompress to one text (RFC 8878, 3).
 * Frames take as much input as workerd's zstd has room for, judged by the bytes before: it fails where there is no room.
 */
export function zstdCompressor() {
	let size = SAFE_INPUT_BYTES;
	return (bytes: Uint8Array) => {
		const frames: Uint8Array[] = [];
		for (let from = 0; from < bytes.length; ) {
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
		}
		return Buffer.concat(frames);
	};
}
