import type { ByteWriter } from "hyparquet-writer";

export const sizeOfAll = (pieces: Uint8Array[]) =>
	pieces.reduce((sum, { length }) => sum + length, 0);

/** Returns the bytes written since the last call. They are valid until the next write. */
export function taken(writer: ByteWriter) {
	const bytes = writer.getBytes();
	writer.index = 0;
	return bytes;
}

/** Frees a writer's memory immediately, because the runtime collects large buffers late. */
export function free(writer: ByteWriter) {
	writer.index = 0;
	writer.buffer.transfer(0);
	writer.buffer = new ArrayBuffer(0);
	writer.view = new DataView(writer.buffer);
}
