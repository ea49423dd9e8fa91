/** Pseudorandom values from a seed. */
export function seeded(seed: number) {
	let state = seed >>> 0;
	/** In [0, 1) (mulberry32). */
	const next = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let x = Math.imul(state ^ (state >>> 15), state | 1);
		x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
		return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
	};
	const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
	const bytes = (n: number) => Buffer.from(Array.from({ length: n }, () => integer(0, 255)));
	return {
		integer,
		chance: (probability: number) => next() < probability,
		between: (min: number, max: number) => min + next() * (max - min),
		pick<T>(values: readonly [T, ...T[]]): T {
			return values[integer(0, values.length - 1)] ?? values[0];
		},
		hex: (n: number) => bytes(n).toString("hex"),
		/** A UUID of version 4. */
		uuid() {
			const hex = bytes(16).toString("hex");
			return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
		},
	};
}

export type Random = ReturnType<typeof seeded>;
