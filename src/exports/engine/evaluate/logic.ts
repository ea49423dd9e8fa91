/** Three-valued logic, as in SQL: null is "unknown". */
import type { Get } from "./values.ts";

export const not =
	(condition: Get<boolean>): Get<boolean> =>
	(cells) => {
		const value = condition(cells);
		return value === null ? null : !value;
	};

/** OR: true if one of the conditions is true, otherwise null if one of them is null. */
export const some =
	(conditions: Get<boolean>[]): Get<boolean> =>
	(cells) => {
		let result: boolean | null = false;
		for (const condition of conditions) {
			const value = condition(cells);
			if (value) return true;
			if (value === null) result = null;
		}
		return result;
	};

export const every = (conditions: Get<boolean>[]) => not(some(conditions.map(not)));
