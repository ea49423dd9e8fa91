/**
 * Divides items into groups, in order. The sizes of a group add up to at most `max`, unless it
 * consists of a single larger item.
 */
export function grouped<T>(items: Iterable<T>, max: number, sizeOf: (item: T) => number): T[][] {
	const groups: T[][] = [];
	let total = Number.POSITIVE_INFINITY;
	for (const item of items) {
		const size = sizeOf(item);
		total += size;
		if (total > max) {
			groups.push([]);
			total = size;
		}
		groups.at(-1)?.push(item);
	}
	return groups;
}
