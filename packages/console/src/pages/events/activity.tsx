import { useState } from "preact/hooks";
import { isGiven } from "../../access.ts";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { useDelay } from "../../ui/delay.ts";
import { Download } from "../../ui/download.tsx";
import { attempt, Empty } from "../../ui/feedback.tsx";
import { Filter, Filters, RangeFilter, Search } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { ActivityTabs } from "./activity_tabs.tsx";
import { activitiesOf, type ChangeFilters, Chips, columnsOf, useFilters } from "./entries.tsx";
import { GROUPS } from "./kinds.ts";

const SCOPES = [["", "Everything"], ...GROUPS.map(({ scope, title }) => [scope, title] as const)];

/** Without the other filters by person. */
const NOBODY = { person: undefined, email: undefined, offset: undefined };

function PersonFilter({ change }: { change: ChangeFilters }) {
	const { at } = useOrganization();
	const [found, setFound] = useState<{ uuid: string; email: string; first_name: string }[]>([]);
	const { delay, cancel } = useDelay();
	const search = async (text: string) => {
		const { results } = await api.members.list({
			...at,
			search: text,
			limit: 10,
		});
		setFound(results.map(({ user }) => user));
	};
	return (
		<>
			<input
				type="search"
				list="people"
				aria-label="Person"
				placeholder="Person"
				title="A part of the name or address, also of somebody who has left"
				onInput={({ currentTarget }) => {
					const { value } = currentTarget;
					cancel();
					const person = found.find(({ email }) => email === value);
					if (person) {
						currentTarget.value = "";
						change({ user: person.uuid, ...NOBODY });
					} else if (value.trim()) delay(() => attempt(() => search(value)));
				}}
				onChange={({ currentTarget }) => {
					const { value } = currentTarget;
					// The list has only members: somebody who has left is found by a part of the name.
					if (value.trim() !== "") change({ user: undefined, ...NOBODY, person: value.trim() });
					currentTarget.value = "";
				}}
			/>
			<datalist id="people">
				{found.map(({ uuid, email, first_name }) => (
					<option key={uuid} value={email}>
						{first_name}
					</option>
				))}
			</datalist>
		</>
	);
}

function ActivityFilters() {
	const [{ scope = "" }, change] = useQuery();
	const { isAdmin, access } = useOrganization();
	const seesAddresses = isAdmin || isGiven(access, "activity_log");
	return (
		<Filters>
			<PersonFilter change={change} />
			<select
				aria-label="About"
				value={scope}
				onChange={({ currentTarget }) =>
					change({
						scope: currentTarget.value,
						activity: undefined,
						item_id: undefined,
						offset: undefined,
					})
				}
			>
				{SCOPES.map(([value, words]) => (
					<option key={value} value={value}>
						{words}
					</option>
				))}
			</select>
			<Filter name="activity" label="Action" options={activitiesOf(scope)} />
			{seesAddresses && <Search name="address" label="IP address" />}
			<RangeFilter from={{ name: "after", label: "From" }} to={{ name: "before", label: "To" }} />
		</Filters>
	);
}

export default function Activity() {
	const { at, organization } = useOrganization();
	const [, change] = useQuery();
	const filters = useFilters();
	const list = useList(
		(page, signal) => api.activityLog.list({ ...at, ...page, ...filters }, { signal }),
		[organization.id, JSON.stringify(filters)],
	);
	const isFiltered = Object.keys(filters).length > 0;
	return (
		<PageView
			title="Activity"
			actions={
				<Download
					path={`/api/organizations/${organization.id}/activity_log`}
					filters={filters}
					name="activity"
					count={list.data?.count}
					words={["entry", "entries"]}
				/>
			}
		>
			<ActivityTabs current="activity" />
			<ActivityFilters />
			<Chips entries={list.data?.results ?? []} />
			<div class="activity-log">
				<Table
					list={list}
					label="Activity"
					columns={columnsOf(change)}
					empty={
						<Empty title="No entries found">
							{isFiltered
								? "No entry that you can see matches the filters."
								: "Changes that people make in this organization appear here."}
						</Empty>
					}
				/>
			</div>
		</PageView>
	);
}
