/** Parts of files that a client asks for (RFC 9110, section 14). */

/** A part of a file: `length` bytes from `offset` on. */
export type Part = { offset: number; length: number };

/** `0-499`, `500-`, or `-500` for the last 500 bytes. */
const SPEC = /^(\d+)-(\d*)$|^-(\d+)$/;

/**
 * Returns the part for one of the ranges in a header.
 * @returns undefined if it isn't a range; null if the file has none of these bytes
 */
function partOf(spec: string, size: number): Part | null | undefined {
	const [, first, last, suffix] = SPEC.exec(spec) ?? [];
	if (suffix !== undefined) {
		const length = Math.min(Number(suffix), size);
		return length > 0 ? { offset: size - length, length } : null;
	}
	if (first === undefined) return undefined;
	const [offset, end] = [Number(first), last ? Number(last) : Number.POSITIVE_INFINITY];
	if (end < offset) return undefined;
	return offset < size ? { offset, length: Math.min(end + 1, size) - offset } : null;
}

/**
 * Returns the part of a file that `Range` asks for.
 * @returns undefined for the whole file: without the header, with one that must be ignored because
 * it is malformed or has another unit, and for several ranges, which a server needn't send; null if
 * the file has none of these bytes
 */
export function readRange(header: string | undefined, size: number): Part | null | undefined {
	const [unit = "", list] = header?.split("=", 2) ?? [];
	if (list === undefined || unit.trim().toLowerCase() !== "bytes") return undefined;
	const specs = list.split(",").map((spec) => spec.trim());
	const parts = specs.filter((spec) => spec !== "").map((spec) => partOf(spec, size));
	if (parts.length === 0 || parts.includes(undefined)) return undefined;
	if (parts.every((part) => part === null)) return null;
	return parts.length === 1 ? parts[0] : undefined;
}
