import { gunzipSync } from "node:zlib";
import type { TarHeader } from "modern-tar";
import { ApiError, invalid } from "../../http/errors.ts";

/* Extended headers of tar archives (POSIX pax) contain records such as `19 path=src/a.js\n`. */

/** For all headers together. Archives usually have a few for each entry. */
const MAX_RECORDS = 10_000;

const BLOCK_BYTES = 512;
const SIZE_AT = 124;
const SIZE_END = 136;
const CHECKSUM_AT = 148;
const CHECKSUM_END = 156;
const TYPE_AT = 156;
const SPACE = 0x20;

/** The types of extended headers: of the next entry, and of all entries. */
const EXTENDED = ["x", "g"].map((type) => type.charCodeAt(0));

/** A record begins with its length in bytes, including the number itself. */
const RECORD_LENGTH = /^(\d{1,8}) /;
const RECORD_LENGTH_BYTES = 9;

const decoder = new TextDecoder("latin1");
const toText = (bytes: Uint8Array) => decoder.decode(bytes);

/** Reads an octal number, which ends at the first other character; 0 if there is none. */
const octal = (field: Uint8Array) => Number.parseInt(toText(field).replaceAll(" ", ""), 8) || 0;

/** Whether the block has the checksum of a header: the sum of its bytes, itself as spaces. */
function isHeader(block: Uint8Array) {
	const checksum = octal(block.subarray(CHECKSUM_AT, CHECKSUM_END));
	let sum = 0;
	for (const byte of block) sum += byte;
	for (const byte of block.subarray(CHECKSUM_AT, CHECKSUM_END)) sum += SPACE - byte;
	return sum === checksum;
}

/** Counts up to `max + 1` records. Returns Infinity if one is shorter than its own length. */
function countRecords(records: Uint8Array, max: number) {
	let count = 0;
	for (let at = 0; at < records.length && count <= max; count++) {
		const start = toText(records.subarray(at, at + RECORD_LENGTH_BYTES));
		const [prefix = "", digits] = RECORD_LENGTH.exec(start) ?? [];
		const length = Number(digits);
		if (!(length > prefix.length)) return Number.POSITIVE_INFINITY;
		at += length;
	}
	return count;
}

/**
 * Whether all extended headers have valid records, and not too many. modern-tar needs quadratic
 * time for records that are shorter than their own length: hours for 8 MiB. Only the parser knows
 * where entries begin, so this checks every block that can be a header.
 */
function hasValidPax(tar: Uint8Array) {
	let left = MAX_RECORDS;
	for (let at = 0; at + BLOCK_BYTES <= tar.length && left >= 0; at += BLOCK_BYTES) {
		const block = tar.subarray(at, at + BLOCK_BYTES);
		if (!EXTENDED.includes(block[TYPE_AT] ?? 0) || !isHeader(block)) continue;
		const size = block.subarray(SIZE_AT, SIZE_END);
		// Only sizes of several gigabytes need the binary form.
		if ((size[0] ?? 0) > 0x7f) return false;
		const start = at + BLOCK_BYTES;
		left -= countRecords(tar.subarray(start, start + octal(size)), left);
	}
	return left >= 0;
}

const MIB = 2 ** 20;
export const MAX_ARCHIVE_BYTES = 10 * MIB;
const MAX_ENTRIES = 1000;
/** The archive, the unpacked bytes and the text are in an isolate's 128 MiB at the same time. */
const MAX_UNPACKED_BYTES = 16 * MIB;
export const MAX_PATH_LENGTH = 255;

type File = { path: string; bytes: Uint8Array };

/**
 * Reads the text files of a .tgz archive into a map by path. If all files are in one top-level
 * folder, that folder is removed from the paths. Binary files and links are skipped.
 * @throws 400 if the archive is broken, too large or contains unsafe paths
 */
export async function unpack(archive: Uint8Array) {
	if (archive.length > MAX_ARCHIVE_BYTES) throw invalid(null, "The archive is larger than 10 MiB.");
	const [first, second] = archive;
	if (first !== 0x1f || second !== 0x8b) throw invalid(null, "The archive is not a .tgz file.");
	try {
		return decodeTexts(stripTopFolder(await untar(archive)));
	} catch (error) {
		throw error instanceof ApiError ? error : invalid(null, "The archive is broken.");
	}
}

async function untar(archive: Uint8Array): Promise<File[]> {
	let entries = 0;
	const filter = ({ name, type }: TarHeader) => {
		if (++entries > MAX_ENTRIES)
			throw invalid(null, `The archive has more than ${MAX_ENTRIES} entries.`);
		normalizePath(name);
		return type === "file";
	};
	const tar = gunzip(archive);
	if (!hasValidPax(tar)) throw new Error("The archive has invalid extended headers.");
	const { unpackTar } = await import("modern-tar");
	const files = await unpackTar(tar, { strict: true, filter });
	return files.map(({ header, data }) => ({
		path: normalizePath(header.name),
		bytes: data ?? new Uint8Array(),
	}));
}

/** Decompresses the archive. zlib stops at the limit instead of allocating more memory. */
function gunzip(archive: Uint8Array) {
	try {
		return gunzipSync(archive, { maxOutputLength: MAX_UNPACKED_BYTES });
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		throw invalid(null, `The archive unpacks to more than ${MAX_UNPACKED_BYTES / MIB} MiB.`);
	}
}

/** Removes empty and `.` segments. Throws 400 if the path is unsafe. */
function normalizePath(path: string) {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed in paths
	if (path.length > MAX_PATH_LENGTH || /[\x00-\x1f\x7f\\]/.test(path))
		throw invalid(null, "The archive has a path that is not a valid file name.");
	const segments = path.split("/");
	if (path.startsWith("/") || /^[a-z]:/i.test(path) || segments.includes(".."))
		throw invalid(null, "The archive has a path that points outside the archive.");
	return segments.filter((name) => name !== "" && name !== ".").join("/");
}

/** Archives of repositories and packages usually contain a single top-level folder. */
function stripTopFolder(files: File[]): File[] {
	const topFolders = new Set(files.map(({ path }) => path.split("/", 1)[0]));
	if (topFolders.size !== 1 || files.some(({ path }) => !path.includes("/"))) return files;
	return files.map(({ path, bytes }) => ({ path: path.slice(path.indexOf("/") + 1), bytes }));
}

function decodeTexts(files: File[]) {
	const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
	const texts = new Map<string, string>();
	const seen = new Set<string>();
	for (const { path, bytes } of files) {
		if (seen.has(path)) throw invalid(null, `The archive has more than one ${path}.`);
		seen.add(path);
		if (bytes.includes(0)) continue;
		try {
			texts.set(path, decoder.decode(bytes));
		} catch {
			// Not UTF-8, so not a text file.
		}
	}
	const nestedManifests = files.filter(({ path }) => /^[^/]+\/plugin\.json$/.test(path));
	if (!seen.has("plugin.json") && nestedManifests.length > 1)
		throw invalid(null, "The archive has more than one plugin.json.");
	return texts;
}
