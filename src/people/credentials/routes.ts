import { query } from "../../access/input.ts";
import { atLeast } from "../../access/middleware.ts";
import { ADMIN } from "../../db/schema/levels.ts";
import { download } from "../../http/download.ts";
import { page } from "../../http/page.ts";
import { paginated, router } from "../../http/router.ts";
import * as credentials from "./queries.ts";
import { Credential, filters } from "./shape.ts";

/** docs/audit.md#credentials */
export default router({
	name: "Credentials",
	description:
		"All that lets programs act in an organization, or speak for it: API keys, apps, issuers, SCIM tokens and the secrets of webhooks. Never their values.",
})
	.use("*", atLeast(ADMIN))
	.get(
		"/",
		paginated(Credential, {
			id: "listCredentials",
			summary: "List the credentials of an organization",
			description:
				"Lists what hasn't expired and can reach the organization: first what belongs to the organization and its domains, then by member and service account, the oldest first. Requires level 8. SCIM tokens also need the scope `organization:read`, webhooks `webhook:read`: without it, they are left out. With `Accept: text/csv` or `application/x-ndjson` the response is a file with all of them. `limit` and `offset` are ignored.",
			download: true,
		}),
		query(filters),
		async (c) => {
			const [{ tenant }, filter, asked] = [c.var, c.req.valid("query"), page(c)];
			const file = await download(c, () => ({
				name: "credentials",
				columns: credentials.columns,
				toJson: (row) => row,
				pages: credentials.readAll(tenant, asked, filter),
			}));
			return file ?? c.json(await credentials.list(tenant, asked, filter));
		},
	);
