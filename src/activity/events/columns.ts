import type { Download } from "../../http/download.ts";
import { type EventRow, toEvent } from "./event.ts";

/** The columns of events in a CSV file (docs/events.md#downloads). */
export const columns: Download<EventRow>["columns"] = {
	id: (row) => row.id,
	type: (row) => toEvent(row).type,
	created_at: (row) => row.created_at,
	api_version: (row) => toEvent(row).api_version,
	actor_type: (row) => toEvent(row).actor.type,
	actor_uuid: (row) => toEvent(row).actor.uuid,
	actor_first_name: (row) => toEvent(row).actor.first_name,
	actor_email: (row) => toEvent(row).actor.email,
	scope: (row) => row.scope,
	item_id: (row) => row.item_id,
	organization_id: (row) => row.organization_id,
	project_id: (row) => row.project_id,
	name: (row) => row.name,
	changes: (row) => JSON.stringify(row.changes),
	trigger: (row) => (row.trigger ? JSON.stringify(row.trigger) : null),
};
