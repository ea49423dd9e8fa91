import type { ComponentChildren } from "preact";
import type { ActivityEntry, Page } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, RangeFilter } from "../../ui/filters.tsx";
import { Tabs } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { activitiesOf, Chips, columnsOf, useFilters } from "./entries.tsx";

/** The views of an object that has only one besides its activity. */
export const ObjectTabs = ({ label, path, tab }: { label: string; path: string; tab: string }) => (
	<Tabs
		label={label}
		current={tab ? `${path}/${tab}` : path}
		tabs={[
			[path, "Overview"],
			[`${path}/activity`, "Activity"],
		]}
	/>
);

/** The changes of one object: what changed, who changed it, and when. */
export function ObjectActivity({ scope, id }: { scope: string; id: string }) {
	const { at } = useOrganization();
	return (
		<Entries
			scope={scope}
			of={id}
			about="one"
			load={(filters, signal) =>
				api.activityLog.list({ ...at, ...filters, scope, item_id: id }, { signal })
			}
		/>
	);
}

type Asked = { limit: number; offset: number } & ReturnType<typeof useFilters>;

/** The changes of the objects of one scope. */
export function Entries({
	scope,
	of,
	about,
	load,
	children,
}: {
	scope: string;
	/** Identifies the objects. */
	of: string;
	about: Parameters<typeof columnsOf>[1];
	load: (asked: Asked, signal: AbortSignal) => PromiseLike<Page<ActivityEntry>>;
	/** Other filters. */
	children?: ComponentChildren;
}) {
	const { organization } = useOrganization();
	const [, change] = useQuery();
	const filters = useFilters();
	const list = useList(
		(page, signal) => load({ ...page, ...filters }, signal),
		[organization.id, of, JSON.stringify(filters)],
	);
	return (
		<>
			<Filters>
				{children}
				<Filter name="activity" label="Action" options={activitiesOf(scope)} />
				<RangeFilter from={{ name: "after", label: "From" }} to={{ name: "before", label: "To" }} />
			</Filters>
			<Chips entries={list.data?.results ?? []} />
			<div class="activity-log">
				<Table
					list={list}
					label="Activity"
					columns={columnsOf(change, about)}
					notFound={Object.keys(filters).length > 0 && "Change or remove the filters."}
					empty={
						<Empty title="No activity yet">
							Changes appear here with the person who made them.
						</Empty>
					}
				/>
			</div>
		</>
	);
}
