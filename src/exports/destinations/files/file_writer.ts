import type { Encoder } from "../../formats/format.ts";
import { csv, jsonLines } from "../../formats/lines.ts";
import { parquet } from "../../formats/parquet.ts";
import type { Row } from "../../query/rows.ts";
import { PART_BYTES } from "../buckets/bucket.ts";
import type { Job } from "../destination.ts";
import { type FilesConfig, lineCompression } from "./names.ts";
import type { PartWriter } from "./part_writer.ts";
import type { State } from "./uploads.ts";

/** How many more bytes than a part are collected, because sizes are approximate. */
const MARGIN_BYTES = 2 ** 18;

/** What the rows of a run are. */
type Content = Pick<Job, "columns" | "isOneOff">;

/** Returns the encoder of a file that has `offset` bytes, and the state that they left. */
function encoderOf(
	config: FilesConfig,
	{ columns, isOneOff = false }: Content,
	{ offset, state } = { offset: 0, state: "" },
): Encoder {
	switch (config.file_format) {
		case "Parquet":
			return parquet(columns, config.compression ?? null, { offset, state });
		case "CSV":
			return csv(columns, lineCompression(config), { offset, isForSpreadsheets: isOneOff });
		default:
			return jsonLines(columns, lineCompression(config));
	}
}

/** Encodes rows into the files of a run, from the `encoder`'s state on. */
export function fileWriter(
	config: FilesConfig,
	content: Content,
	parts: PartWriter,
	{ encoder: state, rows: counted }: Pick<State, "encoder" | "rows">,
) {
	let encoder = encoderOf(config, content, { offset: parts.size(), state });
	const counts = counted && [...counted];

	async function append(pieces: Uint8Array[]) {
		for (const piece of pieces) await parts.append(piece);
	}

	async function end() {
		await append(encoder.finish());
		await parts.sendRest();
	}

	return {
		/** The size of the current file so far, in bytes. Approximate if rows aren't encoded yet. */
		size: () => parts.size() + encoder.pending,
		state: () => encoder.state(),
		/** How many rows each file has so far; undefined if they weren't counted from the start. */
		rows: () => counts && [...counts],

		async write(rows: Row[], bytes: number) {
			counts?.push((counts.pop() ?? 0) + rows.length);
			await append(await encoder.write(rows, bytes));
		},

		async flush() {
			await append(encoder.flush());
		},

		/** Whether the rows that the encoder has collected would fill a part. */
		isPartFull: () => parts.rest.length + encoder.pending > PART_BYTES + MARGIN_BYTES,

		async next() {
			await end();
			encoder.release?.();
			parts.nextFile();
			encoder = encoderOf(config, content);
			counts?.push(0);
		},

		/** Ends the last file. A file without an upload stays in memory, for `Uploads.close`. */
		async finish() {
			if (parts.isUpload()) await end();
			else for (const piece of encoder.finish()) parts.rest.push(piece);
		},

		release() {
			encoder.release?.();
		},
	};
}
