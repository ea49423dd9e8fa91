/** Deletes entries that are older than they are kept. */
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { inList } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { auditStreams } from "../../db/schema/audit_streams.ts";
import { webhooks } from "../../db/schema/webhooks.ts";
import { DAY_MS } from "../../lib/time.ts";

/** For how many more days undelivered entries are kept (docs/audit.md#what-is-kept). */
const UNDELIVERED_DAYS = 30;

/** The number of entries that a tick deletes. */
const BATCH_SIZE = 10_000;

/** The position of the newest entry, which is never deleted, so that no position is used twice. */
const NEWEST = sql`(select max(position) from activity_log)`;

/** SQL condition: no enabled audit stream still has to deliver the entry. */
const IS_DELIVERED = sql`not exists (select 1 from audit_streams as s
	where s.organization_id = e.organization_id and s.enabled and s.position < e.position)`;

const before = (days: number) => Date.now() - days * DAY_MS;

/**
 * SQL for the expired entries of people. They are at the beginning of the table, because positions
 * are almost in the order of time. Only entries before the first one that hasn't expired are
 * deleted: the running totals need unbroken lists.
 */
function ofPeople(days: number) {
	const first = (days: number) =>
		sql`coalesce((select position from activity_log where not is_system and created_at >= ${before(days)} order by position limit 1), ${NEWEST})`;
	return sql`select e.position from activity_log as e
		where e.position < min(${first(days)}, ${NEWEST}) and not e.is_system
			and (e.position < ${first(days + UNDELIVERED_DAYS)} or ${IS_DELIVERED})`;
}

/** SQL for the expired entries of the system: the first ones of each organization. */
function ofSystem(days: number) {
	const next = sql`select min(organization_id) from activity_log where is_system`;
	const end = sql`coalesce((select position from activity_log as kept
		where kept.organization_id = owners.organization_id and kept.is_system and kept.created_at >= ${before(days)}
		order by position limit 1), ${NEWEST})`;
	return sql`select e.position from (
			with recursive owners(organization_id) as (
				select * from (${next})
				union all select (${next} and organization_id > owners.organization_id) from owners where organization_id is not null)
			select organization_id from owners where organization_id is not null) as owners
		cross join activity_log as e on e.organization_id = owners.organization_id and e.is_system and e.position < ${end}
		where e.position < ${NEWEST} and (e.created_at < ${before(days + UNDELIVERED_DAYS)} or ${IS_DELIVERED})`;
}

/** Deletes expired entries. Streams and webhooks count those that weren't delivered. */
export async function deleteExpired({ DB, ACTIVITY_DAYS, SYSTEM_ACTIVITY_DAYS }: Env) {
	const db = drizzle(DB);
	const expired = await db.all<{ position: number }>(
		sql`select * from (${ofPeople(Number(ACTIVITY_DAYS))} union all ${ofSystem(Number(SYSTEM_ACTIVITY_DAYS))}) limit ${BATCH_SIZE}`,
	);
	if (expired.length === 0) return;
	const positions = expired.map(({ position }) => position);
	const gone = sql`json_each(${JSON.stringify(positions)}) join activity_log as e on e.position = value`;
	const lost = sql`(select s.id, count(*) as entries from ${gone}
		join audit_streams as s on s.organization_id = e.organization_id and s.position < e.position
		group by s.id) as lost`;
	const missed = sql`(select w.id, count(*) as entries from ${gone}
		join webhooks as w on w.organization_id = e.organization_id and w.position < e.position
			and (w.selectors = '[]' or exists (
				select 1 from json_each(w.selectors) as wanted where wanted.value in (e.scope, e.scope || '.' || e.activity)))
		group by w.id) as missed`;
	await db.batch([
		db
			.update(auditStreams)
			.set({ missing_events: sql`${auditStreams.missing_events} + lost.entries` })
			.from(lost)
			.where(sql`${auditStreams.id} = lost.id`),
		db
			.update(webhooks)
			.set({ missed_events: sql`${webhooks.missed_events} + missed.entries` })
			.from(missed)
			.where(sql`${webhooks.id} = missed.id`),
		db.delete(activityLog).where(inList(activityLog.position, positions)),
	]);
}
