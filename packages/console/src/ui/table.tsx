import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { List } from "../load.ts";
import { useQuery } from "../load.ts";
import { Empty, Loading, Problem } from "./feedback.tsx";
import { formatNumber } from "./values.tsx";

export type Column<T> = {
	title: string;
	cell: (row: T) => ComponentChildren;
	/** Whether the heading is only for screen readers. */
	isHidden?: boolean;
	/** For numbers and buttons. */
	align?: "end";
};

/** A column of buttons, with a heading for screen readers. */
export const buttons = <T,>(cell: Column<T>["cell"], title = "Actions"): Column<T> => ({
	title,
	isHidden: true,
	align: "end",
	cell,
});

type Shown<T> = Omit<List<T>, "refresh">;

type Identified = { id: string | number };

type TableProps<T> = {
	list: Shown<T>;
	/** The name of the list, such as "Members". */
	label: string;
	columns: Column<T>[];
	/** The text if no row matches the filters, if there are any. */
	notFound?: string | false | undefined;
	/** Shown instead of a table that has no rows without filters either. */
	empty?: ComponentChildren;
};

// biome-ignore-start lint/a11y/noRedundantRoles: as cards, the elements would lose their roles
const Rows = <T extends Identified>({
	rows,
	isLoading,
	label,
	columns,
}: Pick<TableProps<T>, "label" | "columns"> & { rows: T[]; isLoading: boolean }) => (
	<table role="table" aria-label={label} aria-busy={isLoading}>
		<thead role="rowgroup">
			<tr role="row">
				{columns.map(({ title, isHidden, align }) => (
					<th key={title} role="columnheader" scope="col" data-align={align}>
						<span class={isHidden ? "unseen" : undefined}>{title}</span>
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
	columns,
	notFound,
	empty,
}: TableProps<T>) {
	const text = notFound ? (
		<Empty title={`No ${label.toLowerCase()} found`}>{notFound}</Empty>
	) : (
		empty
	);
	/** The text for the loaded rows. `text` may already be about filters that are still loading. */
	const shown = useRef(text);
	if (!list.isLoading) shown.current = text;
	if (list.error && !list.data) return <Problem error={list.error} retry={list.reload} />;
	if (!list.data) return <Loading />;
	if (list.data.results.length === 0 && list.offset === 0) return <>{shown.current}</>;
	return (
		<>
			{list.error && <Problem error={list.error} retry={list.reload} />}
			<Rows rows={list.data.results} isLoading={list.isLoading} label={label} columns={columns} />
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
	const { data, offset, limit } = list;
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
		</nav>
	);
}
