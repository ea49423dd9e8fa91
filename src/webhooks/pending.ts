import { eq, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { activityLog } from "../db/schema/activity_log.ts";
import { users } from "../db/schema/users.ts";
import { eventColumns } from "../feed/event.ts";

/** The maximum number of events in a page, and of bytes of changes. Both limit the memory of a worker. */
const PAGE_EVENTS = 100;
const PAGE_BYTES = 1_000_000;

/** SQL for the organization, the position after which its events are pending, and the types (src/webhooks/types.ts). */
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

/**
 * SQL for the positions of the next `limit` events, in order. Each type is a seek in an index, so events of other types cost
 * nothing. For that, a selector without an activity is first expanded to the activities that occur, with one seek for each. The
 * feed expands it to those of `ACTIVITIES` instead. Here, that would be wrong: while a new version is deployed, a worker of the
 * old version would skip activities that it doesn't know, and deliver the events after them.
 */
const positions = ({ organization, after, selectors }: Pending, limit: number) => sql`
	with recursive selector(scope, activity) as (
		select substr(value, 1, instr(value || '.', '.') - 1), nullif(substr(value, instr(value || '.', '.') + 1), '')
		from json_each(${selectors})),
	occurring(scope, activity) as (
		select scope, (select min(activity) from activity_log
			where organization_id = ${organization} and scope = selector.scope)
		from selector where activity is null
		union
		select scope, (select min(log.activity) from activity_log as log
			where log.organization_id = ${organization} and log.scope = occurring.scope and log.activity > occurring.activity)
		from occurring where activity is not null),
	kind(scope, activity) as (
		select scope, activity from selector where activity is not null
		union select scope, activity from occurring where activity is not null)
	select position from (
		select position from (
			select position from activity_log
			where organization_id = ${organization} and position > ${after} and ${selectors} = '[]'
			order by position limit ${limit})
		union all
		select value from kind, json_each((
			select json_group_array(position) from (
				select position from activity_log
				where organization_id = ${organization} and scope = kind.scope and activity = kind.activity
					and position > ${after}
				order by position limit ${limit}))))
	order by position limit ${limit}`;

/** SQL condition: there is an event to deliver. */
export const isPending = (pending: Pending) => sql`exists (${positions(pending, 1)})`;

/** The next events to deliver, in order. */
export const selectPending = (db: Database, pending: Pending) =>
	db
		.select(eventColumns)
		.from(activityLog)
		.leftJoin(users, eq(users.id, activityLog.user_id))
		.where(
			sql`${activityLog.position} in (
				select position from (
					select next.position, sum(octet_length(sized.changes) + coalesce(octet_length(sized.trigger), 0))
						over (order by next.position rows between unbounded preceding and 1 preceding) as bytes
					from (${positions(pending, PAGE_EVENTS)}) as next
					join activity_log as sized on sized.position = next.position)
				where coalesce(bytes, 0) < ${PAGE_BYTES})`,
		)
		.orderBy(activityLog.position);
