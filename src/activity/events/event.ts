import { eq } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { entryId } from "../../db/entries.ts";
import { typeOf } from "../../db/event_types.ts";
import { activityLog } from "../../db/schema/activity_log.ts";
import { organizationUuid } from "../../db/schema/organizations.ts";
import { users } from "../../db/schema/people.ts";
import { CURRENT_VERSION } from "../../http/versions.ts";
import { actorOf } from "../activity_log/actor.ts";

/** The columns of an event in `activity_log` joined with `users`. `position` is internal. */
export const eventColumns = {
	position: activityLog.position,
	id: entryId.as("event_id"),
	user: {
		uuid: users.uuid,
		first_name: users.first_name,
		email: users.email,
		is_service_account: users.is_service_account,
	},
	is_system: activityLog.is_system,
	activity: activityLog.activity,
	scope: activityLog.scope,
	item_id: activityLog.item_id,
	organization_id: organizationUuid(activityLog.organization_id).as("event_organization"),
	project_id: activityLog.project_id,
	name: activityLog.name,
	changes: activityLog.changes,
	trigger: activityLog.trigger,
	origin: activityLog.origin,
	created_at: activityLog.created_at,
};

export const selectEvents = (db: Database) =>
	db.select(eventColumns).from(activityLog).leftJoin(users, eq(users.id, activityLog.user_id));

export type EventRow = Awaited<ReturnType<typeof selectEvents>>[number];

/**
 * Returns the actor with the types that events have had from the start: a person is a `user`, also
 * through an app, and a plugin is the `system`.
 */
function eventActorOf(row: EventRow) {
	const { type, ...actor } = actorOf(row);
	if (type === "person" || (type === "app" && row.user)) return { type: "user" as const, ...actor };
	return { type: type === "plugin" ? ("system" as const) : type, ...actor };
}

/** Converts a row to the event in the feed, webhooks and audit files (docs/events.md). */
export const toEvent = (row: EventRow) => ({
	id: row.id,
	type: typeOf(row),
	created_at: row.created_at,
	api_version: CURRENT_VERSION,
	actor: eventActorOf(row),
	origin: row.origin?.request ?? null,
	data: {
		scope: row.scope,
		item_id: row.item_id,
		organization_id: row.organization_id,
		project_id: row.project_id,
		name: row.name,
		changes: row.changes,
		trigger: row.trigger,
	},
});

/** An event as `toEvent` returns it. */
export type FeedEvent = ReturnType<typeof toEvent>;
