import { PART_BYTES } from "../buckets/bucket.ts";
import type { State, Uploads } from "./uploads.ts";

/** The initial size of a buffer. Files that fit don't need a larger one. */
const INITIAL_BYTES = PART_BYTES / 16;

/** The buffer of the last run, for reuse: the runtime collects large buffers late. */
let spare: Uint8Array | null = null;

/** A buffer for the next part. It grows once to the size of a part, then as needed. */
function partBuffer(initial: Uint8Array) {
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
		/** Releases the buffer for another run, unless it is larger than a part. */
		release() {
			if (buffer.length <= PART_BYTES) spare = buffer;
		},
	};
}

/** Uploads a run's files in parts, of which one is in memory, from the state `initial` on. */
export function partWriter(uploads: Uploads, initial: Pick<State, "current" | "rest">) {
	let { current } = initial;
	const rest = partBuffer(Buffer.from(initial.rest, "base64"));
	let sent = (uploads.list[current]?.parts.length ?? 0) * PART_BYTES;
	let hasSent = false;

	async function send() {
		await uploads.addPart(current, rest.all());
		hasSent = true;
	}

	return {
		/** The bytes of the current file after its last part. */
		rest,
		file: () => current,
		size: () => sent + rest.length,
		isUpload: () => uploads.list[current] !== undefined,
		/** Whether parts were uploaded since `clearSent`. */
		hasSent: () => hasSent,
		clearSent() {
			hasSent = false;
		},

		/** Adds bytes to the current file, and uploads each part that they fill. */
		async append(bytes: Uint8Array) {
			for (let left = bytes; left.length > 0; ) {
				const room = PART_BYTES - rest.length;
				rest.push(left.subarray(0, room));
				left = left.subarray(room);
				if (rest.length < PART_BYTES) return;
				await send();
				sent += PART_BYTES;
				rest.clear();
			}
		},

		async sendRest() {
			if (rest.length > 0) await send();
		},

		nextFile() {
			current += 1;
			// Parts of the next file that were uploaded before a crash are uploaded again.
			uploads.list[current]?.parts.splice(0);
			rest.clear();
			sent = 0;
		},
	};
}

export type PartWriter = ReturnType<typeof partWriter>;
