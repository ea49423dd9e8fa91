import { pluralize } from "../../../lib/text.ts";
import { MisconfiguredError } from "../../../outbound/errors.ts";
import type { Kind } from "../../query/expression.ts";
import type { Column, Row } from "../../query/rows.ts";
import type { Fit } from "./values.ts";

/** The type of a column of a table. `fit` is null if it holds all values of the export's column. */
export type Limit = { type: string; isNullable: boolean; fit: Fit | null };

/** A number of values for each column's name. */
export type Counts = Record<string, number>;

/** The maximum length of a value in an error. */
const MAX_SHOWN_CHARACTERS = 100;

function shown(kind: Kind, value: NonNullable<Row[number]>) {
	const text = typeof value === "string" && kind !== "json" ? JSON.stringify(value) : String(value);
	return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}

/** Returns a sentence with the number of values, in all and for each column; [] if there are none. */
export function describeCounts(beginning: string, what: string, counts: Counts): string[] {
	const entries = Object.entries(counts);
	if (entries.length === 0) return [];
	const total = entries.reduce((sum, [, count]) => sum + count, 0);
	const columns = entries.map(([name, count]) => `${name} (${count})`).join(", ");
	return [`${beginning}: ${pluralize(total, what)} in ${columns}.`];
}

export const add = (counts: Counts, name: string, count = 1) => ({
	...counts,
	[name]: (counts[name] ?? 0) + count,
});

export const describeUnfit = (counts: Counts = {}) =>
	describeCounts("Written as null, because the column can't hold them", "value", counts);

export type Fitter = ReturnType<typeof fitter>;

/**
 * Returns what makes rows fit a table (docs/exports.md#values-that-dont-fit): a value that its
 * column can't hold becomes null and is counted.
 * @param limits by the name of the column; columns without one are written as they are
 * @param before the counts of earlier parts of the run
 */
export function fitter(
	table: string,
	columns: Column[],
	limits: ReadonlyMap<string, Limit>,
	before: Counts = {},
) {
	let counts = before;
	let unfit = 0;
	const checks = columns.flatMap(({ name, kind }, i) => {
		const limit = limits.get(name);
		if (!limit?.fit) return [];
		const lose = () => {
			unfit += 1;
			counts = add(counts, name);
		};
		return [{ ...limit, i, name, kind, fit: limit.fit, lose }];
	});

	function fitRow(row: Row): Row {
		let fitted = row;
		for (const { i, name, kind, fit, lose, type, isNullable } of checks) {
			const value = row[i] ?? null;
			if (value === null) continue;
			const kept = fit(value, lose);
			if (kept === value) continue;
			if (kept === undefined) {
				if (!isNullable)
					throw new MisconfiguredError(
						`The column ${name} of the table ${table} doesn't accept a value of the export. Its type, ${type.replace(/\s+/g, " ")}, can't hold ${shown(kind, value)}, and it can't be null: change the type, or allow null.`,
					);
				lose();
			}
			if (fitted === row) fitted = [...row];
			fitted[i] = kept ?? null;
		}
		return fitted;
	}

	return {
		/** @throws MisconfiguredError if a column can hold neither the value nor null */
		fit: (rows: Row[]) => (checks.length === 0 ? rows : rows.map(fitRow)),
		/** How many values became null, with those of earlier parts of the run. */
		get counts() {
			return counts;
		},
		/** How many values became null, without those of earlier parts. */
		get unfit() {
			return unfit;
		},
	};
}
