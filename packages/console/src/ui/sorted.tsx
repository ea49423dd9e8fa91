/** Lists that can be sorted by any column, and saved. */
import type { Pages } from "tenantry-client";
import { record, withoutFormula } from "../../../../src/lib/csv.ts";
import { saveText } from "../download.ts";
import { filtered, type List, useList, useQuery } from "../load.ts";
import { SmallButton } from "./button.tsx";
import type { Column, Sorting } from "./table.tsx";

type Range = { limit: number; offset: number };

const COLLATOR = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** Compares values. Rows without one are last. */
function compare(a: Value, b: Value) {
	if (a === b) return 0;
	if (a === null || b === null) return a === null ? 1 : -1;
	return typeof a === "number" && typeof b === "number"
		? a - b
		: COLLATOR.compare(String(a), String(b));
}

type Value = string | number | null;

/** Returns how rows are sorted by the column in the URL: its title, with a `-` if descending. */
function orderOf<T>(columns: readonly Column<T>[], sort: string) {
	const isDescending = sort.startsWith("-");
	const title = isDescending ? sort.slice(1) : sort;
	const value = columns.find((column) => column.title === title)?.value;
	if (!value) return undefined;
	return {
		title,
		isDescending,
		compare: (a: T, b: T) =>
			isDescending && value(a) !== null && value(b) !== null
				? compare(value(b), value(a))
				: compare(value(a), value(b)),
	};
}

/**
 * Loads a list like `useList`. If it is sorted, filtered by `matches` or saved, all rows are loaded.
 * @param name the name of the file
 * @param parameter the URL parameter of the offset, if the page has several lists
 */
export function useSorted<T>(
	load: (range: Range, options: { signal?: AbortSignal }) => Pages<T>,
	inputs: readonly unknown[],
	{
		columns,
		name,
		matches,
		parameter = "offset",
	}: {
		columns: readonly Column<T>[];
		name: string;
		matches?: ((row: T) => boolean) | undefined;
		parameter?: string;
	},
): List<T> & { sorting: Sorting } {
	const [query, change] = useQuery();
	const sorting = parameter.replace("offset", "sort");
	const sort = query[sorting] ?? "";
	const order = orderOf(columns, sort);
	const list = useList(
		(page, signal) => filtered((range) => load(range, { signal }), page, matches, order?.compare),
		[...inputs, sort],
		{ parameter },
	);
	async function save() {
		const whole = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };
		const all = (range: Range) => load(range, {});
		const { results } = await filtered(all, whole, matches ?? (() => true), order?.compare);
		const saved = columns.flatMap(({ title, value }) => (value ? [{ title, value }] : []));
		const lines = results.map((row) =>
			record(saved.map(({ value }) => withoutFormula(value(row)))),
		);
		saveText(
			record(saved.map(({ title }) => title)) + lines.join(""),
			`${name}-${new Date().toISOString().slice(0, 10)}.csv`,
		);
	}
	const directionOf = (title: string) =>
		order?.title !== title ? "none" : order.isDescending ? "descending" : "ascending";
	const next = { none: "", ascending: "-", descending: undefined };
	return {
		...list,
		sorting: {
			order: directionOf,
			heading: (title) => {
				const direction = directionOf(title);
				const prefix = next[direction];
				return (
					<button
						type="button"
						class="plain sort"
						onClick={() =>
							change({
								[sorting]: prefix === undefined ? undefined : prefix + title,
								[parameter]: undefined,
							})
						}
					>
						{title}
						<span aria-hidden="true">
							{{ none: "", ascending: " ↑", descending: " ↓" }[direction]}
						</span>
					</button>
				);
			},
			save: <SmallButton onPress={save}>Save as CSV</SmallButton>,
		},
	};
}
