/** How a table's partitions follow from rows (https://iceberg.apache.org/spec/#partition-transforms). */
// Imported because the global `Buffer` is slow to access in workerd.
import { Buffer } from "node:buffer";
import { DAY_MS, HOUR_MS } from "../../../lib/time.ts";
import type { Kind } from "../../query/expression.ts";
import type { Row } from "../../query/rows.ts";
import type { Datum, Schema } from "./avro.ts";

type Value = Row[number];

/** Returns a value's partition; `type` is the Avro type of partitions, without null. */
export type Transform = { type: Schema; of: (value: Value) => Datum };

const DATE: Schema = { type: "int", logicalType: "date" };

/** The Avro types of columns, for partitions by the value itself. */
const AVRO: Partial<Record<Kind, Schema>> = {
	text: "string",
	integer: "long",
	boolean: "boolean",
	date: DATE,
};

const rotated = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits));

const mixed = (word: number) => Math.imul(rotated(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593);

/** Murmur3, the variant for x86 with 32 bits and the seed 0, which Iceberg prescribes. */
export function murmur3(bytes: Uint8Array): number {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const whole = bytes.length - (bytes.length % 4);
	let hash = 0;
	for (let at = 0; at < whole; at += 4)
		hash = (Math.imul(rotated(hash ^ mixed(view.getUint32(at, true)), 13), 5) + 0xe6546b64) | 0;
	const rest = bytes.subarray(whole).reduce((word, byte, i) => word | (byte << (8 * i)), 0);
	hash ^= mixed(rest) ^ bytes.length;
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	return hash ^ (hash >>> 16);
}

/** Integers are hashed as 64 bits. */
function bytesOf(value: NonNullable<Value>, kind: Kind) {
	if (kind === "text") return Buffer.from(String(value));
	const bytes = Buffer.alloc(8);
	bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
	return bytes;
}

const unlessNull =
	(of: (value: NonNullable<Value>) => Datum): Transform["of"] =>
	(value) =>
		value === null ? null : of(value);

const moment = (value: NonNullable<Value>) => new Date(String(value));

const months = (value: NonNullable<Value>) => {
	const at = moment(value);
	return (at.getUTCFullYear() - 1970) * 12 + at.getUTCMonth();
};

const TIMES: Record<string, Transform> = {
	year: { type: "int", of: unlessNull((value) => moment(value).getUTCFullYear() - 1970) },
	month: { type: "int", of: unlessNull(months) },
	day: { type: DATE, of: unlessNull((value) => Math.floor(moment(value).getTime() / DAY_MS)) },
	hour: { type: "int", of: unlessNull((value) => Math.floor(moment(value).getTime() / HOUR_MS)) },
};

/** Remembers the results for the last texts: rows that follow each other are often of one day. */
function remembered({ type, of }: Transform, length: number): Transform {
	const results = new Map<string, Datum>();
	return {
		type,
		of(value) {
			const key = String(value).slice(0, length);
			const known = results.get(key);
			if (known !== undefined) return known;
			if (results.size > 1000) results.clear();
			const result = of(value);
			results.set(key, result);
			return result;
		},
	};
}

const HOUR_LENGTH = "2026-01-01T00".length;

/**
 * Returns the transform with this name for a column; null if it isn't supported.
 * @param kind the kind of the export's column; undefined if the export doesn't write the column
 */
export function transformOf(name: string, kind: Kind | undefined): Transform | null {
	if (name === "void") return { type: "int", of: () => null };
	if (kind === undefined) return null;
	const isTime = kind === "timestamp" || (kind === "date" && name !== "hour");
	const time = TIMES[name];
	if (time && isTime) return kind === "timestamp" ? remembered(time, HOUR_LENGTH) : time;
	const [, buckets] = /^bucket\[(\d{1,6})\]$/.exec(name) ?? [];
	if (buckets && Number(buckets) > 0 && (kind === "text" || kind === "integer"))
		return {
			type: "int",
			of: unlessNull((value) => (murmur3(bytesOf(value, kind)) & 0x7fffffff) % Number(buckets)),
		};
	const type = AVRO[kind];
	if (name !== "identity" || type === undefined) return null;
	if (kind === "date") return { type, of: unlessNull((value) => moment(value).getTime() / DAY_MS) };
	return { type, of: (value) => value };
}
