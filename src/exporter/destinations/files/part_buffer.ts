import { PART_BYTES } from "./bucket.ts";

/** The size of a buffer at first. Files that fit into it need no larger one. */
const INITIAL_BYTES = PART_BYTES / 16;

/**
 * The buffer of a run that has ended, for the next one. The runtime collects large buffers so late that without this they
 * would take most of the memory.
 */
let spare: Uint8Array | null = null;

/** The bytes of the next part, in one buffer. It grows once to the size of a part, and beyond that only as far as needed. */
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
		/** Leaves the buffer to another run, unless it is larger than a part. It must not be used after this. */
		release() {
			if (buffer.length <= PART_BYTES) spare = buffer;
		},
	};
}
