import type { Download } from "../../http/download.ts";
import type { readAll } from "./queries.ts";

/** An entry in a download. */
type Row = ReturnType<typeof readAll> extends AsyncGenerator<(infer R)[]> ? R : never;

/** Converts an entry to an `ActivityEntry`. */
export const toEntry = ({
	id,
	user,
	activity,
	scope,
	item_id,
	detail,
	changes,
	created_at,
}: Omit<Row, "size">) => ({
	id,
	user,
	activity,
	scope,
	item_id,
	detail: { name: detail.name, changes, trigger: detail.trigger },
	created_at,
});

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
