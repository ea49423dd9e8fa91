import { useEffect, useRef, useState } from "preact/hooks";
import type { FeedEvent } from "tenantry-client";
import { listOf, useQuery } from "../../load.ts";
import { useOrganization } from "../../organization.tsx";
import { usePolling } from "../../polling.ts";
import { api } from "../../session.ts";
import { SecondaryButton } from "../../ui/button.tsx";
import { DownloadDialog } from "../../ui/download.tsx";
import { Empty, Loading, Problem } from "../../ui/feedback.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { PageView } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/values.tsx";
import { ActivityTabs } from "./activity_tabs.tsx";
import { Changes } from "./changes.tsx";
import { wordsOfType, wordsOfTypes } from "./kinds.ts";
import { typesToSend, WhichEvents } from "./types.tsx";

/** The interval of requests for new events. */
const POLL_MS = 5000;

/** Without a filter, the page starts this many entries of the activity log ago. */
const BACK = 25;

/** The number of events per request, and of requests in a row. */
const LIMIT = 500;
const REQUESTS = 4;

/** The maximum number of events on the page. */
const KEPT = 500;

type Place = { after?: string };

/**
 * Returns where to start reading the feed, which can only be read forwards. With a filter, this is
 * the oldest event, otherwise one of the last entries of the activity log.
 */
async function beginning(organization: string, types: string, signal: AbortSignal): Promise<Place> {
	if (types) return {};
	const { results } = await api.activityLog.list({ organization, limit: BACK }, { signal });
	const oldest = results.at(-1);
	return oldest && results.length === BACK ? { after: oldest.id } : {};
}

/** Returns the events after a position, newest first. */
async function readOn(
	organization: string,
	types: string,
	from: Place,
	signal?: AbortSignal,
): Promise<{ events: FeedEvent[]; place: Place; hasMore: boolean }> {
	const events: FeedEvent[] = [];
	let place = from;
	let hasMore = true;
	for (let request = 0; hasMore && request < REQUESTS; request += 1) {
		const page = await api.feed.list(
			{ organization, limit: LIMIT, ...place, ...(types && { types }) },
			{ signal },
		);
		events.push(...page.results);
		const after = "after" in page && typeof page.after === "string" ? page.after : undefined;
		if (after) place = { after };
		hasMore = page.next !== null;
	}
	return { events: events.toReversed(), place, hasMore };
}

/** Loads the feed: the events on the page, and newer ones that the user hasn't opened yet. */
function useFeed(organization: string, types: string) {
	const [events, setEvents] = useState<FeedEvent[]>();
	const [newer, setNewer] = useState<FeedEvent[]>([]);
	const [place, setPlace] = useState<Place>();
	const [hasMore, setMore] = useState(false);
	const [error, setError] = useState<unknown>();
	const [turn, setTurn] = useState(0);
	useEffect(() => {
		const { signal, abort } = bound(new AbortController());
		setEvents(undefined);
		setNewer([]);
		setPlace(undefined);
		setError(undefined);
		beginning(organization, types, signal)
			.then((start) => readOn(organization, types, start, signal))
			.then((read) => {
				setEvents(read.events.slice(0, KEPT));
				setPlace(read.place);
				setMore(read.hasMore);
			})
			.catch((error: unknown) => {
				if (!signal.aborted) setError(error);
			});
		return abort;
	}, [organization, types, turn]);
	const isLooking = useRef(false);
	async function look() {
		if (!place || isLooking.current) return;
		isLooking.current = true;
		try {
			const read = await readOn(organization, types, place);
			setPlace(read.place);
			setMore(read.hasMore);
			setNewer((newer) => [...read.events, ...newer].slice(0, KEPT));
		} finally {
			isLooking.current = false;
		}
	}
	// After an error, the next call reads the events.
	usePolling(() => void look().catch(() => undefined), POLL_MS);
	return {
		events,
		newer,
		hasMore,
		error,
		retry: () => setTurn((turn) => turn + 1),
		showNewer() {
			setEvents((events = []) => [...newer, ...events].slice(0, KEPT));
			setNewer([]);
		},
	};
}

const bound = (controller: AbortController) => ({
	signal: controller.signal,
	abort: () => controller.abort(),
});

function actorOf({ actor }: FeedEvent) {
	if (actor.type === "system") return "The service";
	return actor.type === "operator" ? "Operator" : actor.first_name || actor.email;
}

function Events({ events }: { events: FeedEvent[] }) {
	return (
		<div class="activity-log events">
			<Table
				list={listOf(events)}
				label="Events"
				columns={[
					{
						title: "What",
						cell: ({ type, data }) => (
							<>
								<strong>{wordsOfType(type)}</strong> {data.name}{" "}
								<small class="event-type">{type}</small>
								<Changes changes={data.changes} />
								{data.trigger && (
									<details>
										<summary>Details</summary>
										{/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, with the keyboard too */}
										<pre tabIndex={0}>{JSON.stringify(data.trigger, null, 2)}</pre>
									</details>
								)}
							</>
						),
					},
					{ title: "Who", cell: actorOf },
					{ title: "When", cell: ({ created_at }) => <Time value={created_at} /> },
				]}
				empty={
					<Empty title="No events found">
						There were no such events in the last 365 days. New events appear automatically.
					</Empty>
				}
			/>
		</div>
	);
}

function TypesDialog({ types, onClose }: { types: string; onClose: () => void }) {
	const [, change] = useQuery();
	const [chosen, setChosen] = useState(types ? types.split(",") : undefined);
	return (
		<FormDialog
			title="Choose events"
			action="Show events"
			asks={false}
			onClose={onClose}
			onSubmit={async () => {
				change({ types: typesToSend(chosen).join(",") });
				onClose();
			}}
		>
			<WhichEvents types={chosen} onChange={setChosen} />
		</FormDialog>
	);
}

export default function Feed() {
	const { organization } = useOrganization();
	const [{ types = "" }] = useQuery();
	const { events, newer, hasMore, error, retry, showNewer } = useFeed(organization.id, types);
	const [open, setOpen] = useState<"types" | "download">();
	const close = () => setOpen(undefined);
	const isShortened = events?.length === KEPT || (!types && (events?.length ?? 0) >= BACK);
	const waiting = newer.length === KEPT ? `${KEPT} or more` : String(newer.length);
	return (
		<PageView
			title="Activity"
			actions={<SecondaryButton onPress={() => setOpen("download")}>Download…</SecondaryButton>}
		>
			<ActivityTabs current="activity/events" />
			<p class="row">
				<SecondaryButton onPress={() => setOpen("types")}>
					Types: {types ? wordsOfTypes(types.split(",")).join(", ") : "all"}
				</SecondaryButton>
				<small>Includes events without a user, such as export runs. New events appear here.</small>
			</p>
			<p class="newer" role="status">
				{newer.length > 0 && (
					<button type="button" onClick={showNewer}>
						Show {waiting} newer {newer.length === 1 ? "event" : "events"}
					</button>
				)}
				{hasMore && <small>Loading more events…</small>}
			</p>
			{error !== undefined ? (
				<Problem error={error} retry={retry} />
			) : events ? (
				<>
					<Events events={events} />
					{isShortened && (
						<p>
							<small>To see older events, choose types or download all events.</small>
						</p>
					)}
				</>
			) : (
				<Loading />
			)}
			{open === "types" && <TypesDialog types={types} onClose={close} />}
			{open === "download" && (
				<DownloadDialog
					path={`/api/organizations/${organization.id}/events?${new URLSearchParams(types ? { types } : {})}`}
					name={`events-${new Date().toISOString().slice(0, 10)}`}
					what={types ? "All events of these types" : "All events of the last 365 days"}
					onClose={close}
				/>
			)}
		</PageView>
	);
}
