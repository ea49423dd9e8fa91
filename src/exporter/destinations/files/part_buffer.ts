import { ByteWriter } from "hyparquet-writer";
import { PART_BYTES } from "./bucket.ts";

/** The largest buffer that one run leaves to the next. */
const MAX_SPARE_BYTES = 2 * PART_BYTES;

/**
 * The buffer of a run that has ended, for the next one. The runtime collects large buffers so late that without this they
 * would take most of the memory.
 */
let spare: ByteWriter | null = null;

/** The bytes of the next part, in one buffer that doubles up to the size of a part or a bit more. */
export function partBuffer(bytes: Uint8Array) {
	const writer = spare ?? new ByteWriter(PART_BYTES / 16);
	spare = null;
	writer.index = 0;
	writer.appendBytes(bytes);
	return {
		get length() {
			return writer.index;
		},
		push: (more: Uint8Array) => writer.appendBytes(more),
		/** A view of the bytes, valid until the next change. */
		all: () => writer.getBytes(),
		clear() {
			writer.index = 0;
		},
		/** Leaves the buffer to another run. It must not be used after this. */
		release() {
			if (writer.buffer.byteLength <= MAX_SPARE_BYTES) spare = writer;
		},
	};
}
