import type { ComponentChildren } from "preact";
import { useContext, useRef, useState } from "preact/hooks";
import type { List } from "../load.ts";
import { useQuery } from "../load.ts";
import { Empty, Loading, Problem } from "./feedback.tsx";
import { MayChange } from "./may_change.ts";
import { formatNumber } from "./values.tsx";

export type Column<T> = {
	title: string;
	cell: (row: T) => ComponentChildren;
	/** What sorted lists are sorted by, and saved as (`useSorted`). */
	value?: (row: T) => string | number | null;
	/** Whether the heading is only for screen readers. */
	isHidden?: boolean;
	/** Shown beside the title of the heading. */
	heading?: ComponentChildren;
	/** For numbers and buttons. */
	align?: "end";
	/** Whether it has buttons that change something. */
	isChanging?: boolean;
};

/** A column of buttons, with a heading for screen readers. */
export const buttons = <T,>(cell: Column<T>["cell"], title = "Actions"): Column<T> => ({
	title,
	isHidden: true,
	align: "end",
	isChanging: true,
	cell,
});

/** How a list is sorted and saved (`useSorted`). */
export type Sorting = {
	/** The title of a column, as a button that sorts the list by it. */
	heading: (title: string) => ComponentChildren;
	/** The order by a column, for screen readers. */
	order: (title: string) => "ascending" | "descending" | "none";
	/** A button that saves all rows as CSV. */
	save: ComponentChildren;
};

type Shown<T> = Omit<List<T>, "refresh"> & { sorting?: Sorting };

type Identified = { id: string | number };

/** Choosing several rows of a page, for actions on all of them. */
export type Choosing<T> = {
	/** The name of a row. */
	nameOf: (row: T) => string;
	mayChoose: (row: T) => boolean;
	/** The buttons for the chosen rows. */
	actions: (rows: T[]) => ComponentChildren;
};

type TableProps<T> = {
	list: Shown<T>;
	/** The name of the list, such as "Members". */
	label: string;
	columns: Column<T>[];
	/** The text if no row matches the filters, if there are any. */
	notFound?: string | false | undefined;
	/** Shown instead of a table that has no rows without filters either. */
	empty?: ComponentChildren;
	choosing?: Choosing<T> | undefined;
};

/** Returns a column that chooses rows, and the chosen ones among these rows. */
function useChosen<T extends Identified>(rows: readonly T[], choosing: Choosing<T> | undefined) {
	const [ids, setIds] = useState<ReadonlySet<T["id"]>>(new Set());
	if (!choosing) return { column: [], chosen: [] };
	const possible = rows.filter(choosing.mayChoose);
	const chosen = possible.filter(({ id }) => ids.has(id));
	const box = (label: string, isChecked: boolean, some: readonly T[]) => (
		<input
			type="checkbox"
			aria-label={label}
			checked={isChecked}
			onChange={({ currentTarget: { checked } }) => {
				const next = new Set(ids);
				for (const { id } of some) {
					if (checked) next.add(id);
					else next.delete(id);
				}
				setIds(next);
			}}
		/>
	);
	const column: Column<T> = {
		title: "Choose",
		isHidden: true,
		heading: possible.length > 0 && box("Choose all", chosen.length === possible.length, possible),
		cell: (row) =>
			choosing.mayChoose(row) && box(`Choose ${choosing.nameOf(row)}`, ids.has(row.id), [row]),
	};
	return { column: [column], chosen };
}

// biome-ignore-start lint/a11y/noRedundantRoles: as cards, the elements would lose their roles
const Rows = <T extends Identified>({
	rows,
	isLoading,
	label,
	columns,
	sorting,
}: Pick<TableProps<T>, "label" | "columns"> & {
	rows: T[];
	isLoading: boolean;
	sorting: Sorting | undefined;
}) => (
	<table role="table" aria-label={label} aria-busy={isLoading}>
		<thead role="rowgroup">
			<tr role="row">
				{columns.map(({ title, isHidden, heading, align, value }) => (
					<th
						key={title}
						role="columnheader"
						scope="col"
						data-align={align}
						aria-sort={value && sorting?.order(title)}
					>
						{value && sorting ? (
							sorting.heading(title)
						) : (
							<span class={isHidden ? "unseen" : undefined}>{title}</span>
						)}
						{heading}
					</th>
				))}
			</tr>
		</thead>
		<tbody role="rowgroup">
			{rows.map((row) => (
				<tr key={row.id} role="row">
					{columns.map(({ title, isHidden, align, cell }) => (
						<td
							key={title}
							role="cell"
							data-title={isHidden ? undefined : title}
							data-align={align}
						>
							{/* On a phone, the cell is next to its title, so it must be one element. */}
							<div>{cell(row)}</div>
						</td>
					))}
				</tr>
			))}
		</tbody>
	</table>
);
// biome-ignore-end lint/a11y/noRedundantRoles: as above

/**
 * A page of a list, with buttons for the previous and next page. On a phone, each row is a card,
 * and the roles keep it a table for screen readers.
 */
export function Table<T extends Identified>({
	list,
	label,
	columns: all,
	notFound,
	empty,
	choosing: ofRows,
}: TableProps<T>) {
	const mayChange = useContext(MayChange);
	const columns = all.filter(({ isChanging }) => mayChange || !isChanging);
	const choosing = mayChange ? ofRows : undefined;
	const text = notFound ? (
		<Empty title={`No ${label.toLowerCase()} found`}>{notFound}</Empty>
	) : (
		empty
	);
	/** The text for the loaded rows. `text` may already be about filters that are still loading. */
	const shown = useRef(text);
	if (!list.isLoading) shown.current = text;
	const { column, chosen } = useChosen(list.data?.results ?? [], choosing);
	if (list.error && !list.data) return <Problem error={list.error} retry={list.reload} />;
	if (!list.data) return <Loading />;
	if (list.data.results.length === 0 && list.offset === 0) return <>{shown.current}</>;
	return (
		<>
			{list.error && <Problem error={list.error} retry={list.reload} />}
			{choosing && chosen.length > 0 && (
				<div class="row">
					<span role="status">{formatNumber(chosen.length)} chosen</span>
					{choosing.actions(chosen)}
				</div>
			)}
			<Rows
				rows={list.data.results}
				isLoading={list.isLoading}
				label={label}
				columns={[...column, ...columns]}
				sorting={list.sorting}
			/>
			{list.parameter && <Pager list={list} label={label} parameter={list.parameter} />}
		</>
	);
}

function Pager<T>({
	list,
	label,
	parameter,
}: {
	list: Shown<T>;
	label: string;
	parameter: string;
}) {
	const [, change] = useQuery();
	const { data, offset, limit, sorting } = list;
	if (!data) return null;
	const { count, results } = data;
	/** A disabled button keeps the focus, which it has after the user opened the last page. */
	const button = (words: string, to: number, isOff: boolean) => (
		<button
			type="button"
			class="secondary outline"
			aria-disabled={isOff}
			onClick={() => isOff || change({ [parameter]: to > 0 ? String(to) : undefined })}
		>
			{words}
		</button>
	);
	const shown =
		results.length === 0
			? `none of ${formatNumber(count)}`
			: `${formatNumber(offset + 1)} to ${formatNumber(offset + results.length)} of ${formatNumber(count)}`;
	return (
		<nav class="pager" aria-label={`Pages of ${label}`}>
			<span role="status">{shown}</span>
			{(offset > 0 || data.next !== null) && (
				<span class="row">
					{button("Previous", offset - limit, offset === 0)}
					{button("Next", offset + results.length, data.next === null)}
				</span>
			)}
			{sorting?.save}
		</nav>
	);
}
