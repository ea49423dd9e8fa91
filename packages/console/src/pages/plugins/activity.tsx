import type { ActivityEntry, Page } from "tenantry-client";
import { useList } from "../../load.ts";
import { Empty } from "../../ui/feedback.tsx";
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

/** The name of the job that was started. */
const jobOf = ({ detail: { trigger } }: ActivityEntry) => {
	const job = trigger?.job;
	return typeof job === "object" && job !== null && "type" in job ? [String(job.type)] : [];
};

const columns: Column<ActivityEntry>[] = [
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
	{ title: "Who", cell: ({ user }) => user?.email ?? "The operator" },
	{ title: "When", cell: ({ created_at }) => <Time value={created_at} /> },
];

/** What was done to one object, newest first. */
export function Activity({
	load,
	id,
}: {
	load: (
		page: { limit: number; offset: number },
		signal: AbortSignal,
	) => PromiseLike<Page<ActivityEntry>>;
	/** Identifies the object. */
	id: string;
}) {
	const list = useList(load, [id]);
	return (
		<Table
			list={list}
			label="Activity"
			columns={columns}
			id={({ id }) => id}
			empty={
				<Empty title="Nothing has happened yet">
					<p>Changes appear here, with who made them.</p>
				</Empty>
			}
		/>
	);
}
