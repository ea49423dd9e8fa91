/** SQL about entries of the activity log: ids, order, and times of positions. */
import { and, type SQL, sql } from "drizzle-orm";
import { MINUTE_MS } from "../lib/time.ts";
import { activityLog } from "./schema/activity_log.ts";

const { position, created_at, nonce, organization_id } = activityLog;

/** SQL for an entry's id: a UUID v7 of `created_at`, `nonce` and `position`, without an index. */
export const entryId = sql<string>`printf('%08x-%04x-7%03x-%04x-%012x', ${created_at} >> 16, ${created_at} & 65535,
	${nonce} >> 14, ${nonce} & 16383 | 32768, ${position})`;

const ID = /^([\da-f]{8})-([\da-f]{4})-7([\da-f]{3})-([89ab][\da-f]{3})-([\da-f]{12})$/i;

/** SQL condition: the entry has this id. */
export function hasId(id: string) {
	const [, high = "", low = "", random = "", variant = "", last = ""] = ID.exec(id) ?? [];
	const isId = sql`${position} = ${Number.parseInt(last, 16)}
		and ${created_at} = ${Number.parseInt(high + low, 16)}
		and ${nonce} = ${Number.parseInt(random, 16) * 2 ** 14 + (Number.parseInt(variant, 16) & 16383)}`;
	return last ? isId : sql`false`;
}

/** SQL for the time of an entry as text, as the trigger `activity_log_webhooks` writes it. */
export const momentText = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', ${created_at} / 1000.0, 'unixepoch')`;

/** The events of an organization after a position. */
type Next = {
	organization: SQL;
	after: SQL;
	/** SQL for the last position; null if there is no limit. */
	until?: SQL | undefined;
	/** SQL condition on `activity_log` for the events. */
	where?: SQL | undefined;
};

/** SQL for positions in order: two indexes, for people and for the system, merged. */
function positions({ organization, after, until, where }: Next, end: SQL) {
	const of = (whose: SQL) => sql`
		select ${position} from ${activityLog}
		where ${and(
			sql`${organization_id} = ${organization}`,
			whose,
			sql`${position} > ${after}`,
			until && sql`${position} <= (select position from bound)`,
			where,
		)}`;
	const bound = until
		? sql`with bound(position) as materialized (select coalesce(${until}, ${Number.MAX_SAFE_INTEGER}))`
		: sql``;
	return sql`${bound} ${of(sql`not ${activityLog.is_system}`)} union all ${of(sql`${activityLog.is_system}`)} order by 1 ${end}`;
}

/** SQL for the positions of the next `limit` events, in order. */
export const nextPositions = (next: Next, limit: number) => positions(next, sql`limit ${limit}`);

/** SQL for the position of the last of all events; null if there are none. */
export const lastPosition = (next: Next) => sql`(${positions(next, sql`desc limit 1`)})`;

/** SQL for the position of the last of the next `limit` events; null if there are fewer. */
export const lastOfNext = (next: Next, limit: number) =>
	sql`(${positions(next, sql`limit 1 offset ${limit - 1}`)})`;

/** How long after its `created_at` an entry may be written. */
const MAX_WRITE_MS = MINUTE_MS;

/** Entries of people and of the system have separate indexes. */
const WHOSE = { people: sql`not is_system`, system: sql`is_system` };

/** Whose entries of an organization. */
type Owner = { organization: SQL; of: keyof typeof WHOSE };

/**
 * SQL for the first position at which entries were created at a time or later, by a binary search.
 * The positions of an organization are in the order of writes, and so almost in the order of time:
 * earlier entries were created at most `MAX_WRITE_MS` after it. Those of all organizations aren't:
 * one that was imported has old entries after newer ones of others.
 */
function search({ organization, of }: Owner, at: number) {
	const position = (expression: SQL, from = sql`true`) =>
		sql`(select ${expression} from activity_log where organization_id = ${organization} and ${WHOSE[of]} and ${from})`;
	return sql`(
	with recursive search(low, high) as (
		select ${position(sql`min(position)`)}, ${position(sql`max(position) + 1`)}
		union all
		select iif(probe.created_at < ${at}, probe.position + 1, low), iif(probe.created_at < ${at}, high, (low + high) / 2)
		from search cross join activity_log as probe
		where low < high and probe.position = ${position(sql`min(position)`, sql`position >= (low + high) / 2`)})
	select low from search where low >= high)`;
}

/** SQL for a position before which none of these entries was created at this time or later. */
export const positionFrom = (owner: Owner, iso: string) =>
	search(owner, Date.parse(iso) - MAX_WRITE_MS);

/** SQL for a position from which on none of these entries was created before this time. */
export const positionUntil = (owner: Owner, iso: string) =>
	search(owner, Date.parse(iso) + MAX_WRITE_MS);
