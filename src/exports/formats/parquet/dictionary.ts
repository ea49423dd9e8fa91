import { ByteWriter } from "hyparquet-writer";
import type { Kind } from "../../query/expression.ts";
import { copied, type Row } from "../../query/rows.ts";
import { free, sizeOf, type Value } from "./values.ts";

/** When a dictionary is given up if most values were distinct, of at least `MIN_COUNT`. */
const MIN_DISTINCT = 2048;
const MIN_DISTINCT_BYTES = 2 ** 20;
const MIN_COUNT = 16;

/**
 * Creates the dictionaries of a column: the distinct values of a row group, and the index of each
 * value among them. It stays in memory until it turns out that it doesn't halve the bytes.
 */
export function dictionaryWriter(kind: Kind) {
	const positions = new Map<Value, number>();
	const indexes = new ByteWriter();
	let count = 0;
	let plainBytes = 0;
	let distinctBytes = 0;
	let isOpen = kind !== "boolean";

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

		/** Returns all values. `isPresent`: 1 for each, and 0 for each null among them. */
		values(isPresent: Uint8Array): Row {
			const all = distinct();
			const rest = indexesSoFar().values();
			return Array.from(isPresent, (one) => (one ? (all[rest.next().value ?? 0] ?? null) : null));
		},

		/** Whether too many values are distinct for a dictionary to save space. */
		isHopeless: () =>
			count >= MIN_COUNT &&
			2 * positions.size > count &&
			(positions.size > MIN_DISTINCT || distinctBytes > MIN_DISTINCT_BYTES),

		/** Whether it halves the bytes. Not all readers support an empty one. */
		isWorthIt: () => count > 0 && 2 * (distinctBytes + (count * width()) / 8) <= plainBytes,

		/** Continues the row group without a dictionary. */
		giveUp() {
			clear();
			isOpen = false;
		},

		/** Begins the next row group. */
		next() {
			clear();
			isOpen = kind !== "boolean";
		},

		release: () => free(indexes),
	};
}
