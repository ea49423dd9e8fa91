import { query } from "../../access/input.ts";
import { type Download, download } from "../../http/download.ts";
import { page } from "../../http/page.ts";
import { paginated, router, type Text } from "../../http/router.ts";
import { originCells } from "./actor.ts";
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
	actor_type: (row) => activity.toEntry(row).actor.type,
	...originCells,
};

const HOW =
	"newest first. A page reads at most 5,000 entries: follow `next` until it is null, even if a page is empty. With filters other than `item_id` in a longer log, `count` is an upper limit.";
const FILE =
	"With `Accept: text/csv` or `application/x-ndjson` the response is a file with all entries that match the filters. `limit` and `offset` are ignored.";

/** docs/organizations.md#activity-log */
const routes = (text: Text) =>
	router({
		name: "Activity log",
		description:
			"Every change writes an entry in the same transaction, with who made it and what it changed. Entries are kept for 365 days by default; secrets are masked.",
	}).get("/", paginated(ActivityEntry, { ...text, download: true }), query(filters), async (c) => {
		const { tenant } = c.var;
		const filter = c.req.valid("query");
		const pages = () => activity.readAll(tenant, filter);
		const file = await download(c, () => ({
			name: "activity",
			columns,
			toJson: activity.toEntry,
			pages: pages(),
		}));
		return file ?? c.json(await activity.list(tenant, page(c), filter));
	});

export const ofOrganization = () =>
	routes({
		id: "listActivity",
		summary: "List the activity of an organization",
		description: `Lists the entries of the organization and of its projects, ${HOW} Any member may do so. Entries of a private project are visible to those who can see it, entries of deleted projects to admins (level 8). Changes to a person's own account, such as keys, are in the log of their current organization.\n\n${FILE}`,
	});

export const ofProject = () =>
	routes({
		id: "listProjectActivity",
		summary: "List the activity of a project",
		description: `Lists the entries of the project, its exports and its plugin configs, ${HOW} Anyone who can see the project may do so.\n\n${FILE}`,
	});
