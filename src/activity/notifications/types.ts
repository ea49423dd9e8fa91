import { kindsOf, MAILED_TYPES, typeOf } from "../../db/event_types.ts";
import type { Recipients } from "../../db/schema/notifications.ts";
import { DAY_MS, HOUR_MS } from "../../lib/time.ts";

export const TYPES = MAILED_TYPES;
export type Type = (typeof TYPES)[number];

/**
 * The default recipients of each type. The trigger `activity_log_alert` repeats which types have
 * any, and test/db/triggers.unit.test.ts compares them.
 */
export const DEFAULTS: Record<Type, Recipients> = {
	"batch_export.paused": "admins",
	"batch_export_run.failed": "admins",
	"batch_export_run.skipped": "admins",
	"batch_export_run.completed": [],
	"plugin_job.failed": [],
	"key.expiring": "owner",
	"domain.unverified": "admins",
	"webhook.disabled": "admins",
	"audit_stream.failed": "admins",
	"audit_stream.delivered": [],
	"member.created": "admins",
};

/**
 * The type whose switch is the organization's `is_member_join_email_enabled`. Its events are
 * people's. The trigger `activity_log_alert` repeats both.
 */
export const JOINS: Type = "member.created";

/** An organization gets at most one mail per type in this time, in milliseconds. */
export const MIN_INTERVAL_MS = HOUR_MS;

/** Returns how often an object, such as an export, may cause a mail, in milliseconds. */
export const itemIntervalMs = (type: Type) =>
	type.startsWith("batch_export") || type.startsWith("audit_stream") ? DAY_MS : HOUR_MS;

/** Returns the columns of a type in the activity log. */
export function columnsOf(type: Type) {
	const [columns] = kindsOf([type]);
	if (!columns) throw new Error(`${type} is not a type of event.`);
	return columns;
}

/** Returns the type with these columns; undefined if it can't be mailed. */
export const typeWith = (columns: { scope: string; activity: string }) =>
	TYPES.find((type) => type === typeOf(columns));

/**
 * Returns who gets the mails of a type. If everyone on an organization's list has left, the admins
 * get them.
 * @param set the recipients that the organization has set; null if it hasn't
 * @param active the UUIDs of the active members on its lists
 */
export function effective(type: Type, set: Recipients | null, active: string[]): Recipients {
	const recipients = set ?? DEFAULTS[type];
	if (!Array.isArray(recipients) || recipients.length === 0) return recipients;
	const present = recipients.filter((uuid) => active.includes(uuid));
	return present.length > 0 ? present : "admins";
}
