import { crc32, gunzipSync, inflateRawSync } from "node:zlib";
import { type TarHeader, unpackTar } from "modern-tar";
import { invalid, Refusal } from "../http/errors.ts";

const MIB = 2 ** 20;
export const MAX_ARCHIVE_BYTES = 10 * MIB;
const MAX_ENTRIES = 1000;
/** An isolate has 128 MiB: the archive, what it unpacks to and the texts made of it are there at the same time. */
const MAX_UNPACKED_BYTES = 16 * MIB;
const MAX_PATH = 255;

type File = { path: string; bytes: Uint8Array };

const tooLarge = () => invalid(null, "The archive is larger than 10 MiB.");
const tooMany = () =>
	invalid(null, `The archive has more than ${MAX_ENTRIES} entries.`);
const tooMuch = () =>
	invalid(null, "A file in the archive is larger than it states.");
const bomb = () =>
	invalid(
		null,
		`The archive unpacks to more than ${MAX_UNPACKED_BYTES / MIB} MiB.`,
	);

/**
 * The text files in an archive (zip or tgz) by path, without the one folder that all may be in. Binary files are left
 * out; so are links, which repositories have for their own ends and plugins don't need: nothing ever follows one.
 * Anything else that isn't as it should be is refused with a 400.
 */
export async function unpack(archive: Uint8Array) {
	if (archive.length > MAX_ARCHIVE_BYTES) throw tooLarge();
	const files = await read(archive).catch((error: unknown) => {
		if (error instanceof Refusal) throw error;
		throw invalid(null, "The archive is broken.");
	});
	return texts(inside(files));
}

async function read(archive: Uint8Array) {
	const [first, second] = archive;
	if (first === 0x1f && second === 0x8b) return untar(archive);
	if (first === 0x50 && second === 0x4b) return unzip(archive);
	throw invalid(null, "The archive is neither a zip nor a tgz.");
}

async function untar(archive: Uint8Array): Promise<File[]> {
	let entries = 0;
	const filter = ({ name, type }: TarHeader) => {
		if (++entries > MAX_ENTRIES) throw tooMany();
		safe(name);
		return type === "file";
	};
	const tar = inflated(() =>
		gunzipSync(archive, { maxOutputLength: MAX_UNPACKED_BYTES }),
	);
	const files = await unpackTar(tar, { strict: true, filter });
	return files.map(({ header, data }) => ({
		path: safe(header.name),
		bytes: data ?? new Uint8Array(),
	}));
}

/** Signatures, fields and flags of a zip: APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;
/** Type bits of a Unix file mode. */
const TYPE = 0o170000;
const LINK = 0o120000;

/**
 * Reads the directory itself: the libraries at hand tell neither what is a link nor what is encrypted, and take the
 * sizes it states for true.
 */
function unzip(archive: Uint8Array): File[] {
	const view = new DataView(
		archive.buffer,
		archive.byteOffset,
		archive.byteLength,
	);
	const u16 = (at: number) => view.getUint16(at, true);
	const u32 = (at: number) => view.getUint32(at, true);
	const expect = (at: number, signature: number) => {
		if (u32(at) !== signature) throw new Error("Not a zip");
	};
	const isEnd = (at: number) =>
		u32(at) === END && at + END_BYTES + u16(at + 20) === archive.length;
	let end = archive.length - END_BYTES;
	while (!isEnd(end)) end--;
	const count = u16(end + 10);
	if (count > MAX_ENTRIES) throw tooMany();
	let at = u32(end + 16);
	let left = MAX_UNPACKED_BYTES;
	const files: File[] = [];
	for (let i = 0; i < count; i++) {
		expect(at, CENTRAL);
		const [flags, method, sum] = [u16(at + 8), u16(at + 10), u32(at + 16)];
		const [packed, size] = [u32(at + 20), u32(at + 24)];
		const nameEnd = at + 46 + u16(at + 28);
		const mode = u16(at + 40);
		const local = u32(at + 42);
		const name = new TextDecoder().decode(archive.subarray(at + 46, nameEnd));
		at = nameEnd + u16(at + 30) + u16(at + 32);

		const path = safe(name.replaceAll("\\", "/"));
		if (name.endsWith("/") || (mode & TYPE) === LINK) continue;
		if (flags & ENCRYPTED) throw invalid(null, "The archive is encrypted.");
		if (size > left) throw bomb();
		expect(local, LOCAL);
		const start = local + 30 + u16(local + 26) + u16(local + 28);
		const data = archive.subarray(start, start + packed);
		const bytes = expand(data, method, size);
		if (bytes.length !== size || crc32(bytes) !== sum)
			throw new Error("Not what was packed");
		left -= size;
		files.push({ path, bytes });
	}
	return files;
}

function expand(data: Uint8Array, method: number, size: number) {
	if (method === STORED) return data;
	if (method !== DEFLATED)
		throw invalid(null, "The archive is compressed in an unusual way.");
	// Not a byte more than is stated, and one is the least that may be allowed.
	return inflated(
		() => inflateRawSync(data, { maxOutputLength: Math.max(size, 1) }),
		tooMuch,
	);
}

/** Zlib stops at the length it is allowed, before it has the memory for more. */
function inflated(inflate: () => Uint8Array, tooLong = bomb) {
	try {
		return inflate();
	} catch (error) {
		throw error instanceof RangeError ? tooLong() : error;
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
function inside(files: File[]): File[] {
	const tops = new Set(files.map(({ path }) => path.split("/", 1)[0]));
	if (tops.size !== 1 || files.some(({ path }) => !path.includes("/")))
		return files;
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
		if (seen.has(path))
			throw invalid(null, `The archive has more than one ${path}.`);
		seen.add(path);
		if (bytes.includes(0)) continue;
		try {
			found.set(path, decoder.decode(bytes));
		} catch {
			// Not UTF-8: an image or the like.
		}
	}
	const folders = files.filter(({ path }) =>
		/^[^/]+\/plugin\.json$/.test(path),
	);
	if (!seen.has("plugin.json") && folders.length > 1)
		throw invalid(null, "The archive has more than one plugin.json.");
	return found;
}
