import { PART_BYTES } from "../../../../outbound/buckets/bucket.ts";
import { partBuffer } from "./part_buffer.ts";
import type { State, Uploads } from "./uploads.ts";

/**
 * Uploads the bytes of a run's files in parts. Only the part that is being filled is in memory.
 * @param initial the state that the run continues from
 */
export function partWriter(uploads: Uploads, initial: Pick<State, "current" | "rest">) {
	let { current } = initial;
	const rest = partBuffer(Buffer.from(initial.rest, "base64"));
	const partsSent = uploads.list[current]?.parts.length ?? 0;
	/** The number of uploaded bytes of the current file. */
	let sent = partsSent * PART_BYTES;
	let hasSent = false;

	async function send() {
		await uploads.addPart(current, rest.all());
		hasSent = true;
	}

	return {
		/** The bytes of the current file after its last part. */
		rest,
		/** The number of the current file. */
		file: () => current,
		/** The bytes of the current file so far. */
		size: () => sent + rest.length,
		/** Whether the current file is an upload. */
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

		/** Uploads the last part of the current file, if there is one. */
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
