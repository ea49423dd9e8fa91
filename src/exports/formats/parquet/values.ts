// Imported because the global `Buffer` is slow to access in workerd.

import { Buffer } from "node:buffer";
import type { SchemaElement } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writePlain } from "hyparquet-writer/src/plain.js";
import { DAY_MS } from "../../../lib/time.ts";
import type { Kind } from "../../query/expression.ts";
import type { Row } from "../../query/rows.ts";
import { NOTHING } from "../format.ts";

export const sizeOfAll = (pieces: readonly Uint8Array[]) =>
	pieces.reduce((sum, { length }) => sum + length, 0);

/** Returns the bytes written since the last call. They are valid until the next write. */
export function taken(writer: ByteWriter) {
	const bytes = writer.getBytes();
	writer.index = 0;
	return bytes;
}

/** Frees a writer's memory immediately, because the runtime collects large buffers late. */
export function free(writer: ByteWriter) {
	writer.index = 0;
	writer.buffer.transfer(0);
	writer.buffer = new ArrayBuffer(0);
	writer.view = new DataView(writer.buffer);
}

/** A value of a physical type. Integers are numbers or bigints. */
export type Value = NonNullable<Row[number]>;

const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;

/** The Parquet type of each kind. JSON is text, because not all readers support JSON. */
export const TYPES = {
	text: TEXT,
	json: TEXT,
	integer: { type: "INT64" },
	number: { type: "DOUBLE" },
	boolean: { type: "BOOLEAN" },
	date: { type: "INT32", converted_type: "DATE" },
	timestamp: {
		type: "INT64",
		converted_type: "TIMESTAMP_MICROS",
		logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
	},
} satisfies Record<Kind, Partial<SchemaElement>>;

const ISO_LENGTH = "2026-01-01T00:00:00.000Z".length;
const MINUTE_LENGTH = "2026-01-01T00:00:".length;

/** Returns a function that parses times, fast in the same minute as the previous one. */
function momentReader() {
	let minute = "-";
	let start = 0;
	return (text: string) => {
		if (text.length !== ISO_LENGTH) return Date.parse(text);
		if (!text.startsWith(minute)) {
			minute = text.slice(0, MINUTE_LENGTH);
			start = Date.parse(`${minute}00.000Z`);
		}
		const digit = (at: number) => text.charCodeAt(at) - 48;
		const seconds = digit(17) * 10 + digit(18);
		return start + seconds * 1000 + digit(20) * 100 + digit(21) * 10 + digit(22);
	};
}

/** From the year 2255 on, a number would lose digits of them. */
function toMicroseconds(milliseconds: number) {
	const microseconds = milliseconds * 1000;
	return Number.isSafeInteger(microseconds) ? microseconds : BigInt(milliseconds) * 1000n;
}

/** Converts the values of a column of this kind to its physical type. Null stays null. */
export function stored(kind: Kind, values: Row): Row {
	if (kind === "date") return values.map((value) => value && Date.parse(String(value)) / DAY_MS);
	if (kind !== "timestamp") return values;
	const read = momentReader();
	return values.map((value) => (typeof value === "string" ? toMicroseconds(read(value)) : null));
}

const encoder = new TextEncoder();

/** The space for the length of a text, which precedes the text. */
const ROOM = "\0\0\0\0";

/** Encodes all texts at once, with space between them for their lengths. */
function plainTexts(texts: Value[]) {
	const joined = ROOM + texts.join(ROOM);
	const bytes = encoder.encode(joined);
	const isAscii = bytes.length === joined.length;
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	let at = 0;
	for (const text of texts) {
		const length = isAscii ? String(text).length : Buffer.byteLength(String(text));
		view.setUint32(at, length, true);
		at += ROOM.length + length;
	}
	return bytes;
}

/** Encodes each number as two words, the lower one first. */
function plainIntegers(numbers: Value[]) {
	const words = new Uint32Array(2 * numbers.length);
	let at = 0;
	for (const number of numbers) {
		if (typeof number === "bigint") {
			words[at] = Number(BigInt.asUintN(32, number));
			words[at + 1] = Number(BigInt.asUintN(32, number >> 32n));
		} else {
			words[at] = Number(number);
			words[at + 1] = Math.floor(Number(number) / 2 ** 32);
		}
		at += 2;
	}
	return new Uint8Array(words.buffer);
}

/** Encodes booleans, which have a byte each, in the encoding PLAIN. */
export function bits(booleans: Uint8Array): Uint8Array {
	const packed = new Uint8Array(Math.ceil(booleans.length / 8));
	for (const [i, boolean] of booleans.entries())
		packed[i >> 3] = (packed[i >> 3] ?? 0) | (boolean << (i & 7));
	return packed;
}

/** Encodes the values in the encoding PLAIN, except that booleans have a byte each. */
export function plain(kind: Kind, values: Value[]): Uint8Array {
	if (values.length === 0) return NOTHING;
	const { type } = TYPES[kind];
	if (type === "BYTE_ARRAY") return plainTexts(values);
	if (type === "INT64") return plainIntegers(values);
	if (type === "BOOLEAN") return Uint8Array.from(values, Number);
	const writer = new ByteWriter(8 * values.length);
	writePlain(writer, values, type, undefined);
	return writer.getBytes();
}

/** Returns the approximate size of a value in the encoding PLAIN, in bytes. */
export const sizeOf = (value: Row[number]) =>
	typeof value === "string" ? ROOM.length + value.length : value === null ? 0 : 8;
