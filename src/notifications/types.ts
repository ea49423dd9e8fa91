import { kindsOf, typeOf } from "../db/event_types.ts";
import type { Recipients } from "../db/schema/notifications.ts";
import { DAY_MS, HOUR_MS } from "../http/durations.ts";

/** The types of events that can be mailed (docs/notifications.md#what-is-mailed). */
export const TYPES = [
	"batch_export.paused",
	"batch_export_run.failed",
	"batch_export_run.skipped",
	"batch_export_run.completed",
	"plugin_job.failed",
	"key.expiring",
	"domain.unverified",
	"webhook.disabled",
	"audit_stream.failed",
] as const;
export type Type = (typeof TYPES)[number];

/** Who gets the mails of a type that an organization hasn't set. The trigger on `activity_log` repeats which have some. */
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
};

/** An organization gets at most one mail of a type in this time. */
export const MIN_INTERVAL_MS = HOUR_MS;

/** One item, such as an export, causes at most one mail of a type in this time. */
export const itemIntervalMs = (type: Type) =>
	type.startsWith("batch_export") || type === "audit_stream.failed" ? DAY_MS : HOUR_MS;

/** The type as the columns of the activity log have it. */
export function columnsOf(type: Type) {
	const [columns] = kindsOf([type]);
	if (!columns) throw new Error(`${type} is not a type of event.`);
	return columns;
}

/** The type with these columns; undefined if it can't be mailed. */
export const typeWith = (columns: { scope: string; activity: string }) =>
	TYPES.find((type) => type === typeOf(columns));

/**
 * Who gets the mails of a type. If everybody on an organization's list has left, admins do.
 * @param set what the organization has set; null: nothing
 * @param active the uuids of the active members on its lists
 */
export function effective(type: Type, set: Recipients | null, active: string[]): Recipients {
	const recipients = set ?? DEFAULTS[type];
	if (!Array.isArray(recipients) || recipients.length === 0) return recipients;
	const present = recipients.filter((uuid) => active.includes(uuid));
	return present.length > 0 ? present : "admins";
}
