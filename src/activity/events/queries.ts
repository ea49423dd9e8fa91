import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Tenant } from "../../access/tenant.ts";
import { isAdmin, ofVisibleProjects } from "../../access/visible.ts";
import { entryId, hasId, lastOfNext, lastPosition, nextPositions } from "../../db/entries.ts";
import { kindsOf } from "../../db/event_types.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { projects } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { invalid } from "../../http/errors.ts";
import { showOrigins } from "../activity_log/actor.ts";
import { complete, inGroups, smallChanges } from "../activity_log/large.ts";
import { type EventRow, eventColumns } from "./event.ts";

/*
 * The feed is the activity log in the order of positions (docs/events.md#follow-the-feed). D1 runs
 * one write at a time and assigns the position during the write. So an event becomes visible after
 * all events before it, and a reader that continues after the last event it has seen misses none.
 * This is also true on a replica: it has all writes up to some moment, so it lacks only the last
 * events.
 */

/** The maximum number of events that a page reads if it leaves some out. */
const MAX_READ = 1000;

const { position, organization_id, project_id, scope, activity } = activityLog;

/** SQL condition: the caller can see the event. */
const isSeen = (tenant: Tenant) => sql`(${isAdmin(tenant)} or ${project_id} is null
	or ${project_id} in (select ${projects.id} ${ofVisibleProjects(tenant)}))`;

/** SQL condition: the event is of one of the types. */
function isOf(types: string[]) {
	const kinds = kindsOf(types).map((kind) => [kind.scope, kind.activity]);
	return sql`json_array(${scope}, ${activity}) in (select value from json_each(${JSON.stringify(kinds)}))`;
}

/** SQL for the position and the id of an event in the feed. */
const columns = { position, id: entryId.as("id") };

const unknownEvent = () =>
	invalid(
		"after",
		"No event of this organization has this id, or it is too old to be kept. Leave `after` out to begin with the oldest event.",
		"does_not_exist",
	);

/** The parameters of a request. */
type Query = {
	/** The id of the event after which to start; by default, the oldest event is the first. */
	after?: string | undefined;
	/** As in `TYPE_FILTER`; by default, all types. */
	types?: string[] | undefined;
	limit: number;
};

/** The next events, oldest first. */
type Part = {
	events: EventRow[];
	/** The id of the event after which to continue; null if there has never been one. */
	after: string | null;
	/** Whether there may be more events now. */
	more: boolean;
	/** The position of the newest event of the organization. */
	newest: number;
};

/** Reads the next visible events. Throws 400 if `after` isn't one of the organization. */
export async function read(tenant: Tenant, query: Query): Promise<Part> {
	const { after, types, limit } = query;
	const { db, organization } = tenant;
	const ofOrganization = eq(organization_id, organization);
	const isStart = after === undefined ? undefined : and(hasId(after), ofOrganization);
	const from = isStart
		? sql`coalesce((select ${position} from ${activityLog} where ${isStart}), ${Number.MAX_SAFE_INTEGER})`
		: sql`0`;
	const next = { organization, after: from };
	const farthest = lastOfNext(next, Math.max(MAX_READ, limit + 1));
	// An admin's feed leaves out only events of other types.
	const until = types ? farthest : sql`iif(${isAdmin(tenant)}, null, ${farthest})`;
	const seen = { ...next, until, where: isSeen(tenant) };
	const wanted = { ...seen, where: and(seen.where, types && isOf(types)) };
	const { changes, ...others } = eventColumns;
	const at = (its: SQL) => db.select(columns).from(activityLog).where(sql`${position} = ${its}`);
	const [start, rows, [lastSeen], [end], [newest]] = await tenant.read(
		db
			.select(columns)
			.from(activityLog)
			.where(isStart ?? sql`false`),
		db
			.select({
				...others,
				changes: smallChanges(changes).mapWith(changes),
				size: sql<number>`octet_length(${changes})`,
			})
			.from(activityLog)
			.leftJoin(users, eq(users.id, activityLog.user_id))
			.where(sql`${position} in (${nextPositions(wanted, limit + 1)})`)
			.orderBy(position),
		at(lastPosition(seen)),
		at(until),
		at(lastPosition({ organization, after: sql`0` })),
	);
	if (isStart && start.length === 0) {
		// A replica may not have the event yet.
		if (tenant.usePrimary()) return read(tenant, query);
		throw unknownEvent();
	}
	const [events = []] = inGroups(rows.slice(0, limit));
	const isFull = events.length < rows.length;
	// If possible, an event that the caller can see.
	const last = isFull ? events.at(-1) : (lastSeen ?? end);
	return {
		events: (await complete(tenant, events)).map(showOrigins(tenant)),
		after: last?.id ?? after ?? null,
		more: isFull || end !== undefined,
		newest: newest?.position ?? 0,
	};
}

/** The number of events that a download reads at a time. */
const DOWNLOAD_LIMIT = 1000;

/** Yields all events after `after`, up to the newest at the time of the request, in groups. */
export async function* readAll(tenant: Tenant, { after, types }: Omit<Query, "limit">) {
	let part = await read(tenant, { after, types, limit: DOWNLOAD_LIMIT });
	const end = part.newest;
	while (true) {
		const events = part.events.filter(({ position }) => position <= end);
		if (events.length > 0) yield events;
		if (!part.more || events.length < part.events.length) return;
		part = await read(tenant, { after: part.after ?? undefined, types, limit: DOWNLOAD_LIMIT });
	}
}
