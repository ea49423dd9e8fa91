import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { lastOfNext, nextPositions } from "../../db/entries.ts";
import { fits } from "../../db/large.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { selectEvents } from "../events/event.ts";

/** The maximum number of events in a page, and of bytes of changes, because of the memory. */
const PAGE_EVENTS = 100;
const PAGE_BYTES = 1_000_000;

/** The maximum number of events that a page reads, if the webhook doesn't receive some of them. */
const MAX_READ = 1000;

/** SQL for the organization, the position of its pending events, and the types. */
type Pending = { organization: SQL; after: SQL; selectors: SQL };

/** Returns the events that a webhook receives after a position. */
export const pendingOf = (
	{ organization_id, selectors }: { organization_id: number; selectors: string[] },
	after: number,
) => ({
	organization: sql`${organization_id}`,
	after: sql`${after}`,
	selectors: sql`${JSON.stringify(selectors)}`,
});

/** SQL for the positions of the next events, among the next `MAX_READ`. */
const positions = ({ selectors, ...next }: Pending, limit: number) =>
	nextPositions(
		{
			...next,
			until: lastOfNext(next, MAX_READ),
			where: sql`(${selectors} = '[]' or exists (
				select 1 from json_each(${selectors}) where value in (${activityLog.scope}, ${activityLog.scope} || '.' || ${activityLog.activity})))`,
		},
		limit,
	);

/** SQL condition: there is an event to deliver, or there are more events than a page reads. */
export const isPending = ({ selectors, ...next }: Pending) =>
	sql`(exists (select * from (${positions({ selectors, ...next }, 1)})) or ${lastOfNext(next, MAX_READ)} is not null)`;

/** Returns the statements for the next events, in order, and the last position. */
export const selectPending = (db: Database, pending: Pending) => ({
	events: selectEvents(db)
		.where(
			fits(
				activityLog.position,
				"asc",
				sql`select sized.position, octet_length(sized.changes) + coalesce(octet_length(sized.trigger), 0) as bytes
					from activity_log as sized where sized.position in (${positions(pending, PAGE_EVENTS)})`,
				PAGE_BYTES,
			),
		)
		.orderBy(activityLog.position),
	end: db
		.select({ position: activityLog.position })
		.from(activityLog)
		.where(sql`${activityLog.position} = ${lastOfNext(pending, MAX_READ)}`),
});
