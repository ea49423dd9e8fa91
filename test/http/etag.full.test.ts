import { expect, test } from "vitest";
import { address, routesOf } from "../support/routes.ts";
import { furnished } from "../support/world.ts";
import {
	changing,
	gets,
	raceFor,
	testChanges,
	testReads,
	testWithoutGet,
	withoutGet,
} from "./etag.ts";

// In two tenants, because of the limit of requests a minute.
testReads(gets.slice(0, gets.length / 2));
testReads(gets.slice(gets.length / 2));
testChanges(changing);
testWithoutGet(withoutGet);

test.each(
	routesOf(
		"PATCH /api/organizations/:id",
		"PATCH /api/organizations/:organization_id/domains/:id",
		"PATCH /api/projects/:project_id/plugin_configs/:id",
		"PATCH /api/organizations/:organization_id/batch_exports/:id",
		"PATCH /api/organizations/:organization_id/pipeline_destinations/:id",
		"PATCH /api/personal_api_keys/:id",
		"PATCH /api/projects/:id",
		"PATCH /api/users/:uuid",
	),
)("of 20 requests PATCH $path at once with one ETag: one 200, nineteen 412", async ({ path }) => {
	const home = await furnished();
	const statuses = await raceFor(home, "PATCH", address(path, home), 20);
	expect(statuses).toEqual([200, ...Array(19).fill(412)]);
});
