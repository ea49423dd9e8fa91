import { ByteWriter } from "hyparquet-writer";
import type { Kind } from "../../query/expression.ts";
import { copied, type Row } from "../../rows.ts";
import { free } from "./buffers.ts";
import { sizeOf, type Value } from "./values.ts";

/**
 * After this many distinct values, or bytes of them, a dictionary is given up if most values were
 * distinct. Fewer than `MIN_COUNT` values are too few to decide, however long they are.
 */
const MIN_DISTINCT = 2048;
const MIN_DISTINCT_BYTES = 2 ** 20;
const MIN_COUNT = 16;

/** The maximum number of row groups without a dictionary until another one is tried. */
const MAX_SKIPPED = 64;

/**
 * How many row groups don't use a dictionary: from the next one on (`now`), and after the next try
 * if it fails (`next`). It is part of an encoder's state, because each step of a run creates an
 * encoder.
 */
export type Skips = [now: number, next: number];

/**
 * Creates the dictionaries of a column: the distinct values of a row group, and the index of each
 * value among them. A dictionary stays in memory until it turns out that it doesn't halve the
 * bytes. So while that happens, fewer and fewer row groups try one.
 */
export function dictionaryWriter(kind: Kind, [now, next]: Skips = [0, 1]) {
	const positions = new Map<Value, number>();
	const indexes = new ByteWriter();
	let count = 0;
	let plainBytes = 0;
	let distinctBytes = 0;
	let skips = now;
	let nextSkips = next;
	let isOpen = kind !== "boolean" && skips === 0;

	const distinct = () => [...positions.keys()];
	/** The number of bits of an index. */
	const width = () => 32 - Math.clz32(Math.max(0, positions.size - 1));
	const indexesSoFar = () => new Uint32Array(indexes.buffer, 0, count);

	function clear() {
		positions.clear();
		indexes.index = 0;
		count = 0;
		plainBytes = 0;
		distinctBytes = 0;
	}

	return {
		distinct,
		width,
		/** Valid until the next `add`. */
		indexes: indexesSoFar,
		/** Whether the row group may still get a dictionary. */
		isOpen: () => isOpen,

		/** Adds values. Ignores null. */
		add(values: Row) {
			for (const value of values) {
				if (value === null) continue;
				const size = sizeOf(value);
				let index = positions.get(value);
				if (index === undefined) {
					index = positions.size;
					positions.set(copied(value), index);
					distinctBytes += size;
				}
				plainBytes += size;
				count += 1;
				indexes.appendUint32(index);
			}
		},

		/** Returns the distinct values, in order. */
		values() {
			const all = distinct();
			return Array.from(indexesSoFar(), (index) => all[index] ?? null);
		},

		/** Whether too many values are distinct for a dictionary to save space. */
		isHopeless: () =>
			count >= MIN_COUNT &&
			2 * positions.size > count &&
			(positions.size > MIN_DISTINCT || distinctBytes > MIN_DISTINCT_BYTES),

		/** Whether it halves the bytes. */
		isWorthIt: () => 2 * (distinctBytes + (count * width()) / 8) <= plainBytes,

		/** Continues the row group without a dictionary. */
		giveUp() {
			clear();
			isOpen = false;
			skips = nextSkips + 1;
			nextSkips = Math.min(4 * nextSkips, MAX_SKIPPED);
		},

		/** Begins the next row group. */
		next() {
			clear();
			if (isOpen) nextSkips = 1;
			skips = Math.max(0, skips - 1);
			isOpen = kind !== "boolean" && skips === 0;
		},

		skips: (): Skips => [skips, nextSkips],
		release: () => free(indexes),
	};
}
