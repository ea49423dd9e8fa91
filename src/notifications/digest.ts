import { and, asc, eq, inArray, isNotNull, isNull, lte, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../db/client.ts";
import { iso } from "../db/now.ts";
import { activityLog } from "../db/schema/activity_log.ts";
import { alerts, notifications } from "../db/schema/notifications.ts";
import { organizations } from "../db/schema/organizations.ts";
import { DAY_MS, MINUTE_MS } from "../http/durations.ts";
import { configured, send } from "../mail/mail.ts";
import { forEach, inTurn } from "../parts/parts.ts";
import { compose } from "./mails.ts";
import { addressees } from "./recipients.ts";
import { itemIntervalMs, MIN_INTERVAL_MS, type Type, typeWith } from "./types.ts";

/*
 * An event that is to be mailed leaves an alert, written by a trigger in the transaction of the
 * event: which item it is about, and the position of the first event that wasn't mailed. A digest
 * is about all alerts of one type in one organization.
 *
 * 1. The tick leases the type until the next mail may be sent, so that no other tick mails it.
 * 2. It reads the events and sends the mails.
 * 3. It settles the alerts up to the last position that it read.
 *
 * If it is killed before the third step, the mail is sent again when the lease is over: a mail can
 * arrive twice, an hour apart, but none is lost.
 */

/** How many due alerts a tick looks at, how many digests it sends, and after how many mails it stops. */
const MAX_ALERTS = 1000;
const MAX_DIGESTS = 25;
const MAX_MAILS = 500;

/** How many events a digest reads. Further ones are mentioned. */
const MAX_EVENTS = 1000;

/** How long to wait after no mail could be sent. */
const RETRY_MS = MINUTE_MS;

/** Where mail isn't configured, alerts are forgotten after this time. */
const MAX_WAIT_MS = 7 * DAY_MS;

/** The alerts of one type in one organization. */
type Group = Pick<typeof alerts.$inferSelect, "organization_id" | "scope" | "activity">;

/** Sends the digests that are due (docs/notifications.md). */
export async function tick(env: Env, at: number) {
	const db = drizzle(env.DB);
	if (!configured(env)) return forget(db, lte(alerts.due_at, iso(at - MAX_WAIT_MS)));
	await inTurn({
		"old alerts": () => forget(db, and(isNull(alerts.position), lte(alerts.due_at, iso(at)))),
		digests: () => mailDue(env, db, at),
	});
}

async function mailDue(env: Env, db: Database, at: number) {
	let mails = 0;
	await forEach("digests", await selectDue(db, at), async (group) => {
		if (mails < MAX_MAILS) mails += await mailGroup(env, db, group, at);
	});
}

/** Deletes alerts that have nothing to say any more. */
async function forget(db: Database, condition: SQL | undefined) {
	const rowid = sql`${alerts}.rowid`;
	const gone = db
		.select({ rowid })
		.from(alerts)
		.where(condition)
		.orderBy(alerts.due_at)
		.limit(MAX_ALERTS);
	await db.delete(alerts).where(inArray(rowid, gone));
}

/** Selects the groups with due alerts, those that have waited longest first. */
function selectDue(db: Database, at: number): PromiseLike<Group[]> {
	const { organization_id, scope, activity, due_at, position } = alerts;
	const due = db
		.select({ organization_id, scope, activity, due_at })
		.from(alerts)
		.where(and(isNotNull(position), lte(due_at, iso(at))))
		.orderBy(due_at)
		.limit(MAX_ALERTS)
		.as("due");
	return db
		.select({ organization_id: due.organization_id, scope: due.scope, activity: due.activity })
		.from(due)
		.groupBy(due.organization_id, due.scope, due.activity)
		.orderBy(sql`min(${due.due_at})`)
		.limit(MAX_DIGESTS);
}

/** WHERE clause: the rows of a group. */
const inGroup = (
	table: typeof alerts | typeof activityLog | typeof notifications,
	{ organization_id, scope, activity }: Group,
) =>
	and(
		eq(table.organization_id, organization_id),
		eq(table.scope, scope),
		eq(table.activity, activity),
	);

/**
 * Sends the digest of a group.
 * @returns how many mails were sent
 */
async function mailGroup(env: Env, db: Database, group: Group, at: number): Promise<number> {
	const type = typeWith(group);
	const lease = await leaseGroup(db, group, at);
	if (!lease || !type) return 0;
	const { events, last, name } = await readGroup(db, group);
	const mails = await addressees(db, group.organization_id, {
		type,
		set: lease.recipients,
		events: events.slice(0, MAX_EVENTS),
	});
	const sent: boolean[] = [];
	for (const [to, visible] of mails) {
		const digest = {
			type,
			organization: { id: group.organization_id, name },
			events: visible,
			isMore: events.length > MAX_EVENTS,
		};
		sent.push(await send(env, { to, ...compose(env.APP_URL, digest) }));
	}
	const isSent = sent.length === 0 || sent.includes(true);
	await (isSent ? settle(db, group, { type, last, at }) : release(db, group, at));
	return sent.length;
}

/**
 * Makes this tick the only one that mails the group for an hour.
 * @returns what the organization has set; undefined if another tick was faster
 */
async function leaseGroup(db: Database, group: Group, at: number) {
	const next_mail_at = iso(at + MIN_INTERVAL_MS);
	const [[lease]] = await db.batch([
		db
			.insert(notifications)
			.values({ ...group, next_mail_at })
			.onConflictDoUpdate({
				target: [notifications.organization_id, notifications.scope, notifications.activity],
				set: { next_mail_at },
				setWhere: lte(notifications.next_mail_at, iso(at)),
			})
			.returning({ recipients: notifications.recipients }),
		postpone(db, group, next_mail_at),
	]);
	return lease;
}

/** The statement that makes the alerts of a group wait until `due_at`, unless they wait for longer. */
const postpone = (db: Database, group: Group, due_at: string) =>
	db
		.update(alerts)
		.set({ due_at: sql`max(${alerts.due_at}, ${due_at})` })
		.where(inGroup(alerts, group));

/**
 * Reads the events of a group that weren't mailed, one more than a digest takes; the position of
 * the last one; and the organization's name.
 */
async function readGroup(db: Database, group: Group) {
	const first = sql<
		number | null
	>`(select min(${alerts.position}) from ${alerts} where ${inGroup(alerts, group)})`;
	const isNew = and(inGroup(activityLog, group), sql`${activityLog.position} >= ${first}`);
	const [events, [range], [organization]] = await db.batch([
		db
			.select({
				position: activityLog.position,
				item_id: activityLog.item_id,
				project_id: activityLog.project_id,
				name: activityLog.name,
				trigger: activityLog.trigger,
				created_at: activityLog.created_at,
			})
			.from(activityLog)
			.where(and(isNew, eq(activityLog.is_system, true)))
			.orderBy(asc(activityLog.position))
			.limit(MAX_EVENTS + 1),
		db
			// The first one, if the log has deleted the events since.
			.select({ last: sql<number>`coalesce(max(${activityLog.position}), ${first}, 0)` })
			.from(activityLog)
			.where(isNew),
		db
			.select({ name: organizations.name })
			.from(organizations)
			.where(eq(organizations.id, group.organization_id)),
	]);
	return { events, last: range?.last ?? 0, name: organization?.name ?? "" };
}

/** Notes that all events up to the position `last` were mailed. Those after it stay due. */
const settle = (
	db: Database,
	group: Group,
	{ type, last, at }: { type: Type; last: number; at: number },
) =>
	db
		.update(alerts)
		.set({
			// The first event after it, by the trigger's rule for what an event is about.
			position: sql`(select min(e.position) from activity_log as e
				where e.organization_id = alerts.organization_id and e.scope = alerts.scope and e.activity = alerts.activity
				and e.position > ${last} and e.is_system and alerts.subject =
					coalesce(e."trigger" ->> 'batch_export_id', e."trigger" ->> 'plugin_config_id', e.item_id))`,
			due_at: sql`iif(${alerts.position} <= ${last}, ${iso(at + itemIntervalMs(type))}, ${alerts.due_at})`,
		})
		.where(and(inGroup(alerts, group), isNotNull(alerts.position)));

/** Ends the lease early, so that a later tick tries again. */
async function release(db: Database, group: Group, at: number) {
	const retry_at = iso(at + RETRY_MS);
	await db.batch([
		db.update(notifications).set({ next_mail_at: retry_at }).where(inGroup(notifications, group)),
		db
			.update(alerts)
			.set({ due_at: retry_at })
			.where(and(inGroup(alerts, group), lte(alerts.due_at, iso(at + MIN_INTERVAL_MS)))),
	]);
}
