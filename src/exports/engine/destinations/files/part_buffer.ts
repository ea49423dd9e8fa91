import { PART_BYTES } from "../../../../outbound/buckets/bucket.ts";

/** The initial size of a buffer. Files that fit don't need a larger one. */
const INITIAL_BYTES = PART_BYTES / 16;

/**
 * The buffer of a run that has ended, which the next run reuses. The runtime collects large buffers
 * late, so without this they would use most of the memory.
 */
let spare: Uint8Array | null = null;

/** Returns a buffer for the next part. It grows to a part's size, then as much as needed. */
export function partBuffer(initial: Uint8Array) {
	let buffer = spare ?? new Uint8Array(INITIAL_BYTES);
	let length = 0;
	spare = null;

	function push(bytes: Uint8Array) {
		const size = length + bytes.length;
		if (size > buffer.length) {
			const larger = new Uint8Array(Math.max(PART_BYTES, size));
			larger.set(buffer.subarray(0, length));
			buffer = larger;
		}
		buffer.set(bytes, length);
		length = size;
	}

	push(initial);
	return {
		get length() {
			return length;
		},
		push,
		/** A view of the bytes, valid until the next change. */
		all: () => buffer.subarray(0, length),
		clear() {
			length = 0;
		},
		/** Releases the buffer for another run, unless it is too large. Don't use it after this. */
		release() {
			if (buffer.length <= PART_BYTES) spare = buffer;
		},
	};
}
