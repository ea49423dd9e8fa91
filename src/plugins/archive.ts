import { gunzipSync } from "node:zlib";
import { type TarHeader, unpackTar } from "modern-tar";
import { ApiError, invalid } from "../http/errors.ts";

const MIB = 2 ** 20;
export const MAX_ARCHIVE_BYTES = 10 * MIB;
const MAX_ENTRIES = 1000;
/** An isolate has 128 MiB: the archive, what it unpacks to and the texts made of it are there at the same time. */
const MAX_UNPACKED_BYTES = 16 * MIB;
const MAX_PATH = 255;

type File = { path: string; bytes: Uint8Array };

const tooLarge = () => invalid(null, "The archive is larger than 10 MiB.");
const tooMany = () => invalid(null, `The archive has more than ${MAX_ENTRIES} entries.`);
const bomb = () =>
	invalid(null, `The archive unpacks to more than ${MAX_UNPACKED_BYTES / MIB} MiB.`);

/**
 * Reads the text files of a tgz, by path. A folder that contains everything is left out of the paths. Binary files and
 * links are skipped: nothing ever follows a link.
 * @throws 400 for an archive that is broken, too large or has unsafe paths
 */
export async function unpack(archive: Uint8Array) {
	if (archive.length > MAX_ARCHIVE_BYTES) throw tooLarge();
	const [first, second] = archive;
	if (first !== 0x1f || second !== 0x8b) throw invalid(null, "The archive is no tgz.");
	const files = await untar(archive).catch((error: unknown) => {
		if (error instanceof ApiError) throw error;
		throw invalid(null, "The archive is broken.");
	});
	return texts(pathInside(files));
}

async function untar(archive: Uint8Array): Promise<File[]> {
	let entries = 0;
	const filter = ({ name, type }: TarHeader) => {
		if (++entries > MAX_ENTRIES) throw tooMany();
		safe(name);
		return type === "file";
	};
	const files = await unpackTar(gunzip(archive), { strict: true, filter });
	return files.map(({ header, data }) => ({
		path: safe(header.name),
		bytes: data ?? new Uint8Array(),
	}));
}

/** The decompressed bytes. zlib stops at the allowed length, before it allocates more. */
function gunzip(archive: Uint8Array) {
	try {
		return gunzipSync(archive, { maxOutputLength: MAX_UNPACKED_BYTES });
	} catch (error) {
		throw error instanceof RangeError ? bomb() : error;
	}
}

/** The path without `.` segments. */
function safe(path: string) {
	const segments = path.split("/");
	if (path.startsWith("/") || /^[a-z]:/i.test(path) || segments.includes(".."))
		throw invalid(null, "The archive has a path that leads out of it.");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
	if (path.length > MAX_PATH || /[\x00-\x1f\x7f\\]/.test(path))
		throw invalid(null, "The archive has a path that is no proper file name.");
	return segments.filter((name) => name !== "" && name !== ".").join("/");
}

/** Archives of repositories and packages have everything in one folder. */
function pathInside(files: File[]): File[] {
	const tops = new Set(files.map(({ path }) => path.split("/", 1)[0]));
	if (tops.size !== 1 || files.some(({ path }) => !path.includes("/"))) return files;
	return files.map(({ path, bytes }) => ({
		path: path.slice(path.indexOf("/") + 1),
		bytes,
	}));
}

function texts(files: File[]) {
	const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
	const found = new Map<string, string>();
	const seen = new Set<string>();
	for (const { path, bytes } of files) {
		if (seen.has(path)) throw invalid(null, `The archive has more than one ${path}.`);
		seen.add(path);
		if (bytes.includes(0)) continue;
		try {
			found.set(path, decoder.decode(bytes));
		} catch {
			// Not UTF-8: an image or the like.
		}
	}
	const folders = files.filter(({ path }) => /^[^/]+\/plugin\.json$/.test(path));
	if (!seen.has("plugin.json") && folders.length > 1)
		throw invalid(null, "The archive has more than one plugin.json.");
	return found;
}
