import { useState } from "preact/hooks";
import type { ActivityEntry } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { useDelay } from "../../ui/delay.ts";
import { attempt, Empty } from "../../ui/feedback.tsx";
import { Chip, Filter, Filters, MomentFilter } from "../../ui/filters.tsx";
import { PageView } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { formatNumber, Time } from "../../ui/values.tsx";
import { ActivityTabs } from "./activity_tabs.tsx";
import { Changes } from "./changes.tsx";
import { DownloadDialog } from "./download_dialog.tsx";
import { GROUPS, typeOf, wordsOfType } from "./kinds.ts";

/** The filters in the URL, which have the same names as in the API. */
const NAMES = ["scope", "item_id", "user", "activity", "after", "before"] as const;

type FilterName = (typeof NAMES)[number];
type ChangeFilters = (changes: Partial<Record<FilterName | "offset", string | undefined>>) => void;

const SCOPES = [["", "Everything"], ...GROUPS.map(({ scope, title }) => [scope, title] as const)];

const activitiesOf = (scope: string) => [
	["", "Any action"] as const,
	...(GROUPS.find((group) => group.scope === scope)?.types ?? []).map((type) => {
		const [, activity = ""] = type.split(".");
		return [activity, wordsOfType(type)] as const;
	}),
];

const columnsOf = (change: ChangeFilters): Column<ActivityEntry>[] => [
	{
		title: "What",
		cell: ({ id, scope, activity, item_id, detail }) => (
			<>
				<strong>{wordsOfType(typeOf(scope, activity))}</strong>{" "}
				<button
					type="button"
					class="link"
					title="Show only changes to this object"
					onClick={() => change({ scope, item_id, activity: undefined, offset: undefined })}
				>
					{detail.name ?? item_id}
				</button>
				<Changes changes={detail.changes} />
				<details>
					<summary>Details</summary>
					{/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, with the keyboard too */}
					<pre tabIndex={0}>
						{JSON.stringify({ id, scope, activity, item_id, trigger: detail.trigger }, null, 2)}
					</pre>
				</details>
			</>
		),
	},
	{
		title: "Who",
		cell: ({ user }) =>
			user ? (
				<div>
					<button
						type="button"
						class="link"
						title="Show only changes by this person"
						onClick={() => change({ user: user.uuid, offset: undefined })}
					>
						{user.first_name || user.email}
					</button>
					{user.first_name && !user.email.endsWith(".invalid") && (
						<small class="below">{user.email}</small>
					)}
				</div>
			) : (
				"Operator"
			),
	},
	{ title: "When", cell: ({ created_at }) => <Time value={created_at} /> },
];

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
				onInput={({ currentTarget }) => {
					const { value } = currentTarget;
					cancel();
					const person = found.find(({ email }) => email === value);
					if (person) {
						currentTarget.value = "";
						change({ user: person.uuid, offset: undefined });
					} else if (value.trim()) delay(() => attempt(() => search(value)));
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

/**
 * Shows the filters that were set by clicking a name in the list, with buttons that remove them.
 */
function Chips({ entries }: { entries: ActivityEntry[] }) {
	const [{ user, item_id }] = useQuery();
	const person = entries.find((entry) => entry.user?.uuid === user)?.user;
	const item = entries.find((entry) => entry.item_id === item_id);
	return user || item_id ? (
		<p class="row">
			{user && (
				<Chip name="user" words={`By ${person?.first_name || person?.email || "one person"}`} />
			)}
			{item_id && <Chip name="item_id" words={`About ${item?.detail.name ?? item_id}`} />}
		</p>
	) : null;
}

function ActivityFilters() {
	const [{ scope = "" }, change] = useQuery();
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
			{scope && <Filter name="activity" label="Action" options={activitiesOf(scope)} />}
			<MomentFilter name="after" label="From" />
			<MomentFilter name="before" label="To" />
		</Filters>
	);
}

export default function Activity() {
	const { at, organization } = useOrganization();
	const [query, change] = useQuery();
	const [isDownloading, setDownloading] = useState(false);
	const filters = Object.fromEntries(
		NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])),
	);
	const list = useList(
		(page, signal) => api.activityLog.list({ ...at, ...page, ...filters }, { signal }),
		[organization.id, JSON.stringify(filters)],
	);
	const isFiltered = Object.keys(filters).length > 0;
	const count = list.data?.count ?? 0;
	return (
		<PageView
			title="Activity"
			actions={<SecondaryButton onPress={() => setDownloading(true)}>Download…</SecondaryButton>}
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
			{isDownloading && (
				<DownloadDialog
					path={`/api/organizations/${organization.id}/activity_log?${new URLSearchParams(filters)}`}
					name={`activity-${new Date().toISOString().slice(0, 10)}`}
					what={`${formatNumber(count)} ${count === 1 ? "entry" : "entries"}${isFiltered ? ", filtered" : ""}`}
					onClose={() => setDownloading(false)}
				/>
			)}
		</PageView>
	);
}
