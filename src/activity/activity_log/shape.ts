import * as z from "zod";
import { entryId } from "../../db/entries.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { users } from "../../db/schema/users.ts";
import { queryMoment, text, timestamp, uuid } from "../../http/fields.ts";

/** A field that was changed. */
export const EntryChange = z.object({
	field: z.string(),
	action: z.enum(["created", "changed", "deleted"]),
	before: z.unknown(),
	after: z.unknown(),
});

/** docs/organizations.md#activity-log. */
export const ActivityEntry = z
	.object({
		id: z.guid(),
		/** Null for an action of the operator, which `detail.trigger` then shows. */
		user: z
			.object({
				uuid: z.guid(),
				first_name: z.string(),
				last_name: z.string(),
				email: z.email(),
			})
			.nullable(),
		activity: z.string(),
		scope: z.string(),
		item_id: z.string(),
		detail: z.object({
			name: z.string().nullable(),
			changes: z.array(EntryChange),
			trigger: z.record(z.string(), z.unknown()).nullable(),
		}),
		created_at: timestamp(),
	})
	.meta({ id: "ActivityEntry" });

/** The columns of an `ActivityEntry`, for a statement that joins `activity_log` with `users`. */
export const entryColumns = {
	id: entryId.as("entry_id"),
	user: {
		uuid: users.uuid,
		first_name: users.first_name,
		last_name: users.last_name,
		email: users.email,
	},
	activity: activityLog.activity,
	scope: activityLog.scope,
	item_id: activityLog.item_id,
	detail: {
		name: activityLog.name,
		changes: activityLog.changes,
		trigger: activityLog.trigger,
	},
	created_at: activityLog.created_at,
};

export const filters = z.object({
	scope: text().optional(),
	item_id: text().optional(),
	/** A user's uuid. */
	user: uuid().optional(),
	/** The complete email address of a user, who may have left the organization. Ignores case. */
	email: text().optional(),
	activity: text().optional(),
	after: queryMoment().optional(),
	before: queryMoment().optional(),
});
