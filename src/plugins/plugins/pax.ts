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
export function hasValidPax(tar: Uint8Array) {
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
