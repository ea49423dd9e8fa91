import { PART_BYTES } from "../../../../outbound/buckets/bucket.ts";
import { csv } from "../../formats/csv.ts";
import type { Encoder } from "../../formats/format.ts";
import { jsonLines } from "../../formats/jsonlines.ts";
import { parquet } from "../../formats/parquet.ts";
import type { Column, Row } from "../../rows.ts";
import { type FilesConfig, lineCompression } from "./names.ts";
import type { PartWriter } from "./part_writer.ts";

/**
 * How many more bytes than a part the encoder collects before they are flushed. The sizes are
 * approximate, and the part must be full.
 */
const MARGIN_BYTES = 2 ** 18;

/**
 * Returns the encoder of a file.
 * @param offset how many bytes of the file already exist
 * @param state the state of the encoder that wrote them
 */
function encoderOf(config: FilesConfig, columns: Column[], offset = 0, state = ""): Encoder {
	switch (config.file_format) {
		case "Parquet":
			return parquet(columns, config.compression ?? null, { offset, state });
		case "CSV":
			return csv(columns, lineCompression(config), offset);
		default:
			return jsonLines(columns, lineCompression(config));
	}
}

/**
 * Encodes rows into the files of a run, one after another.
 * @param state the state of the encoder that the run continues with
 */
export function fileWriter(
	config: FilesConfig,
	columns: Column[],
	parts: PartWriter,
	state: string,
) {
	let encoder = encoderOf(config, columns, parts.size(), state);

	async function append(pieces: Uint8Array[]) {
		for (const piece of pieces) await parts.append(piece);
	}

	/** Uploads the rest of the current file. */
	async function end() {
		await append(encoder.finish());
		await parts.sendRest();
	}

	return {
		/** Returns the approximate size of the current file in bytes. */
		size: () => parts.size() + encoder.pending,
		state: () => encoder.state(),

		/** Encodes rows with about this many bytes. */
		async write(rows: Row[], bytes: number) {
			await append(await encoder.write(rows, bytes));
		},

		/** Encodes all rows so far. */
		async flush() {
			await append(encoder.flush());
		},

		/** Whether the rows that the encoder has collected would fill a part. */
		isPartFull: () => parts.rest.length + encoder.pending > PART_BYTES + MARGIN_BYTES,

		/** Ends the current file and starts the next one. */
		async next() {
			await end();
			encoder.release?.();
			parts.nextFile();
			encoder = encoderOf(config, columns);
		},

		/** Ends the last file. A file without an upload stays in memory, for `Uploads.close`. */
		async finish() {
			if (parts.isUpload()) await end();
			else for (const piece of encoder.finish()) parts.rest.push(piece);
		},

		/** Frees memory. Called once, after all other calls. */
		release() {
			encoder.release?.();
		},
	};
}
