import type { Download } from "../../http/download.ts";
import type { Row } from "./queries.ts";

/** The columns of entries in a CSV file (docs/events.md#downloads). */
export const columns: Download<Row>["columns"] = {
	id: (row) => row.id,
	created_at: (row) => row.created_at,
	user_uuid: (row) => row.user?.uuid ?? null,
	user_first_name: (row) => row.user?.first_name ?? null,
	user_email: (row) => row.user?.email ?? null,
	activity: (row) => row.activity,
	scope: (row) => row.scope,
	item_id: (row) => row.item_id,
	name: (row) => row.detail.name,
	changes: (row) => JSON.stringify(row.changes),
	trigger: (row) => (row.detail.trigger ? JSON.stringify(row.detail.trigger) : null),
};
