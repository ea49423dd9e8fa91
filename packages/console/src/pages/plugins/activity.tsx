import type { ActivityEntry, Page } from "tenantry-client";
import { useList, useQuery } from "../../load.ts";
import { Empty } from "../../ui/feedback.tsx";
import { Chip, Filter, Filters, MomentFilter } from "../../ui/filters.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { shownText } from "./schema.ts";

const ACTIVITIES: Record<string, string> = {
	created: "Added",
	updated: "Changed",
	deleted: "Deleted",
	upgraded: "Upgraded",
	source_updated: "Source changed",
	job_triggered: "Job started",
};

type Change = ActivityEntry["detail"]["changes"][number];

function wordsOf({ field, action, before, after }: Change) {
	if (action === "created") return `${field} added`;
	if (action === "deleted") return `${field} removed`;
	const [from, to] = [before, after].map(shownText);
	return from || to ? `${field}: ${from || "–"} → ${to || "–"}` : `${field} changed`;
}

/** Returns the name of the started job, if there is one. */
const jobOf = ({ detail: { trigger } }: ActivityEntry) => {
	const job = trigger?.job;
	return typeof job === "object" && job !== null && "type" in job ? [String(job.type)] : [];
};

/** @param onPerson filters by this user */
const columnsOf = (onPerson: (uuid: string) => void): Column<ActivityEntry>[] => [
	{
		title: "What",
		cell: (entry) => (
			<>
				{ACTIVITIES[entry.activity] ?? entry.activity}
				{[...entry.detail.changes.map(wordsOf), ...jobOf(entry)].map((words) => (
					<small key={words} class="below">
						{words}
					</small>
				))}
			</>
		),
	},
	{
		title: "Who",
		cell: ({ user }) =>
			user ? (
				<button
					type="button"
					class="link"
					title="Show only changes by this person"
					onClick={() => onPerson(user.uuid)}
				>
					{user.email}
				</button>
			) : (
				"Operator"
			),
	},
	{ title: "When", cell: ({ created_at }) => <Time value={created_at} /> },
];

/** The filters in the URL, which have the same names as in the API. */
const NAMES = ["user", "activity", "after", "before"] as const;

type ActivityFilters = Partial<Record<(typeof NAMES)[number], string>>;

export function Activity({
	load,
	id,
	activities,
}: {
	load: (
		page: { limit: number; offset: number } & ActivityFilters,
		signal: AbortSignal,
	) => PromiseLike<Page<ActivityEntry>>;
	/** Identifies the object. */
	id: string;
	/** The activities of the filter. */
	activities: readonly string[];
}) {
	const [query, change] = useQuery();
	const filters: ActivityFilters = Object.fromEntries(
		NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])),
	);
	const isFiltered = Object.keys(filters).length > 0;
	const list = useList(
		(page, signal) => load({ ...page, ...filters }, signal),
		[id, JSON.stringify(filters)],
	);
	const onPerson = (user: string) => change({ user, offset: undefined });
	const person = list.data?.results.find(({ user }) => user?.uuid === query.user)?.user;
	return (
		<>
			<Filters>
				<Filter
					name="activity"
					label="Action"
					options={[
						["", "Any action"],
						...activities.map((name) => [name, ACTIVITIES[name] ?? name] as const),
					]}
				/>
				<MomentFilter name="after" label="From" />
				<MomentFilter name="before" label="To" />
			</Filters>
			{query.user && (
				<p class="row">
					<Chip name="user" words={`By ${person?.email ?? "one person"}`} />
				</p>
			)}
			<Table
				list={list}
				label="Activity"
				columns={columnsOf(onPerson)}
				notFound={isFiltered && "Change or remove the filters."}
				empty={
					<Empty title="No activity yet">Changes appear here with the person who made them.</Empty>
				}
			/>
		</>
	);
}
