import {
	and,
	asc,
	eq,
	exists,
	gt,
	inArray,
	isNotNull,
	isNull,
	lte,
	not,
	type SQL,
	sql,
} from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Database } from "../../db/client.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { alerts, notifications } from "../../db/schema/notifications.ts";
import { organizations } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { forEachLogged, runSequentially } from "../../lib/background.ts";
import { DAY_MS, iso, MINUTE_MS } from "../../lib/time.ts";
import { configured, send } from "../../outbound/mail.ts";
import { compose } from "./mails.ts";
import { addressees } from "./recipients.ts";
import { itemIntervalMs, JOINS, MIN_INTERVAL_MS, type Type, typeWith } from "./types.ts";

/*
 * The trigger `activity_log_alert` writes an alert in the transaction of each event that must be
 * mailed: the object of the event, and the position of its first event that hasn't been mailed. A
 * digest is about all alerts of one type in one organization. The tick takes a lease until the next
 * mail may be sent, sends the mails, and marks the events that it read as mailed. If it is killed
 * before that, the mail is sent again when the lease expires.
 */

/** Limits of a tick. It starts no digest after `MAX_MAILS`. */
const MAX_ALERTS = 1000;
const MAX_DIGESTS = 25;
const MAX_MAILS = 500;

/** The maximum number of events that a digest mails. It mentions that there are more. */
const MAX_EVENTS = 1000;

/** The number of events of any type, from the first one to mail, that a digest reads. */
const MAX_READ = 10_000;

/** How long to wait if no mail could be sent. */
const RETRY_MS = MINUTE_MS;

/** If mail isn't configured, alerts are deleted after this time. */
const MAX_WAIT_MS = 7 * DAY_MS;

/** The ways to join that are mailed, as SQL; all joins of an organization share one alert. */
const TOLD = sql`('invite', 'sso', 'scim')`;

/** The alerts of one type in one organization. */
type Group = Pick<typeof alerts.$inferSelect, "organization_id" | "scope" | "activity">;

/** Sends the digests that are due (docs/notifications.md). */
export async function sendDueDigests(env: Env, at: number) {
	const db = drizzle(env.DB);
	if (!configured(env)) return forget(db, lte(alerts.due_at, iso(at - MAX_WAIT_MS)));
	await runSequentially({
		"old alerts": () => forget(db, and(isNull(alerts.position), lte(alerts.due_at, iso(at)))),
		digests: () => mailDue(env, db, at),
	});
}

async function mailDue(env: Env, db: Database, at: number) {
	let mails = 0;
	await forEachLogged("digests", await selectDue(db, at), async (group) => {
		if (mails < MAX_MAILS) mails += await mailGroup(env, db, group, at);
	});
}

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

/** Selects the groups with due alerts and no lease, those that have been waiting longest first. */
function selectDue(db: Database, at: number): PromiseLike<Group[]> {
	const { organization_id, scope, activity, due_at, position } = alerts;
	const isLater = exists(
		db
			.select({ id: notifications.organization_id })
			.from(notifications)
			.where(
				and(
					eq(notifications.organization_id, organization_id),
					eq(notifications.scope, scope),
					eq(notifications.activity, activity),
					gt(notifications.next_mail_at, iso(at)),
				),
			),
	);
	const due = db
		.select({ organization_id, scope, activity, due_at })
		.from(alerts)
		.where(and(isNotNull(position), lte(due_at, iso(at)), not(isLater)))
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

const inGroup = (
	table: typeof alerts | typeof notifications,
	{ organization_id, scope, activity }: Group,
) =>
	and(
		eq(table.organization_id, organization_id),
		eq(table.scope, scope),
		eq(table.activity, activity),
	);

/** Sends the digest of a group. Returns the number of mails. */
async function mailGroup(env: Env, db: Database, group: Group, at: number): Promise<number> {
	const type = typeWith(group);
	const lease = await take(db, group, at);
	if (!lease || !type) return 0;
	const { events, last, organization } = await readGroup(db, group, type);
	const isOff = type === JOINS && !organization?.tells_of_joins;
	const mails = await addressees(db, group.organization_id, {
		type,
		set: isOff ? [] : lease.recipients,
		events: events.slice(0, MAX_EVENTS),
	});
	const sent: boolean[] = [];
	for (const { uuid, email, events: visible } of mails) {
		const digest = {
			type,
			organization: { id: organization?.uuid ?? "", name: organization?.name ?? "" },
			events: visible,
			isMore: events.length > MAX_EVENTS,
			to: uuid,
		};
		sent.push(await send(env, { to: email, ...compose(env.APP_URL, digest) }));
	}
	const isSent = sent.length === 0 || sent.includes(true);
	await (isSent ? settle(db, group, { type, last, at }) : endLease(db, group, at));
	return sent.length;
}

/**
 * Takes a lease on the group, so that no other tick mails it for an hour.
 * @returns the settings of the organization; undefined if another tick was faster
 */
async function take(db: Database, group: Group, at: number) {
	const next_mail_at = iso(at + MIN_INTERVAL_MS);
	const [lease] = await db
		.insert(notifications)
		.values({ ...group, next_mail_at })
		.onConflictDoUpdate({
			target: [notifications.organization_id, notifications.scope, notifications.activity],
			set: { next_mail_at },
			setWhere: lte(notifications.next_mail_at, iso(at)),
		})
		.returning({ recipients: notifications.recipients });
	return lease;
}

/** SQL condition on the log, for its index: entries of people, or of the system. */
const isOf = (type: Type) => (type === JOINS ? sql`not is_system` : sql`is_system`);

/** Reads the events to mail, one more than a digest has, and the position of the last one read. */
async function readGroup(db: Database, group: Group, type: Type) {
	const first = sql<
		number | null
	>`(select min(${alerts.position}) from ${alerts} where ${inGroup(alerts, group)})`;
	// An index has the organization's events of people in order, another those of the system.
	const read = db
		.select()
		.from(activityLog)
		.where(
			sql`${activityLog.organization_id} = ${group.organization_id} and ${isOf(type)} and ${activityLog.position} >= ${first}`,
		)
		.orderBy(asc(activityLog.position))
		.limit(MAX_READ)
		.as("read");
	const [events, [range], [organization]] = await db.batch([
		db
			.select({
				position: read.position,
				item_id: read.item_id,
				project_id: read.project_id,
				name: read.name,
				trigger: read.trigger,
				created_at: read.created_at,
				person:
					type === JOINS
						? sql<string>`coalesce((select trim(${users.first_name} || ' ' || ${users.last_name})
							from ${users} where ${users.email} = ${read.name}), '')`.as("person")
						: sql<null>`null`.as("person"),
			})
			.from(read)
			.where(
				and(
					eq(read.scope, group.scope),
					eq(read.activity, group.activity),
					type === JOINS ? sql`${read.trigger} ->> 'via' in ${TOLD}` : undefined,
				),
			)
			.orderBy(asc(read.position))
			.limit(MAX_EVENTS + 1),
		db
			// The position of the first one, if the events have been deleted from the log since.
			.select({ last: sql<number>`coalesce(max(${read.position}), ${first}, 0)` })
			.from(read),
		db
			.select({
				uuid: organizations.uuid,
				name: organizations.name,
				tells_of_joins: organizations.is_member_join_email_enabled,
			})
			.from(organizations)
			.where(eq(organizations.id, group.organization_id)),
	]);
	return { events, last: range?.last ?? 0, organization };
}

/** Marks all events up to the position `last` as mailed. */
const settle = (
	db: Database,
	group: Group,
	{ type, last, at }: { type: Type; last: number; at: number },
) =>
	db
		.update(alerts)
		.set({
			// The first event after it about the same object, as in the trigger `activity_log_alert`.
			position: sql`(select min(e.position) from activity_log as e
				where e.organization_id = alerts.organization_id and ${isOf(type)} and e.position > ${last}
				and e.scope = alerts.scope and e.activity = alerts.activity and ${
					type === JOINS
						? sql`e."trigger" ->> 'via' in ${TOLD}`
						: sql`alerts.subject = coalesce(e."trigger" ->> 'batch_export_id', e."trigger" ->> 'plugin_config_id', e.item_id)`
				})`,
			due_at: sql`iif(${alerts.position} <= ${last}, ${iso(at + itemIntervalMs(type))}, ${alerts.due_at})`,
		})
		.where(and(inGroup(alerts, group), isNotNull(alerts.position)));

/** Ends the lease early, so that a later tick tries again. */
const endLease = (db: Database, group: Group, at: number) =>
	db
		.update(notifications)
		.set({ next_mail_at: iso(at + RETRY_MS) })
		.where(inGroup(notifications, group));
