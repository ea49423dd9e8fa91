import * as z from "zod";
import { entryId } from "../../db/entries.ts";
import { ACTIVITIES } from "../../db/event_types.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { users } from "../../db/schema/people.ts";
import { explain, queryMoment, rawText, text, timestamp, uuid } from "../../http/fields.ts";
import { Actor, ORIGIN_TEXT, OriginShape } from "./actor.ts";

/** The scopes of entries that have a caller. */
const LOGGED_SCOPES = Object.keys(ACTIVITIES)
	.filter((scope) => !["Key", "PluginJob", "BatchExportRun"].includes(scope))
	.map((scope) => `\`${scope}\``)
	.join(", ");

/** A field that was changed. */
export const EntryChange = z.object({
	field: z
		.string()
		.describe(
			"The field's name. For the source of a plugin, the file's name; for a `PluginConfigOrder`, the id of a config.",
		),
	action: explain(z.enum(["created", "changed", "deleted"]), "How the field changed.", {
		created: "it had no value before.",
		changed: "it has a different value.",
		deleted: "it no longer has a value.",
	}),
	before: z.unknown().describe("The value before; null for none. `********` for a secret."),
	after: z.unknown().describe("The value after; null for none. `********` for a secret."),
});

/** docs/organizations.md#activity-log. */
export const ActivityEntry = z
	.object({
		id: z.guid().describe("Identifies the entry."),
		user: z
			.object({
				uuid: z.guid().describe("Identifies the user, or the service account."),
				first_name: z
					.string()
					.describe("The user's first name, or the service account's name, as it is now."),
				last_name: z.string().describe("The user's last name, as it is now."),
				email: z
					.email()
					.describe(
						"The user's email address, as it is now. For a service account, an address under `.invalid` that can't receive mail.",
					),
			})
			.nullable()
			.describe("The user or service account that did it; null for the operator of the service."),
		actor: Actor.describe("Who or what did it, and with which key."),
		origin: OriginShape.nullable().describe(ORIGIN_TEXT),
		activity: z
			.string()
			.describe(
				"What was done: `created`, `updated` or `deleted`, or the action, such as `job_triggered`, `upgraded`, `paused` or `verified`.",
			),
		scope: z.string().describe(`The kind of the object: ${LOGGED_SCOPES}.`),
		item_id: z
			.string()
			.describe(
				"The object's id, always as a string. For a `PluginConfigOrder`, the project's id; for a `BatchExportDestination` (an unsaved destination that was tested), its type; for a `Request` or the `ActivityLog`, the day.",
			),
		detail: z
			.object({
				name: z
					.string()
					.nullable()
					.describe(
						"The object's name when it was changed, such as the email address of a member; null if it has none.",
					),
				changes: z
					.array(EntryChange)
					.describe(
						"The fields whose values changed, or the first or last values of what was created or deleted. Empty if the entry is not about fields.",
					),
				trigger: z
					.record(z.string(), z.unknown())
					.nullable()
					.describe(
						'More information, depending on the activity: `{"job": "operator"}` for the operator, the `job` that was started, the `run_id` or `backfill_id` that it is about. Null if there is none.',
					),
			})
			.describe("What was changed, and why."),
		created_at: timestamp().describe("When it happened."),
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
		is_service_account: users.is_service_account,
	},
	is_system: activityLog.is_system,
	origin: activityLog.origin,
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
	scope: text()
		.optional()
		.describe(
			"Only entries about this kind of object, such as `Member` or `BatchExport`. Case matters.",
		),
	item_id: text()
		.optional()
		.describe(
			"Only entries about the object with this id. Use it with `scope`: a project and a plugin may have the same id.",
		),
	user: uuid()
		.optional()
		.describe("Only entries of the user with this uuid. There are none for an unknown user."),
	email: text()
		.optional()
		.describe(
			"Only entries of the user with this email address, also after the user has left. Ignores case.",
		),
	person: rawText(200)
		.optional()
		.describe(
			"Only entries of people and service accounts whose name or email address contains this text, in any case; also after they have left. At most 200 characters.",
		),
	name: text()
		.optional()
		.describe(
			"Only entries about an object that had exactly this name, which for members and invites is the email address. Also finds what was deleted.",
		),
	address: text(45)
		.optional()
		.describe(
			"Only entries whose request came from this IP address. If you aren't an admin, only your own.",
		),
	activity: text()
		.optional()
		.describe("Only this activity, such as `created` or `job_triggered`. Case matters."),
	after: queryMoment()
		.optional()
		.describe("Only entries that are newer than this time, in ISO 8601; UTC if it has no offset."),
	before: queryMoment()
		.optional()
		.describe("Only entries that are older than this time, in ISO 8601; UTC if it has no offset."),
});
