import type { StoredFile } from "../../../db/schema/batch_exports.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import { bytesOf, type Row } from "../../query/rows.ts";
import { fileWriter } from "./file_writer.ts";
import { removeLeftovers } from "./leftovers.ts";
import type { FilesConfig } from "./names.ts";
import { partWriter } from "./part_writer.ts";
import { portions } from "./portions.ts";
import { INITIAL, type State, type UploadContext, uploadsOf } from "./uploads.ts";

/** The maximum size of a state, which must fit into a value in D1 (at most 2,000,000 bytes). */
const MAX_STATE_BYTES = 1_500_000;

/** The maximum number of bytes after the last part that fit into a state, in base64. */
const MAX_REST_BYTES = (MAX_STATE_BYTES * 3) / 4;

/**
 * How many bytes of a run are read back to compute the digests of its files, all in one step, which
 * has a limit of CPU time (wrangler.toml).
 */
const MAX_DIGEST_BYTES = 8 * 2 ** 30;

/** Writes a run's files, which appear on `close`, in order. Small ones need no upload. */
export function filesSink(config: FilesConfig, context: UploadContext, state: State | null) {
	const { job, keyOf } = context;
	const uploads = uploadsOf(context, state ?? INITIAL);
	const parts = partWriter(uploads, state ?? INITIAL);
	const writer = fileWriter(config, job, parts, state ?? INITIAL);
	const maxBytes = (config.max_file_size_mb ?? 0) * 1_000_000;
	/** Whether a call is in progress or has failed, so that a request may be reading the buffer. */
	let isBusy = false;

	async function encode(rows: Row[], sizes: number[]) {
		for (const portion of portions(config, job.columns, rows, sizes)) {
			const isFull = () =>
				maxBytes > 0 && writer.size() > 0 && writer.size() + portion.bytes > maxBytes;
			if (isFull()) await writer.flush();
			if (isFull()) await writer.next();
			await writer.write(portion.rows, portion.bytes);
		}
		if (writer.isPartFull() || parts.hasSent()) await writer.flush();
	}

	/** The state so far; null if it is too large, or if no part was uploaded since the last one. */
	function stateToSave(): State | null {
		if (!parts.hasSent() || parts.rest.length > MAX_REST_BYTES) return null;
		const state = {
			uploads: structuredClone(uploads.list),
			current: parts.file(),
			rest: Buffer.from(parts.rest.all()).toString("base64"),
			encoder: writer.state(),
			rows: writer.rows(),
			closed: uploads.closed,
		};
		const bytes = JSON.stringify(state).length;
		if (bytes - state.rest.length > MAX_STATE_BYTES)
			throw new MisconfiguredError(
				"The window has more data than one run can write: choose a shorter interval.",
			);
		if (bytes > MAX_STATE_BYTES) return null;
		parts.clearSent();
		return state;
	}

	/** Makes the files appear in order. A retry continues after the last one that appeared. */
	async function closeFiles(keys: string[]) {
		const before = uploads.closed;
		let closed = before;
		try {
			for (const [i, key] of keys.entries()) {
				if (i < closed) continue;
				await uploads.close(key, i, parts.rest.all);
				closed = i + 1;
			}
		} catch (error) {
			if (closed > before) await uploads.saveClosed(closed);
			throw error;
		}
	}

	/** Returns the files as they are in the service's own bucket; null if they aren't in it. */
	async function storedFiles(keys: string[]) {
		const { inspect } = context.bucket;
		const rows = writer.rows();
		if (!inspect || !rows) return null;
		const stored: StoredFile[] = [];
		let room = MAX_DIGEST_BYTES;
		for (const [i, key] of keys.entries()) {
			const found = await inspect(key, room);
			if (!found) continue;
			if (found.digest !== null) room -= found.bytes;
			stored.push({ key, rows: rows[i] ?? 0, ...found });
		}
		return stored;
	}

	async function closeAll() {
		if (parts.file() === 0 && writer.size() === 0) return [];
		isBusy = true;
		await writer.finish();
		const keys = Array.from({ length: parts.file() + 1 }, (_, i) => keyOf(job, i));
		await closeFiles(keys);
		if (maxBytes) await uploads.putManifest(keys);
		isBusy = false;
		return keys;
	}

	return {
		async write(rows: Row[], sizes = rows.map(bytesOf)) {
			isBusy = true;
			await encode(rows, sizes);
			isBusy = false;
			return stateToSave();
		},

		async close() {
			const files = await closeAll();
			const stored = await storedFiles(files);
			if (!job.isRepeat) return { files, stored };
			const manifest = maxBytes && files.length > 0 ? [keyOf(job, "manifest")] : [];
			const written = new Set([...files, ...manifest]);
			return { files, stored, warnings: await removeLeftovers(context, written) };
		},

		release() {
			if (!isBusy) parts.rest.release();
			writer.release();
		},
	};
}
