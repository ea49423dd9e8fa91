import { query } from "../../access/valid.ts";
import { download } from "../../http/download.ts";
import { page } from "../../http/page.ts";
import { paginated, router } from "../../http/router.ts";
import { columns } from "./columns.ts";
import * as activity from "./queries.ts";
import { ActivityEntry, filters } from "./shape.ts";

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
