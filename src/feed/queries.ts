import { eq, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { complete, grouped, smallChanges } from "../activity_log/large.ts";
import { kindsOf } from "../db/event_types.ts";
import { ADMIN } from "../db/levels.ts";
import { activityLog, type Change } from "../db/schema/activity_log.ts";
import { members } from "../db/schema/members.ts";
import { projects } from "../db/schema/projects.ts";
import { users } from "../db/schema/users.ts";
import { invalid } from "../http/errors.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { isOpenTo } from "../tenant/visible.ts";
import { type EventRow, eventColumns } from "./event.ts";

/*
 * The feed is the activity log in the order of positions (docs/events.md#follow-the-feed). D1 runs one write at a time and
 * assigns the position during the write. So an event becomes visible after all events before it, and a reader that continues
 * after the last event it has seen misses none. This is also true on a replica: it has all writes up to some moment, so it lacks
 * only the last events.
 *
 * A page is merged from parts that an index has in order: the requested types or, if the caller doesn't see all projects, the
 * projects that they see. A queue has the next event of each part. The query takes the first one, and reads the event after it in
 * the same part. So it reads three rows for each event, however many parts there are and however long the feed is.
 */

/** The maximum number of events that a page reads, if it skips some because of their type. */
const MAX_SCANNED = 1000;

const event = alias(activityLog, "event");

/** Sorts after every event of a queue. */
const END = sql.raw("'~'");

/** The columns of an event as JSON, with the names of `Scanned`. */
const content = sql`json_object(
	'position', ${event.position}, 'id', ${event.id}, 'user_id', ${event.user_id}, 'is_system', ${event.is_system},
	'activity', ${event.activity}, 'scope', ${event.scope}, 'item_id', ${event.item_id},
	'project_id', ${event.project_id}, 'name', ${event.name},
	'changes', json(${smallChanges(event.changes)}), 'size', octet_length(${event.changes}),
	'trigger', json(${event.trigger}), 'created_at', ${event.created_at})`;

type Scanned = Omit<EventRow, "user" | "is_system" | "organization_id" | "changes"> & {
	is_system: 0 | 1;
	/** null: the changes are large. */
	changes: Change[] | null;
	/** The size of the changes in bytes. */
	size: number;
};

/** An event of a type that wasn't requested. */
type Skipped = { position: number; id: string; size?: never };

type Scan = {
	/** A select of the parts, as the column `part`. */
	parts: SQL;
	/** SQL condition on `event`: it is in the part. */
	isIn: (part: SQL) => SQL;
	/** SQL condition on `event`: its type was requested. */
	isWanted?: SQL | undefined;
	/** SQL for the position after which the page starts. */
	after: SQL;
	limit: number;
};

/**
 * Returns a statement for the next events of all parts. An event in the queue is its position with leading zeros, so that events
 * sort by position, followed by its JSON, so that one subquery returns both.
 */
function scan({ db, organization }: Tenant, { parts, isIn, isWanted, after, limit }: Scan) {
	const shown = isWanted
		? sql`iif(${isWanted}, ${content}, json_object('position', ${event.position}, 'id', ${event.id}))`
		: content;
	const next = (part: SQL, position: SQL) => sql`coalesce((
		select printf('%016d', ${event.position}) || ${shown} from ${activityLog} as event
		where ${event.organization_id} = ${organization} and ${isIn(part)} and ${event.position} > ${position}
		order by ${event.position} limit 1), ${END})`;
	const queue = sql`(
		with recursive queue(part, next) as (
			select part, ${next(sql`parts.part`, after)} from (${parts}) as parts
			union all
			select part, ${next(sql`queue.part`, sql`cast(substr(queue.next, 1, 16) as integer)`)}
			from queue where queue.next < ${END}
			order by 2 limit ${limit})
		select substr(next, 17) as content from queue where next < ${END}) as scanned`;
	return db
		.select({
			content: sql<string>`scanned.content`,
			user: eventColumns.user,
		})
		.from(queue)
		.leftJoin(users, eq(users.id, sql`scanned.content ->> 'user_id'`));
}

/** Pairs of scopes and activities, for JSON. */
type Kinds = [scope: string, activity: string][];

/** SQL condition on `members`: it is the caller's row. */
const isCaller = ({ key, organization }: Tenant) =>
	sql`${members.organization_id} = ${organization} and ${members.user_id} = ${key.user_id}`;

/** An admin's feed: a part for each requested type, or one part with all events. */
const ofAdmin = (tenant: Tenant, kinds: Kinds | undefined): Pick<Scan, "parts" | "isIn"> => ({
	parts: sql`select kind.value as part from ${members} cross join json_each(${JSON.stringify(kinds ?? [null])}) as kind
		where ${isCaller(tenant)} and ${members.level} >= ${ADMIN}`,
	isIn: (part) =>
		kinds ? sql`${event.scope} = ${part} ->> 0 and ${event.activity} = ${part} ->> 1` : sql`true`,
});

/** Another member's feed: a part for each project that they see, and one for events without a project. */
const ofMember = (
	tenant: Tenant,
	kinds: Kinds | undefined,
): Pick<Scan, "parts" | "isIn" | "isWanted"> => ({
	parts: sql`select null as part from ${members} where ${isCaller(tenant)} and ${members.level} < ${ADMIN}
		union all select ${projects.id} from ${members} cross join ${projects}
		where ${isCaller(tenant)} and ${members.level} < ${ADMIN}
			and ${projects.organization_id} = ${tenant.organization} and ${isOpenTo(tenant.key.user_id)}`,
	isIn: (part) => sql`${event.project_id} is ${part}`,
	isWanted:
		kinds &&
		sql`json_array(${event.scope}, ${event.activity}) in (select value from json_each(${JSON.stringify(kinds)}))`,
});

/** Selects the position after which to start, and the organization's newest event. */
function bounds({ db, organization }: Tenant, after: string | undefined) {
	const { id, organization_id, position } = activityLog;
	const newest = (column: typeof id | typeof position) =>
		sql`(select ${column} from ${activityLog} where ${organization_id} = ${organization} order by ${position} desc limit 1)`;
	const given = sql`(select ${position} from ${activityLog} where ${id} = ${after} and ${organization_id} = ${organization})`;
	return {
		position: after === undefined ? sql`0` : given,
		statement: db
			.select({
				position: sql<number | null>`${after === undefined ? 0 : given}`.as("position"),
				newest_id: sql<string | null>`${newest(id)}`.as("newest_id"),
				newest_position: sql<number | null>`${newest(position)}`.as("newest_position"),
			})
			.from(sql`(select 1)`),
	};
}

const unknownEvent = () =>
	invalid(
		"after",
		"No event of this organization has this id, or it is older than 365 days. Leave `after` out to begin with the oldest event.",
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

/**
 * Reads the next events that the caller can see.
 * @throws 400 if `after` isn't an event of the organization
 */
export async function read(tenant: Tenant, query: Query): Promise<Part> {
	const { after, types, limit } = query;
	const kinds = types && kindsOf(types).map(({ scope, activity }): Kinds[0] => [scope, activity]);
	const { position, statement } = bounds(tenant, after);
	const limits = { admin: limit + 1, member: kinds ? MAX_SCANNED : limit + 1 };
	const from = sql`coalesce(${position}, ${Number.MAX_SAFE_INTEGER})`;
	const [[start], forAdmin, forMember] = await tenant.read(
		statement,
		scan(tenant, { ...ofAdmin(tenant, kinds), after: from, limit: limits.admin }),
		scan(tenant, { ...ofMember(tenant, kinds), after: from, limit: limits.member }),
	);
	if (typeof start?.position !== "number") {
		// A replica may not have the event yet.
		if (tenant.usePrimary()) return read(tenant, query);
		throw unknownEvent();
	}
	const isAdmin = tenant.caller.level >= ADMIN;
	const rows = (isAdmin ? forAdmin : forMember).map((row) => parse(tenant, row));
	const taken = take(rows, limit);
	const isFull = rows.length === (isAdmin ? limits.admin : limits.member);
	const more = isFull || taken.last !== rows.at(-1);
	const last = taken.last?.id ?? after ?? null;
	return {
		events: await complete(tenant, taken.events),
		// An admin sees all events, so the next ones come after the newest.
		after: more || !isAdmin ? last : start.newest_id,
		more,
		newest: start.newest_position ?? 0,
	};
}

type Found = Omit<Scanned, "is_system"> & Pick<EventRow, "user" | "is_system" | "organization_id">;

function parse(
	{ caller: { organization_uuid: organization_id } }: Tenant,
	{ content, user }: { content: string; user: EventRow["user"] },
): Found | Skipped {
	const row: Scanned | Skipped = JSON.parse(content);
	return "scope" in row ? { ...row, user, organization_id, is_system: row.is_system === 1 } : row;
}

const isFound = (row: Found | Skipped): row is Found => "scope" in row;

/** Returns the first `limit` events, or fewer if their changes are large; and the last row that was read. */
function take(rows: (Found | Skipped)[], limit: number) {
	const all = rows.filter(isFound);
	const [events = []] = grouped(all.slice(0, limit));
	const rest = all[events.length];
	return { events, last: rest ? rows[rows.indexOf(rest) - 1] : rows.at(-1) };
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
