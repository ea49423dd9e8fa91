import { query } from "../../access/valid.ts";
import { type Download, download } from "../../http/download.ts";
import { page } from "../../http/page.ts";
import { paginated, router } from "../../http/router.ts";
import type { Row } from "./queries.ts";
import * as activity from "./queries.ts";
import { ActivityEntry, filters } from "./shape.ts";

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

/** docs/organizations.md#activity-log. Mounted below an organization and below a project. */
export default router().get(
	"/",
	paginated(ActivityEntry, { download: true }),
	query(filters),
	async (c) => {
		const { tenant } = c.var;
		const given = c.req.valid("query");
		const pages = () => activity.readAll(tenant, given);
		const file = await download(c, () => ({
			name: "activity",
			columns,
			toJson: activity.toEntry,
			pages: pages(),
		}));
		return file ?? c.json(await activity.list(tenant, page(c), given));
	},
);
