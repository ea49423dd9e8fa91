/** A check of the extended headers of tar archives (POSIX pax), which contain records such as `19 path=src/a.js\n`. */

const BLOCK_BYTES = 512;
const CHECKSUM_AT = 148;
const CHECKSUM_END = 156;
const TYPE_AT = 156;

/** The types of extended headers: of the next entry, and of all entries. */
const EXTENDED = ["x", "g"].map((type) => type.charCodeAt(0));

/** A record begins with its length in bytes, including the number itself. */
const RECORD_LENGTH = /^(\d{1,8}) /;
const RECORD_LENGTH_BYTES = 9;

const toText = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);

/** Reads an octal number, which ends at the first other character; 0 if there is none. */
const octal = (field: Uint8Array) => Number.parseInt(toText(field).replaceAll(" ", ""), 8) || 0;

const isHeader = (block: Uint8Array) => {
	const sum = block.reduce(
		(total, byte, at) => total + (at >= CHECKSUM_AT && at < CHECKSUM_END ? 0x20 : byte),
		0,
	);
	return sum === octal(block.subarray(CHECKSUM_AT, CHECKSUM_END));
};

function hasValidRecords(records: Uint8Array) {
	for (let at = 0; at < records.length; ) {
		const [prefix = "", digits] =
			RECORD_LENGTH.exec(toText(records.subarray(at, at + RECORD_LENGTH_BYTES))) ?? [];
		const length = Number(digits);
		if (!(length > prefix.length)) return false;
		at += length;
	}
	return true;
}

/**
 * Whether the records of all extended headers contain at least their own length. modern-tar needs quadratic time for others: hours
 * for the 8 MiB that a header can have. Only the parser knows where entries begin, so this checks every block that can be a header.
 */
export function hasValidPax(tar: Uint8Array) {
	for (let at = 0; at + BLOCK_BYTES <= tar.length; at += BLOCK_BYTES) {
		const block = tar.subarray(at, at + BLOCK_BYTES);
		if (!EXTENDED.includes(block[TYPE_AT] ?? 0) || !isHeader(block)) continue;
		const size = block.subarray(124, 136);
		// Only sizes of several gigabytes need the binary form.
		if ((size[0] ?? 0) > 0x7f) return false;
		const start = at + BLOCK_BYTES;
		if (!hasValidRecords(tar.subarray(start, start + octal(size)))) return false;
	}
	return true;
}
