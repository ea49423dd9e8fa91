import { page } from "../http/page.ts";
import { paginated, router } from "../http/router.ts";
import { query } from "../tenant/valid.ts";
import * as activity from "./queries.ts";
import { ActivityEntry, filters } from "./shape.ts";

/** docs/organizations.md#activity-log. Mounted below an organization and below a project. */
export default router().get("/", paginated(ActivityEntry), query(filters), async (c) =>
	c.json(await activity.list(c.var.tenant, page(c), c.req.valid("query"))),
);
