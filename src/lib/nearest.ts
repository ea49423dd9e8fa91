/** Longer names have no nearest one, so that a request can't make us compare long texts. */
const MAX_LENGTH = 64;

/** How many letters of three may differ. */
const MAX_SHARE = 1 / 3;

/**
 * Returns how many letters have to be inserted, deleted, replaced, or swapped with the next one to
 * get from `a` to `b` (the optimal string alignment distance).
 */
function distance(a: string, b: string): number {
	let before: number[] = [];
	let last = Array.from({ length: b.length + 1 }, (_, i) => i);
	for (let i = 1; i <= a.length; i += 1) {
		const row = [i];
		for (let j = 1; j <= b.length; j += 1) {
			const isSame = a[i - 1] === b[j - 1];
			const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
			row[j] = Math.min(
				(last[j] ?? 0) + 1,
				(row[j - 1] ?? 0) + 1,
				(last[j - 1] ?? 0) + (isSame ? 0 : 1),
				isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
			);
		}
		before = last;
		last = row;
	}
	return last[b.length] ?? 0;
}

/** Returns the name that `name` was probably meant to be, in any case; undefined if none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
	if (name.length > MAX_LENGTH) return undefined;
	const [best] = known
		.filter((other) => Math.abs(other.length - name.length) <= name.length * MAX_SHARE + 1)
		.map((other) => ({ other, edits: distance(name.toLowerCase(), other.toLowerCase()) }))
		.sort((a, b) => a.edits - b.edits);
	return best && best.edits <= Math.ceil(name.length * MAX_SHARE) ? best.other : undefined;
}
